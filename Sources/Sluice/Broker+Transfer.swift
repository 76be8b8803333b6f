extension Broker {
    /// Enqueues actions that have left another file, all or none, in their order.
    ///
    /// - Throws: As ``enqueue(raw:)``.
    package func take(_ actions: [TransferredAction]) async throws -> [ActionID] {
        for action in actions { try check(action) }
        return try await store.take(actions)
    }

    private func check(_ action: TransferredAction) throws(SluiceError) {
        try action.queue.validate()
        try validateKind(action.kind)
        if case .real(let value) = action.sortKey.value, value.isNaN {
            throw SluiceError(.sortKeyNotANumber, "the sort key is not a number")
        }
        if let tag = action.tag { try EnqueueOptions.validate(tag: tag) }
        guard action.version >= 1 else { throw SluiceError(.invalidOptions, "a version must be 1 or more") }
        try action.gate?.validate()
        if let trace = action.trace { try TraceText.validate(trace) }
        try coder.check(RawAction(queue: action.queue, kind: action.kind, payload: action.payload))
    }
}
