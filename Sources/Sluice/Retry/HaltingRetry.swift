/// No retry: the queue is parked at the first failure.
public struct HaltingRetry: RetryPolicy, Hashable {
    /// Makes a policy.
    public init() {}

    /// Halts.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision { .halt }
}

extension RetryPolicy where Self == HaltingRetry {
    /// No retry: the queue is parked at the first failure.
    public static var halt: HaltingRetry { HaltingRetry() }
}
