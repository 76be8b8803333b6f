/// The states of single actions.
extension Broker {
    /// Returns what an action does or waits for, or how it ended.
    ///
    /// It may be out of date as soon as it is returned. Counting the actions ahead of a waiting one takes the
    /// longer the more there are, some milliseconds for ten thousand.
    ///
    /// - Throws: Errors of the file.
    public func action(_ id: ActionID) async throws(SluiceError) -> ActionState {
        // It may leave its queue, or return to it, between two reads.
        for _ in 0..<2 {
            if let state = try await states(of: .id(id), limit: 1).first { return state }
            if let end = try await store.end(of: id) {
                return ActionState(id: id, phase: .ended(end), details: nil)
            }
        }
        return ActionState(id: id, phase: .ended(.unknown), details: nil)
    }

    /// Returns the states of the actions and dead letters with a tag, by number.
    ///
    /// - Throws: Errors of the file.
    public func actions(tag: String, limit: Int = 1_000) async throws(SluiceError) -> [ActionState] {
        try await states(of: .tag(tag), limit: limit)
    }

    private func states(of choice: ActionChoice, limit: Int) async throws(SluiceError) -> [ActionState] {
        guard limit > 0 else { return [] }
        var states = try await store.states(of: choice, limit: limit, reader: reader)
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
