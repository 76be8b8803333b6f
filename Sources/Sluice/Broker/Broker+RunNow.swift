/// Batches before their time.
extension Broker {
    /// Starts the batches of queues now, however few actions wait in them: see
    /// ``QueueStart/batch(count:after:)``.
    ///
    /// It stands in the file: a batch that was asked for while no broker runs starts with the next one.
    ///
    /// ```swift
    /// try await broker.runNow("tracking", includingRetries: true)   // a pass through all that is left
    /// ```
    ///
    /// - Parameters:
    ///   - pattern: Which queues.
    ///   - includingRetries: Whether what waits for a retry is tried now too, in the same transaction;
    ///     otherwise it goes on waiting. Parked queues stay parked: ``retryNow(_:)`` lifts that.
    /// - Returns: The number of queues whose batches have been started, those with something to start, or
    ///   whose waits have ended.
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
