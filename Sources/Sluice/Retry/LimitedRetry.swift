/// Another policy, but giving up after a number of attempts.
///
/// `ExponentialRetry().limited(to: 5)` waits after attempts 1 to 4, and gives up after attempt 5.
public struct LimitedRetry<Base: RetryPolicy>: RetryPolicy {
    /// The policy that decides before the limit is reached.
    public let base: Base
    /// The most attempts.
    public let attempts: Int

    /// Makes a policy; fewer than one attempt is one.
    public init(_ base: Base, attempts: Int) {
        self.base = base
        self.attempts = max(attempts, 1)
    }

    /// Gives up when the attempts are used up, and asks ``base`` otherwise.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision {
        failure.attempt.number >= attempts ? .giveUp : base.decision(after: failure, using: &generator)
    }
}
