/// Whether and when an action is tried again after a failed attempt.
///
/// A policy is a value without state: its decision follows from the failure and the given random numbers.
public protocol RetryPolicy: Sendable {
    /// Decides about a failed attempt.
    ///
    /// - Parameters:
    ///   - failure: The failed attempt.
    ///   - generator: The broker's source of random numbers, for jitter.
    func decision(
        after failure: AttemptFailure,
        using generator: inout any RandomNumberGenerator
    ) -> RetryDecision
}

/// The decision about a failed attempt.
public enum RetryDecision: Sendable, Hashable {
    /// Try again after a delay; zero or less is at once.
    case retry(after: Duration)
    /// The attempts are used up: the failure policy for ``FailureCause/exhausted`` decides.
    case giveUp
    /// Park the queue, whatever the failure policy says, as ``Outcome/halt(_:)`` does.
    ///
    /// The cause shown is ``FailureCause/failed``, since no limit has been reached.
    case halt
}

/// A failed attempt.
public struct AttemptFailure: Sendable {
    /// The attempt.
    public let attempt: Attempt
    /// The handler's error; `nil` when it returned ``Outcome/retry`` or ran out of time.
    public let error: (any Error)?
    /// Reads the payload of the attempt.
    let reader: PayloadReader?

    /// Makes a failure without an action, for tests of a policy.
    public init(attempt: Attempt, error: (any Error)?) {
        self.init(attempt: attempt, error: error, reader: nil)
    }

    init(attempt: Attempt, error: (any Error)?, reader: PayloadReader?) {
        self.attempt = attempt
        self.error = error
        self.reader = reader
    }

    /// Decodes the action of the attempt again.
    ///
    /// See ``ActionRetry`` for a policy that uses it.
    ///
    /// - Returns: `nil` when the attempt's kind is not the type's, or the payload does not decode as it.
    public func action<A: Action>(as type: A.Type = A.self) -> A? {
        guard attempt.kind == A.kind, let reader, let settler = attempt.settler else { return nil }
        return try? reader.read(A.self, from: settler.action).get()
    }
}

extension RetryPolicy {
    /// Returns the same policy with a limit of attempts.
    public func limited(to attempts: Int) -> LimitedRetry<Self> {
        LimitedRetry(self, attempts: attempts)
    }
}
