extension Broker {
    /// Ends the retry waits of queues and unparks them, to try their heads now; returns how many there were.
    ///
    /// No attempt is lost or given back. Running actions are not affected.
    @discardableResult
    public func retryNow(_ pattern: QueuePattern = .all) async throws(SluiceError) -> Int {
        try await engine.retryNow(pattern.form())
    }

    /// Ends the retry waits of the named queues and unparks them, as ``retryNow(_:)``, in one transaction.
    @discardableResult
    public func retryNow(queues names: some Sequence<QueueName>) async throws(SluiceError) -> Int {
        try await engine.retryNow(queues: Array(Set(names)))
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

    /// Makes all commits to the file so far survive a loss of power, whoever has made them.
    ///
    /// Call it after enqueuing on a connection whose commits are not synced. It cannot repair pages that a
    /// connection with `synchronous = OFF` has checkpointed. After an error nothing is known to be durable.
    public func flush() async throws(SluiceError) { try await fileEngine(for: "flush()").store.sync() }

    /// Copies the WAL into the database and truncates it, so that neither contains deleted payloads.
    ///
    /// The broker does so with ``FileOptions/erasesPayloads``; without it, the database may keep deleted
    /// payloads. Returns `false` when another connection prevented the truncation: call it again.
    public func truncateWAL() async throws(SluiceError) -> Bool {
        try await fileEngine(for: "truncateWAL()").store.truncateWAL()
    }

    /// Starts the batches of queues now, however few actions wait: see ``QueueStart/batch(count:after:)``.
    ///
    /// The request is stored in the file: without a running broker, the batch starts with the next one.
    /// Returns the number of queues whose batch was started, or whose wait was ended.
    ///
    /// - Parameters:
    ///   - pattern: Which queues have their batches started.
    ///   - includingRetries: Whether actions that wait for a retry are tried now too, in the same
    ///     transaction. Parked queues stay parked: use ``retryNow(_:)``.
    @discardableResult
    public func runNow(
        _ pattern: QueuePattern = .all,
        includingRetries: Bool = false
    ) async throws(SluiceError) -> Int {
        try await engine.runNow(pattern.form(), includingRetries: includingRetries)
    }

    /// Copies the file while it is in use, as a snapshot of one moment after the call.
    ///
    /// The copy has everything that was acknowledged before the call, and the application's own tables. A
    /// broker can run it at once: actions that ran get their attempt back. Copied actions keep their
    /// idempotency keys; actions enqueued in the copy get other keys than those of the original. The WAL
    /// cannot be reset until the copy has been read. The copy is written beside the destination under a
    /// temporary name, readable by its owner only, and renamed when it is completely on disk; after an error
    /// it is removed. Cancelling the task does not end it.
    ///
    /// - Parameter path: The destination, in an existing directory; nothing may exist at this path.
    /// - Throws: ``SluiceError`` `destinationExists`; `diskFull`, `readOnly` and `cannotOpen` for the
    ///   destination; `suspended` and `closed`, also during the copy; `unsupportedDatabase` for queues in
    ///   memory.
    public func backup(to path: String) async throws(SluiceError) {
        try await fileEngine(for: "backup(to:)").store.backUp(to: path)
    }
}
