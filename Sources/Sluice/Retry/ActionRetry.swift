/// A policy that decides by the action that has failed, its error and the attempt.
///
/// ```swift
/// ActionRetry(SendMessage.self, otherwise: .backoff()) { message, failure in
///     if failure.error is SignedOut { return .halt }              // parks the queue
///     if message.isGreeting && failure.attempt.number == 3 { return .giveUp }
///     return nil                                                  // as the other policy says
/// }
/// ```
public struct ActionRetry<A: Action>: RetryPolicy {
    /// The policy for actions of other types, and where the closure has no answer.
    public let base: any RetryPolicy
    private let decide: @Sendable (A, AttemptFailure) -> RetryDecision?

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - type: The type of action that the closure is asked about.
    ///   - base: The policy for other types, and where the closure returns `nil`.
    ///   - decide: Decides what follows. The action is decoded anew for each failure.
    public init(
        _ type: A.Type,
        otherwise base: any RetryPolicy = ExponentialRetry(),
        decide: @escaping @Sendable (A, AttemptFailure) -> RetryDecision?
    ) {
        self.base = base
        self.decide = decide
    }

    /// Asks the closure, and ``base`` where it has no answer.
    public func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision {
        failure.action(as: A.self).flatMap { decide($0, failure) }
            ?? base.decision(after: failure, using: &generator)
    }
}
