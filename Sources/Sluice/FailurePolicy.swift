/// Why an action cannot continue, or has become a dead letter.
///
/// Later versions may add cases: a `switch` of an application needs a `default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum FailureCause: String, Sendable, Hashable, CaseIterable {
    /// The handler returned ``Outcome/fail(_:)``.
    case failed
    /// The attempts allowed by the retry policy are used up.
    case exhausted
    /// The action expired before it could start: checked at the head, and by a sweep if the policy skips.
    case expired
    /// The payload does not decode as the type of its route, or its version cannot be brought to the type's.
    case undecodable
    /// Its process died several times while the action ran alone; see ``RouteOptions/crashLimit``.
    case crashed
    /// It waited after an action whose failure made its whole queue dead letters.
    case behind
    /// An operator skipped it with ``Broker/skipHead(of:only:reason:)``.
    case skipped
}

/// What to do with an action that cannot continue.
public enum FailurePolicy: String, Sendable, Hashable, CaseIterable {
    /// Park the queue at its head, until ``Broker/retryNow(_:)`` tries it again or the head is removed.
    case block
    /// Make the action a dead letter and continue with the next.
    case skip
    /// Make the action and all that wait in its queue at that moment dead letters; later arrivals run.
    case failQueue
}

/// A failure policy for each cause.
public struct FailurePolicies: Sendable, Hashable {
    /// For ``FailureCause/failed``.
    public var failed: FailurePolicy
    /// For ``FailureCause/exhausted``.
    public var exhausted: FailurePolicy
    /// For ``FailureCause/expired``.
    public var expired: FailurePolicy
    /// For ``FailureCause/undecodable``.
    ///
    /// If it blocks, the head is tried again at a start, after an edit, and for a new route or upgrader.
    public var undecodable: FailurePolicy
    /// For ``FailureCause/crashed``.
    public var crashed: FailurePolicy

    /// Makes a set of policies; by default all block, so that no failure is missed, but expired is skipped.
    public init(
        failed: FailurePolicy = .block,
        exhausted: FailurePolicy = .block,
        expired: FailurePolicy = .skip,
        undecodable: FailurePolicy = .block,
        crashed: FailurePolicy = .block
    ) {
        self.failed = failed
        self.exhausted = exhausted
        self.expired = expired
        self.undecodable = undecodable
        self.crashed = crashed
    }

    /// One policy for every cause.
    public static func all(_ policy: FailurePolicy) -> FailurePolicies {
        Self(failed: policy, exhausted: policy, expired: policy, undecodable: policy, crashed: policy)
    }

    /// The policy for a cause; an action that is skipped, or ends behind another, is always a dead letter.
    public subscript(cause: FailureCause) -> FailurePolicy {
        switch cause {
        case .failed: failed
        case .exhausted: exhausted
        case .expired: expired
        case .undecodable: undecodable
        case .crashed: crashed
        case .behind, .skipped: .skip
        }
    }
}
