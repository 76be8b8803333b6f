extension Broker {
    /// Ends the retry waits of queues and unparks them, to try their heads now; returns how many there were.
    ///
    /// No attempt is lost or given back. Running actions are not affected.
    @discardableResult
    public func retryNow(_ pattern: QueuePattern = .all) async throws(SluiceError) -> Int {
        try await perform(.retryNow(.matching(pattern.form()))).done
    }

    /// Ends the retry waits of the named queues and unparks them, as ``retryNow(_:)``, in one transaction.
    ///
    /// On a server it is a transaction for each queue.
    @discardableResult
    public func retryNow(queues names: some Sequence<QueueName>) async throws(SluiceError) -> Int {
        try await perform(.retryNow(.named(Array(Set(names))))).done
    }

    /// Returns waiting and running actions, with payloads, by queue, in the order in which each runs them.
    public func actionSummaries(
        _ pattern: QueuePattern = .all,
        limit: Int = 1_000
    ) async throws(SluiceError) -> [ActionSummary] {
        let form = try pattern.form()
        guard limit > 0 else { return [] }
        return try await engine.actionSummaries(form, limit: limit)
    }

    /// Returns the number of waiting and running actions.
    public func actionCount() async throws(SluiceError) -> Int { try await engine.actionCount() }

    /// Starts the batches of queues now, however few actions wait: see ``QueueStart/batch(count:after:)``.
    ///
    /// The request is stored in the file: without a running broker, the batch starts with the next one.
    /// Returns the number of queues whose batch was started, or whose wait was ended.
    ///
    /// - Parameters:
    ///   - pattern: Which queues have their batches started.
    ///   - includingRetries: Whether actions that wait for a retry are tried now too, in the same
    ///     transaction. Parked queues stay parked: use ``retryNow(_:)``.
    /// - Throws: ``SluiceError`` `invalidPattern`; `unsupported` on a server, whose queues have no batches.
    @discardableResult
    public func runNow(
        _ pattern: QueuePattern = .all,
        includingRetries: Bool = false
    ) async throws(SluiceError) -> Int {
        try await perform(.runNow(pattern.form(), includingRetries: includingRetries)).done
    }
}
