/// When and whether an action whose attempt failed is tried again.
///
/// A policy is a value without state: what it decides follows from the failure and from the random numbers
/// that it is handed.
public protocol RetryPolicy: Sendable {
    /// Decides what follows on a failed attempt.
    ///
    /// - Parameters:
    ///   - failure: The attempt that failed.
    ///   - generator: The broker's source of random numbers, for jitter.
    func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision
}

/// What follows on a failed attempt.
public enum RetryDecision: Sendable, Hashable {
    /// Try again after a duration; zero or less is at once.
    case retry(after: Duration)
    /// The attempts are used up: the failure policy for ``FailureCause/exhausted`` decides.
    case giveUp
    /// Park the queue, whatever the failure policy says, as ``Outcome/halt(_:)`` does: the cause shown is
    /// ``FailureCause/failed``, for no limit has been reached.
    case halt
}

/// An attempt that failed.
public struct AttemptFailure: Sendable {
    /// The attempt.
    public let attempt: Attempt
    /// What the handler threw; `nil` when it answered ``Outcome/retry`` or ran out of time.
    public let error: (any Error)?
    /// What reads the payload that was attempted.
    let reader: PayloadReader?

    /// Makes a failure, for tests of a policy; it has no action.
    public init(attempt: Attempt, error: (any Error)?) {
        self.init(attempt: attempt, error: error, reader: nil)
    }

    init(attempt: Attempt, error: (any Error)?, reader: PayloadReader?) {
        self.attempt = attempt
        self.error = error
        self.reader = reader
    }

    /// The action that was attempted, decoded once more.
    ///
    /// See ``ActionRetry`` for a policy that asks for it.
    ///
    /// - Returns: `nil` when the attempt's kind is not the type's, or the payload does not decode as it.
    public func action<A: Action>(as type: A.Type = A.self) -> A? {
        guard attempt.kind == A.kind, let reader, let settler = attempt.settler else { return nil }
        return try? reader.read(A.self, from: settler.action).get()
    }
}

extension RetryPolicy {
    /// The same policy, but giving up after a number of attempts.
    public func limited(to attempts: Int) -> LimitedRetry<Self> {
        LimitedRetry(self, attempts: attempts)
    }
}
