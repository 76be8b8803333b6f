/// Why an action cannot go on.
public enum FailureCause: String, Sendable, Hashable, CaseIterable {
    /// The handler answered ``Outcome/fail(_:)``.
    case failed
    /// The retry policy allows no further attempt.
    case exhausted
    /// The action's time was over before it could start; see ``EnqueueOptions/expiresAt``.
    ///
    /// Looked at when it is the head, and by a sweep where its policy is to skip; never during an attempt.
    case expired
    /// The payload does not decode as the type of its route, or its version cannot be brought to the type's.
    case undecodable
    /// Its process died several times while the action ran alone; see ``RouteOptions/crashLimit``.
    case crashed
}

/// What follows when an action cannot go on.
public enum FailurePolicy: String, Sendable, Hashable, CaseIterable {
    /// Park the head and with it the queue, for an operator: ``Broker/retryNow(_:)`` tries again, removing
    /// the action lets the next one through. What arrives meanwhile does not lift the parking.
    case block
    /// Set the action aside as a dead letter and go on with the next.
    case skip
    /// Set aside the action and all that wait in its queue at that moment; what arrives later runs.
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
    /// With ``FailurePolicy/block`` the head is tried again when the broker starts, when its payload is
    /// edited, and when a route or an upgrader is added.
    public var undecodable: FailurePolicy
    /// For ``FailureCause/crashed``.
    public var crashed: FailurePolicy

    /// Makes a set of policies.
    ///
    /// The default blocks, so that nothing is passed over unseen, but skips what has expired.
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
        FailurePolicies(
            failed: policy,
            exhausted: policy,
            expired: policy,
            undecodable: policy,
            crashed: policy
        )
    }

    /// The policy for a cause.
    public subscript(cause: FailureCause) -> FailurePolicy {
        switch cause {
        case .failed: failed
        case .exhausted: exhausted
        case .expired: expired
        case .undecodable: undecodable
        case .crashed: crashed
        }
    }
}
