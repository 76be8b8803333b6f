/// The result of an attempt: the handler's outcome, after the route's policies.
///
/// It is a decision that is still to be written. The file may end up different if the action is deleted
/// first, another process takes over its run, or the writes of a success fail (``Outcome/success(_:)``).
public struct AttemptResult: Sendable, Hashable {
    /// The effect on the action.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// It is done.
        case succeeded
        /// It waits for another attempt.
        case retrying
        /// It cannot continue: the failure policy parks its queue or makes it a dead letter.
        case failed
        /// It is given back without spending the attempt, also because the broker stops.
        case released
        /// It was cancelled while it ran, and is removed.
        case removed
    }

    let settlement: Settlement
    private let isRemoved: Bool

    init(_ settlement: Settlement, isCancelled: Bool) {
        self.settlement = settlement
        // A success counts all the same.
        isRemoved = isCancelled && !settlement.isSuccess
    }

    /// The effect on the action.
    public var kind: Kind {
        if isRemoved { return .removed }
        return switch settlement {
        case .success, .successWriting: .succeeded
        case .retry: .retrying
        case .fail: .failed
        case .release, .stop: .released
        }
    }

    /// Whether there is no further attempt, unless an operator requests one.
    public var isFinal: Bool {
        switch kind {
        case .succeeded, .failed, .removed: true
        case .retrying, .released: false
        }
    }

    private var wait: (Duration, GateName?)? {
        switch settlement {
        case .retry(let delay, let gate, _, _), .release(let delay, let gate, _, _):
            isRemoved ? nil : (delay, gate)
        case .success, .successWriting, .fail, .stop: nil
        }
    }

    /// How long the action waits for its next attempt; a gate can end the wait earlier or extend it.
    public var delay: Duration? { wait?.0 }
    /// The gate that the action waits for.
    public var gate: GateName? { wait?.1 }

    /// Why the action cannot continue, if it has failed.
    public var cause: FailureCause? {
        if case .fail(let cause, _, _) = settlement, !isRemoved { cause } else { nil }
    }

    /// The failure policy that applies.
    public var policy: FailurePolicy? {
        if case .fail(_, let policy, _) = settlement, !isRemoved { policy } else { nil }
    }

    /// The error as stored in the file; it may contain parts of the payload.
    public var error: String? {
        switch settlement {
        case .retry(_, _, _, let error), .fail(_, _, let error): error
        case .success, .successWriting, .release, .stop: nil
        }
    }
}
