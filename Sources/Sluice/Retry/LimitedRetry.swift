/// Another policy with a limit of attempts.
///
/// `ExponentialRetry().limited(to: 5)` waits after attempts 1 to 4, and gives up after attempt 5.
public struct LimitedRetry<Base: RetryPolicy>: RetryPolicy {
    /// The policy that decides before the limit is reached.
    public let base: Base
    /// The most attempts.
    public let attempts: Int

    /// Makes a policy; a route with a limit below one is refused as ``SluiceError/Code/invalidOptions``.
    public init(_ base: Base, attempts: Int) {
        self.base = base
        self.attempts = attempts
    }

    /// Gives up when the attempts are used up, and calls ``base`` otherwise.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision {
        let isLast = failure.attempt.number >= attempts && !mutant("attempts")
        return isLast ? .giveUp : base.decision(after: failure, using: &generator)
    }
}

extension LimitedRetry: CheckedRetryPolicy {
    var fault: String? {
        if attempts < 1 { return "a route's limit of attempts is \(attempts); give 1 or more" }
        return (base as? any CheckedRetryPolicy)?.fault
    }
}

/// A retry policy whose values may be wrong.
protocol CheckedRetryPolicy {
    /// The fault in words; `nil` if there is none.
    var fault: String? { get }
}

extension RetryPolicy where Self == LimitedRetry<FixedRetry> {
    /// A limited number of attempts, including the first, at once or with the same delay before each.
    ///
    /// Then the failure policy for ``FailureCause/exhausted`` decides, which by default parks the queue.
    public static func attempts(_ count: Int, every delay: Duration = .zero) -> LimitedRetry<FixedRetry> {
        FixedRetry(every: delay).limited(to: count)
    }
}
