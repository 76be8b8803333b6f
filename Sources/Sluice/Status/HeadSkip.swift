/// The result of ``Broker/skipHead(of:reason:)``.
public enum HeadSkip: Sendable, Hashable {
    /// This action has become a dead letter.
    case skipped(ActionID)
    /// This action runs: nothing has been changed.
    case running(ActionID)
    /// No action of the queue waits for its turn.
    case empty
}
