/// The result of ``Broker/skipHead(of:only:reason:)``.
public enum HeadSkip: Sendable, Hashable {
    /// This action has become a dead letter.
    case skipped(ActionID)
    /// This action runs: nothing has been changed.
    case running(ActionID)
    /// This action would have been skipped, and it is not the given one: nothing has been changed.
    case other(ActionID)
    /// No action of the queue waits for its turn.
    case empty
}
