/// Whether and when an action is tried again after a failed attempt.
///
/// A policy is a value without state: its decision follows from the failure and the given random numbers.
public protocol RetryPolicy: Sendable {
    /// Decides about a failed attempt, with the broker's source of random numbers for jitter.
    func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision
}

extension RetryPolicy {
    /// Returns the same policy with a limit of attempts.
    public func limited(to attempts: Int) -> LimitedRetry<Self> { LimitedRetry(self, attempts: attempts) }
}
