extension Broker {
    /// Returns what an action does or waits for, or how it ended.
    ///
    /// It may be out of date as soon as it is returned. The time grows with the actions ahead of a waiting
    /// one, and with the newest of all queues, at most 65,536. For an action that has ended, the call waits
    /// for the write lock, unless the broker only reads.
    ///
    /// - Throws: Errors of the file, such as ``SluiceError/Code/databaseLocked``.
    public func action(_ id: ActionID) async throws(SluiceError) -> ActionState {
        try await explained([engine.action(id)])[0]
    }

    /// Returns the states of the actions and dead letters with a tag, by number.
    ///
    /// Actions that have ended are not among them. It is meant for some actions with a tag: each that waits
    /// takes as long as ``action(_:)``.
    ///
    /// - Throws: Errors of the file.
    public func actions(tag: String, limit: Int = 100) async throws(SluiceError) -> [ActionState] {
        guard limit > 0 else { return [] }
        return try await explained(engine.actions(tag: tag, limit: limit))
    }

    /// Returns the states with the reasons for which the queues of waiting actions do not move.
    private func explained(_ found: [ActionState]) async throws(SluiceError) -> [ActionState] {
        var states = found
        var known: [QueueName: [WaitReason]] = [:]
        for index in states.indices where states[index].phase == .waiting {
            guard let queue = states[index].details?.queue else { continue }
            let because: [WaitReason]
            if let found = known[queue] {
                because = found
            } else {
                because = try await status(of: queue).because
            }
            known[queue] = because
            states[index].because = because
        }
        return states
    }
}
