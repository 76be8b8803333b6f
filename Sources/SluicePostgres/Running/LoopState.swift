#if PostgreSQL
internal import Sluice

/// What the loop of a worker knows, under its lock.
struct LoopState {
    enum Phase: Sendable { case idle, running, stopping }

    var phase = Phase.idle
    /// A stop does not wait for the server: what it cannot be told is left to the next worker.
    var givesUp = false
    var outcomes = Outcomes()
    /// The routes of the claims whose outcome the server does not have, by claim.
    var held: [Int64: RouteID] = [:]
    /// Attempts whose outcome the server has, and of whose end the runner does not know yet.
    var reporting = 0
    var timers: [Int64: Task<Void, Never>] = [:]
    /// How often routes have changed, and at which change the server has got them.
    var routeChanges = 1
    var sentRoutes = 0
    var isKicked = false
    var sleeper: CheckedContinuation<Void, Never>?
    /// The actions of claims, until this process knows how their attempts have ended.
    var active: [Int64: ActionID] = [:]
    var slots = QueueSlots()
    var ends = EndedActions()
    /// Why calls fail, after some in a row that did.
    var refusal: (error: String, since: Timestamp)?

    /// Whether no handler runs, and the server has all outcomes.
    var isAtRest: Bool { held.isEmpty && outcomes.isEmpty && reporting == 0 }

    /// Returns the outcomes for the next call, and how many actions may start then.
    ///
    /// - Parameters:
    ///   - most: How many may run, of all routes.
    ///   - limits: How many may run of each route that has a limit.
    mutating func takeForCall(
        _ most: Int,
        _ limits: [(RouteID, Int)]
    ) -> (outcomes: [Outcomes.Outcome], free: Int, permits: [(route: RouteID, count: Int)]) {
        let taken = outcomes.takeForCall()
        var held = held
        for outcome in taken { held[outcome.action.receipt.claim] = nil }
        let free = phase == .running ? max(most - held.count, 0) : 0
        let permits = Dictionary(limits, uniquingKeysWith: min).map { id, limit in
            (id, max(limit - held.values.count { $0 == id }, 0))
        }
        return (taken, free, permits)
    }
}
#endif
