/// Counts of a broker since it was opened.
public struct Statistics: Sendable, Hashable {
    /// Attempts that began.
    public var started = 0
    /// Attempts that ended with success.
    public var succeeded = 0
    /// Attempts that ended with a retry.
    public var retried = 0
    /// Actions that were parked or made dead letters; a queue that fails as a whole counts once.
    public var failed = 0
    /// Attempts that were given back.
    public var released = 0
    /// Attempts whose action had been removed when they ended.
    public var removed = 0
    /// Completions whose receipt was not valid any more (G6): nothing was changed.
    public var staleCompletions = 0
    /// Second and further calls of a completion.
    public var repeatedCompletions = 0
    /// Completions that were released without being called.
    public var droppedCompletions = 0
    /// Attempts that outlived their timeout.
    public var timeouts = 0
    /// Makes counts of zero.
    public init() {}
}
