/// A policy that decides by the failed action, its error and the attempt.
///
/// ```swift
/// ActionRetry(SendMessage.self, otherwise: .backoff()) { message, failure in
///     if failure.error is SignedOut { return .halt }              // parks the queue
///     if message.isGreeting && failure.attempt.number == 3 { return .giveUp }
///     return nil                                                  // let the other policy decide
/// }
/// ```
public struct ActionRetry<A: Action>: RetryPolicy {
    /// The policy for actions of other types, and when the closure returns `nil`.
    public let base: any RetryPolicy
    private let decide: @Sendable (A, AttemptFailure) -> RetryDecision?

    /// Makes a policy for a type of action, which is decoded again for each failure.
    public init(
        _ type: A.Type,
        otherwise base: any RetryPolicy = ExponentialRetry(),
        decide: @escaping @Sendable (A, AttemptFailure) -> RetryDecision?
    ) {
        self.base = base
        self.decide = decide
    }

    /// Calls the closure, and ``base`` if it returns `nil`.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision {
        failure.action(as: A.self).flatMap { decide($0, failure) }
            ?? base.decision(after: failure, using: &generator)
    }
}
