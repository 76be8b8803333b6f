#if PostgreSQL
internal import Sluice

/// The outcomes of ended attempts until the server has them, in the order in which they are to be sent.
struct Outcomes {
    struct Outcome: Sendable {
        let action: ClaimedAction
        let settlement: Settlement
        /// Whether a call with it may have been executed, though its answer was lost.
        var wasSent = false
        /// Another transaction has the queue: a later call has to settle it.
        var isBusy = false
        /// `nil` for an action that is given back without having been started.
        let finish: (@Sendable (Answer) -> Void)?
    }

    struct Answer: Sendable {
        /// `nil`: it was not written.
        let result: SettleResult?
        var next: (action: ClaimedAction, route: Route)?
    }

    /// How many go into one call at most.
    static let mostInCall = 500

    private(set) var waiting: [Outcome] = []

    var isEmpty: Bool { waiting.isEmpty }

    /// Whether a call that is sent at once could settle nothing that the last one could not.
    var allAreBusy: Bool { waiting.allSatisfy(\.isBusy) }

    mutating func add(_ outcome: Outcome) { waiting.append(outcome) }

    mutating func takeForCall() -> [Outcome] {
        let taken = Array(waiting.prefix(Self.mostInCall))
        waiting.removeFirst(taken.count)
        return taken
    }

    /// Keeps those of a failed call for the next one.
    mutating func putBack(_ outcomes: [Outcome], wereSent: Bool) {
        let sent = outcomes.map { outcome in
            var outcome = outcome
            outcome.wasSent = outcome.wasSent || wereSent
            return outcome
        }
        waiting.insert(contentsOf: sent, at: 0)
    }

    /// Keeps those whose queue another transaction has for later calls, behind others that may go through.
    mutating func putOff(_ outcomes: [Outcome]) {
        for var outcome in outcomes {
            outcome.isBusy = true
            waiting.append(outcome)
        }
    }

    mutating func remove(where isLeft: (Outcome) -> Bool) -> [Outcome] {
        let removed = waiting.filter(isLeft)
        waiting.removeAll(where: isLeft)
        return removed
    }

    /// A claim that is gone may be gone by another's act, though the outcome was sent.
    mutating func forgetSending() {
        for index in waiting.indices { waiting[index].wasSent = false }
    }
}
#endif
