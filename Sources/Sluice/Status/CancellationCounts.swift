/// The result of the cancellation of many actions.
public struct CancellationCounts: Sendable, Hashable {
    /// Actions that were waiting, and have been removed.
    public var removed = 0
    /// Running actions whose handlers have been signalled.
    public var signalled = 0
    /// Actions that were named by number and do not exist; 0 when cancelling by tag or by queue.
    public var tooLate = 0
    /// Makes counts of zero.
    public init() {}
}
