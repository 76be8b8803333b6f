/// What a broker has done since it was opened.
public struct Statistics: Sendable, Hashable {
    /// Attempts that began.
    public var started = 0
    /// Attempts that ended with success.
    public var succeeded = 0
    /// Attempts that ended with a retry.
    public var retried = 0
    /// Actions that could not go on: parked, or set aside with what stood behind them counted as one.
    public var failed = 0
    /// Attempts that were given back.
    public var released = 0
    /// Attempts whose action had been removed when they ended.
    public var removed = 0
    /// Completions whose receipt no longer held (G6): nothing was changed.
    public var staleCompletions = 0
    /// Completions that were called once more.
    public var repeatedCompletions = 0
    /// Completions that were dropped without being called.
    public var droppedCompletions = 0
    /// Attempts that outlived their timeout.
    public var timeouts = 0

    /// Nothing yet.
    public init() {}
}
