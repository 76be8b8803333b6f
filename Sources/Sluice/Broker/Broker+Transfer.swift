extension Broker {
    /// Enqueues actions transferred from another file, all or none, in their order.
    ///
    /// - Returns: Their numbers; `nil` for an action whose key is taken, as it is or was stored here already.
    /// - Throws: As ``enqueue(raw:)``.
    package func take(_ actions: [TransferredAction]) async throws -> [ActionID?] {
        for action in actions { try check(action) }
        return try await store.take(actions)
    }

    private func check(_ action: TransferredAction) throws(SluiceError) {
        try action.queue.validateForActions()
        try validateKind(action.kind)
        if case .real(let value) = action.sortKey.value, value.isNaN {
            throw SluiceError(.sortKeyNotANumber, "the sort key is not a number")
        }
        if let tag = action.tag { try EnqueueOptions.validate(tag: tag) }
        guard action.version >= 1 else { throw SluiceError(.invalidOptions, "a version must be 1 or more") }
        try action.gate?.validate()
        try action.groups.validate()
        if let trace = action.trace { try TraceText.validate(trace) }
        try action.key?.validate()
        guard (0...TransferredAction.maximumAttempts).contains(action.attempts) else {
            throw SluiceError(
                .invalidOptions,
                "an action comes with 0 to \(TransferredAction.maximumAttempts) attempts"
            )
        }
        try coder.check(RawAction(queue: action.queue, kind: action.kind, payload: action.payload))
    }
}
