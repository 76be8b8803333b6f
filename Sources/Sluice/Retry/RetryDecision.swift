/// The decision about a failed attempt.
public enum RetryDecision: Sendable, Hashable {
    /// Try again after a delay; zero or less is at once.
    case retry(after: Duration)
    /// The attempts are used up: the failure policy for ``FailureCause/exhausted`` decides.
    case giveUp
    /// Park the queue, whatever the failure policy says; the cause shown is ``FailureCause/failed``.
    case halt
}
