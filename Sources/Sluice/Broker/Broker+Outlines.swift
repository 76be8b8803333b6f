extension Broker: OutlineLists {
    package func actionOutlines(
        _ pattern: QueuePattern,
        limit: Int
    ) async throws(SluiceError) -> [ActionOutline] {
        try await store.actionOutlines(pattern.form(), limit: limit)
    }

    package func deadLetterOutlines(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline] {
        let filter = DeadLetterFilter(form: try pattern.form(), cause: cause)
        return try await store.deadLetterOutlines(filter, after: last, limit: limit)
    }
}
