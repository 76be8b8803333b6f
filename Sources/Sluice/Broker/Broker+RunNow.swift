/// Starting batches early.
extension Broker {
    /// Starts the batches of queues now, however few actions wait: see ``QueueStart/batch(count:after:)``.
    ///
    /// The request is stored in the file: without a running broker, the batch starts with the next one.
    ///
    /// ```swift
    /// try await broker.runNow("tracking", includingRetries: true)   // a pass through all that is left
    /// ```
    ///
    /// - Parameters:
    ///   - pattern: The queues.
    ///   - includingRetries: Whether actions that wait for a retry are tried now too, in the same
    ///     transaction. Parked queues stay parked: use ``retryNow(_:)``.
    /// - Returns: The number of queues whose batch was started, or whose wait was ended.
    @discardableResult
    public func runNow(
        _ pattern: QueuePattern = .all,
        includingRetries: Bool = false
    ) async throws(SluiceError) -> Int {
        let queues = routes.admission.queues
        let count = try await store.runNow(pattern.form(), endsWaits: includingRetries) {
            queues.rules(of: $0).isBatched
        }
        if includingRetries { scheduler.hasten(.admitScheduled) }
        return count
    }
}
