/// What an attempt leads to: the handler's outcome, and what the route's policies make of it.
///
/// It tells a retry from a final failure. It is a decision that is about to be written: if the action is
/// deleted before, its run is taken over by another process, or what a success writes with it fails
/// (``Outcome/success(_:)``), that is what the file has in the end.
public struct AttemptResult: Sendable, Hashable {
    /// What happens to the action.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// It is done.
        case succeeded
        /// It waits and is tried again.
        case retrying
        /// It cannot go on: the failure policy parks its queue or sets it aside.
        case failed
        /// It is given back without the attempt being spent, also because the broker stops.
        case released
        /// It was cancelled while it ran, and goes.
        case removed
    }

    let settlement: Settlement
    private let isRemoved: Bool

    init(_ settlement: Settlement, isCancelled: Bool) {
        self.settlement = settlement
        // A success that the handler returns all the same stands.
        isRemoved = isCancelled && !settlement.isSuccess
    }

    /// What happens to the action.
    public var kind: Kind {
        if isRemoved { return .removed }
        return switch settlement {
        case .success, .successWriting: .succeeded
        case .retry: .retrying
        case .fail: .failed
        case .release, .stop: .released
        }
    }

    /// Whether the action is not tried again, unless an operator asks for it.
    public var isFinal: Bool {
        switch kind {
        case .succeeded, .failed, .removed: true
        case .retrying, .released: false
        }
    }

    /// How long the action waits, where it is tried again; a gate that it waits for can end the wait earlier
    /// or make it longer.
    public var delay: Duration? {
        switch settlement {
        case .retry(let delay, _, _), .release(let delay, _, _): isRemoved ? nil : delay
        case .success, .successWriting, .fail, .stop: nil
        }
    }

    /// The gate that the action waits for.
    public var gate: GateName? {
        switch settlement {
        case .retry(_, let gate, _), .release(_, let gate, _): isRemoved ? nil : gate
        case .success, .successWriting, .fail, .stop: nil
        }
    }

    /// Why the action cannot go on, where it has failed.
    public var cause: FailureCause? {
        if case .fail(let cause, _, _) = settlement, !isRemoved { cause } else { nil }
    }

    /// What the route makes of that.
    public var policy: FailurePolicy? {
        if case .fail(_, let policy, _) = settlement, !isRemoved { policy } else { nil }
    }

    /// The error as it is kept in the file: the text of what the handler threw, which may say what is in the
    /// payload.
    public var error: String? {
        switch settlement {
        case .retry(_, _, let error), .fail(_, _, let error): error
        case .success, .successWriting, .release, .stop: nil
        }
    }
}
