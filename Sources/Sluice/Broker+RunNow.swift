/// Batches before their time.
extension Broker {
    /// Starts the batches of queues now, however few actions wait in them: see
    /// ``QueueStart/batch(count:after:)``.
    ///
    /// It stands in the file: a batch that was asked for while no broker runs starts with the next one. What
    /// waits for a retry goes on waiting; ``retryNow(_:)`` ends that.
    ///
    /// - Parameter pattern: Which queues.
    /// - Returns: The number of queues whose batches have been started: those with something to start.
    @discardableResult
    public func runNow(_ pattern: QueuePattern = .all) async throws(SluiceError) -> Int {
        let rules = scheduler.rules
        return try await store.runNow(pattern.form()) { rules.rules(of: $0).isBatched }
    }
}
