/// A failed attempt.
public struct AttemptFailure: Sendable {
    /// The attempt.
    public let attempt: Attempt
    /// The handler's error; `nil` when it returned ``Outcome/retry`` or ran out of time.
    public let error: (any Error)?
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

    /// Decodes the attempt's action again; `nil` when it is of another kind or does not decode as the type.
    public func action<A: Action>(as type: A.Type = A.self) -> A? {
        guard attempt.kind == A.kind, let reader, let settler = attempt.settler else { return nil }
        return try? reader.read(A.self, from: settler.action).get()
    }
}
