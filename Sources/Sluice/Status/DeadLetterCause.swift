/// Why an action became a dead letter.
public enum DeadLetterCause: String, Sendable, Hashable, CaseIterable {
    /// The handler returned ``Outcome/fail(_:)``.
    case failed
    /// The attempts allowed by the retry policy were used up.
    case exhausted
    /// It expired before it could start.
    case expired
    /// The payload did not decode as the type of its route.
    case undecodable
    /// Its process died several times while the action ran alone.
    case crashed
    /// It waited after an action whose failure made the whole queue dead letters.
    case behind
    /// An operator skipped it with ``Broker/skipHead(of:only:reason:)``.
    case skipped

    /// Makes the cause of a dead letter from the cause of a failure.
    public init(_ cause: FailureCause) {
        switch cause {
        case .failed: self = .failed
        case .exhausted: self = .exhausted
        case .expired: self = .expired
        case .undecodable: self = .undecodable
        case .crashed: self = .crashed
        }
    }
}
