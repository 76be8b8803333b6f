#if PostgreSQL
internal import Sluice

/// The outcomes of ended attempts until the server has them, in the order in which they are to be sent.
struct Outcomes {
    struct Outcome: Sendable {
        let action: ClaimedAction
        var settlement: Settlement
        /// Whether a call with it may have settled its claim, though the answer was lost.
        var wasSent = false
        /// Another transaction has the queue: a later call has to settle it.
        var isBusy = false
        /// The server has refused the data of the attempt's own outcome, and gets this one in its place.
        var isReplaced = false
        /// `nil` for an action that is given back without having been started.
        let finish: (@Sendable (Answer) -> Void)?
    }

    struct Answer: Sendable {
        /// `nil`: it was not written.
        let result: SettleResult?
        /// The settlement written in place of the attempt's own outcome.
        var replacement: Settlement?
        var next: (action: ClaimedAction, route: Route)?
    }

    /// How many go into one call at most.
    static let mostInCall = 500

    private(set) var waiting: [Outcome] = []

    /// How many go into the next call; fewer after one that was refused for the data of one of them.
    private var limit = Self.mostInCall

    var isEmpty: Bool { waiting.isEmpty }

    /// Whether a call that is sent at once could settle nothing that the last one could not.
    var allAreBusy: Bool { waiting.allSatisfy(\.isBusy) }

    mutating func add(_ outcome: Outcome) { waiting.append(outcome) }

    mutating func takeForCall() -> [Outcome] {
        let taken = Array(waiting.prefix(limit))
        waiting.removeFirst(taken.count)
        return taken
    }

    /// After a call with some of them that was refused for its data: half of them are tried.
    mutating func narrow(_ count: Int) { limit = max(count / 2, 1) }

    mutating func widen() { limit = min(limit * 2, Self.mostInCall) }

    /// Gives the first one, whose data the server does not take, another end.
    ///
    /// - Returns: The outcome, which is removed, if it had another end already.
    mutating func replaceFirst(_ settlement: Settlement) -> Outcome? {
        guard let first = waiting.first else { return nil }
        if first.isReplaced { return waiting.removeFirst() }
        (waiting[0].settlement, waiting[0].isReplaced) = (settlement, true)
        return nil
    }

    /// Keeps those of a failed call for the next one.
    ///
    /// - Parameter worker: Who has made the call, if it may have been executed. It settles nothing that this
    ///   process had claimed as an earlier worker, before that was taken off.
    mutating func putBack(_ outcomes: [Outcome], mayBeSettledBy worker: Int64?) {
        let sent = outcomes.map { outcome in
            var outcome = outcome
            if outcome.action.worker == worker { outcome.wasSent = true }
            if worker != nil, mutant("server earlier claim") { outcome.wasSent = true }
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
