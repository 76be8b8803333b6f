extension Broker {
    /// Returns what an action does or waits for, or how it ended.
    ///
    /// It may be out of date as soon as it is returned. The time grows with the actions ahead of a waiting
    /// one, and with the newest of all queues, at most 65,536. For an action that has ended, the call waits
    /// for the write lock, unless the broker only reads.
    ///
    /// - Throws: Errors of the file, such as ``SluiceError/Code/databaseLocked``.
    public func action(_ id: ActionID) async throws(SluiceError) -> ActionState {
        // It may leave its queue, or return to it, between two reads.
        for isFirst in [true, false] {
            if let state = try await states(of: .id(id), limit: 1).first { return state }
            guard let end = try await store.end(of: id) else { continue }
            // It may have become a dead letter, or have been put back, since it was read.
            if case .deadLettered = end, isFirst { continue }
            return ActionState(id: id, phase: .ended(end), details: nil)
        }
        return ActionState(id: id, phase: .ended(.unknown), details: nil)
    }

    /// Returns the states of the actions and dead letters with a tag, by number.
    ///
    /// Actions that have ended are not among them. It is meant for some actions with a tag: each that waits
    /// takes as long as ``action(_:)``, and all dead letters are read.
    ///
    /// - Throws: Errors of the file.
    public func actions(tag: String, limit: Int = 100) async throws(SluiceError) -> [ActionState] {
        try await states(of: .tag(tag), limit: limit)
    }

    private func states(of choice: ActionChoice, limit: Int) async throws(SluiceError) -> [ActionState] {
        guard limit > 0 else { return [] }
        var states = try await store.states(of: choice, limit: limit, routes.admission.queues, reader)
        var known: [QueueName: [Because]] = [:]
        for index in states.indices {
            guard case .waiting(let ahead, _) = states[index].phase, let queue = states[index].details?.queue
            else {
                continue
            }
            let because: [Because]
            if let found = known[queue] {
                because = found
            } else {
                because = try await status(of: queue).because
            }
            known[queue] = because
            states[index].phase = .waiting(ahead: ahead, because: because)
        }
        return states
    }
}
