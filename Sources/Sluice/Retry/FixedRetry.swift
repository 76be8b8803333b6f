/// The same delay before each retry, without end.
///
/// `FixedRetry(every: .seconds(30))` waits 30 s, 30 s, 30 s …
public struct FixedRetry: RetryPolicy, Hashable {
    /// The delay before each retry.
    public let delay: Duration
    /// Makes a policy; a negative delay counts as zero.
    public init(every delay: Duration) { self.delay = max(delay, .zero) }

    /// Retries after ``delay``.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision { .retry(after: delay) }
}

extension RetryPolicy where Self == FixedRetry {
    /// The same delay before each retry, without end.
    public static func fixed(_ delay: Duration) -> FixedRetry { FixedRetry(every: delay) }
}
