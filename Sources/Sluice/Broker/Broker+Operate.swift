/// What an operator, or the application on its user's behalf, does to queues and actions.
extension Broker {
    /// Ends the retry waits of queues and lifts their parking: their heads are tried now.
    ///
    /// No attempt is lost or given back. Actions that run are not touched.
    ///
    /// - Returns: The number of queues that waited for a retry or were parked.
    @discardableResult
    public func retryNow(_ pattern: QueuePattern = .all) async throws(SluiceError) -> Int {
        let count = try await store.retryNow(pattern.form())
        scheduler.hasten(.admitScheduled)
        return count
    }

    /// Ends the retry waits of the queues that are named and lifts their parking, all in one transaction.
    ///
    /// See ``retryNow(_:)``.
    ///
    /// - Returns: The number of queues that waited for a retry or were parked.
    @discardableResult
    public func retryNow(queues names: some Sequence<QueueName>) async throws(SluiceError) -> Int {
        let count = try await store.retryNow(mutant("restart by name") ? [] : Array(Set(names)))
        scheduler.hasten(.admitScheduled)
        return count
    }

    /// Actions that wait or run: by queue, and in the order in which each queue runs them.
    ///
    /// - Parameters:
    ///   - pattern: Which queues.
    ///   - limit: The most that are read; each carries its payload.
    public func actionSummaries(
        _ pattern: QueuePattern = .all,
        limit: Int = 1_000
    ) async throws(SluiceError) -> [ActionSummary] {
        try await store.actionSummaries(pattern.form(), limit: limit)
    }

    /// The number of actions that wait or run.
    public func actionCount() async throws(SluiceError) -> Int {
        try await store.actionCount()
    }

    /// Makes all commits to the file so far survive a loss of power, whoever has made them.
    ///
    /// For what was enqueued on a connection whose commits are not synced. One call serves any number of
    /// commits before it. It cannot mend what a connection with `synchronous = OFF` has copied from the log
    /// into the file.
    ///
    /// - Throws: ``SluiceError`` when the disk cannot be written: nothing is known to be durable then.
    public func flush() async throws(SluiceError) {
        try await store.sync()
    }

    /// Copies the log into the database and cuts it to nothing, so that what was deleted stands in neither.
    ///
    /// With ``BrokerOptions/erasesPayloads`` a running broker does it by itself, and a broker that is closed
    /// too; without that option, what was deleted may still stand in the database.
    ///
    /// - Returns: `false` when another connection has kept the log from being cut: call it again.
    /// - Throws: ``SluiceError`` when the file cannot be written.
    public func eraseLog() async throws(SluiceError) -> Bool {
        try await store.eraseLog()
    }
}
