/// What an operator, or the application on its user's behalf, does to queues and actions.
extension Broker {
    /// Ends the retry waits of queues and lifts their parking: their heads are tried now.
    ///
    /// No attempt is lost or given back. Actions that run are not touched.
    ///
    /// - Returns: The number of queues that waited for a retry or were parked.
    @discardableResult
    public func retryNow(_ pattern: QueuePattern = .all) async throws(SluiceError) -> Int {
        try await store.retryNow(pattern.form())
    }

    /// Cancels an action.
    ///
    /// One that waits is removed. One that runs is marked in the file, then its handler's task is cancelled;
    /// a success that the handler returns all the same stands, anything else removes the action. Its queue
    /// goes on when the handler has returned.
    @discardableResult
    public func cancel(_ action: ActionID) async throws(SluiceError) -> Cancellation {
        let result = try await store.cancel(action)
        switch result {
        case .removed: return .removed
        case .missing: return .tooLate
        case .marked:
            runner.cancel(action, .removal)
            return .signalled
        }
    }

    /// Dead letters, the newest first.
    ///
    /// - Parameter limit: The most that are read; each carries its payload.
    public func deadLetters(limit: Int = 100) async throws(SluiceError) -> [DeadLetter] {
        try await store.deadLetters(limit: limit)
    }

    /// Puts a dead letter back into its queue, at the place that its sort key and number give it, with no
    /// attempt spent.
    ///
    /// - Returns: Whether there was such a dead letter.
    /// - Throws: ``SluiceError/Code/sortKeyMismatch`` when the queue has since taken another type of sort
    ///   key.
    @discardableResult
    public func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await store.requeue(action)
    }

    /// Queues with work, by name.
    ///
    /// - Parameters:
    ///   - pattern: Which queues.
    ///   - limit: The most that are read.
    public func queueSummaries(
        _ pattern: QueuePattern = .all,
        limit: Int = 1_000
    ) async throws(SluiceError) -> [QueueSummary] {
        try await store.queueSummaries(pattern.form(), limit: limit)
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

    /// Makes everything that was committed before survive a loss of power, whatever the durability.
    public func flush() async throws(SluiceError) {
        try await store.sync()
    }
}

/// What became of a cancellation.
public enum Cancellation: Sendable, Hashable {
    /// The action waited, and is gone.
    case removed
    /// The action runs: its handler has been told.
    case signalled
    /// There is no such action: it never was, or it has been settled.
    case tooLate
}
