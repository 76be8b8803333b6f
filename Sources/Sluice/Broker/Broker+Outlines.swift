/// Lists that read no payloads.
extension Broker {
    /// Returns waiting and running actions, in the order of ``actionSummaries(_:limit:)``.
    package func actionOutlines(
        _ pattern: QueuePattern,
        limit: Int
    ) async throws(SluiceError) -> [ActionOutline] {
        let form = try pattern.form()
        guard limit > 0 else { return [] }
        return try await engine.actionOutlines(form, limit: limit)
    }

    /// Returns dead letters, in the order of ``deadLetters(_:cause:after:limit:)``.
    package func deadLetterOutlines(
        _ pattern: QueuePattern,
        cause: FailureCause?,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline] {
        let filter = DeadLetterFilter(form: try pattern.form(), cause: cause)
        guard limit > 0 else { return [] }
        return try await engine.deadLetterOutlines(filter, after: last, limit: limit)
    }
}
