/// The number of a route in its broker.
package struct RouteID: Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) { self.rawValue = rawValue }
}

/// What a claim needs to know of its broker to decide whether a head may run: the routes and the rules of
/// queues, as they were when the claim was ordered.
package final class Admission: Sendable {
    /// What a route asks of a head.
    package struct Route: Sendable {
        let id: RouteID
        /// How many of its handlers run at the same time at most; `nil`: as many as the broker allows.
        let concurrency: Int?
        /// Gates that must be open.
        let gates: [GateName]
        /// After so many deaths of the process while an action ran alone, it is not run again.
        let crashLimit: Int
        let failure: FailurePolicies
    }

    private let routes: PatternTable<[String?: Route]>
    /// The options of all queues.
    let queues: QueueTable

    init(routes: PatternTable<[String?: Route]>, queues: QueueTable) {
        (self.routes, self.queues) = (routes, queues)
    }

    /// One with a route for one kind, or for any, in all queues.
    package convenience init(
        kind: String? = nil,
        concurrency: Int? = nil,
        gates: [GateName] = [],
        crashLimit: Int = .max,
        failure: FailurePolicies = FailurePolicies(),
        queues: QueueTable = QueueTable()
    ) {
        let route = Route(
            id: RouteID(rawValue: 0),
            concurrency: concurrency,
            gates: gates,
            crashLimit: crashLimit,
            failure: failure
        )
        var routes = PatternTable<[String?: Route]>()
        routes[.prefix([])] = [kind: route]
        self.init(routes: routes, queues: queues)
    }

    /// The route for an action; of several, that of the most specific pattern.
    ///
    /// - Returns: Without a route for the kind, whether any pattern matches the queue.
    func route(for queue: QueueName, kind: String) -> (route: Route?, matchesQueue: Bool) {
        var matchesQueue = false
        for routes in routes.matches(queue) {
            matchesQueue = true
            if let route = routes[kind] ?? routes[nil] { return (route, true) }
        }
        return (nil, matchesQueue)
    }

    /// The policy for what expires of a kind in a queue.
    func expiryPolicy(in queue: QueueName, of kind: String) -> FailurePolicy {
        (route(for: queue, kind: kind).route?.failure ?? FailurePolicies()).expired
    }
}

/// What a claim is to do with a head that ran when its process died (``CrashTrial``).
package enum TrialRule: Hashable, Sendable {
    /// Such heads start beside others.
    case none
    /// Such a head waits for its trial.
    case waits
    /// The queue's head is tried, together with those of `size` - 1 other queues.
    case tries(size: Int)
}

/// How many runs of this process the routes have that limit them.
///
/// A run counts from its claim until its outcome is written or refused.
struct RouteUse {
    private var counts: [RouteID: Int] = [:]
    private var routes: [Int64: RouteID] = [:]
    /// What the open transaction has changed: claims that came, and those that went.
    private var (came, went): ([Int64], [(claim: Int64, route: RouteID)]) = ([], [])

    func isFree(_ route: Admission.Route) -> Bool {
        guard let limit = route.concurrency else { return true }
        return counts[route.id, default: 0] < limit
    }

    /// A run has been claimed.
    mutating func begin(_ claim: Int64, of route: Admission.Route) {
        guard route.concurrency != nil else { return }
        add(claim, route.id)
        came.append(claim)
    }

    /// A run has come to its end.
    mutating func end(_ claim: Int64) {
        guard !routes.isEmpty, let route = remove(claim) else { return }
        went.append((claim, route))
    }

    mutating func committed() {
        if !came.isEmpty { came.removeAll() }
        if !went.isEmpty { went.removeAll() }
    }

    mutating func rolledBack() {
        for (claim, route) in went { add(claim, route) }
        for claim in came { _ = remove(claim) }
        committed()
    }

    private mutating func add(_ claim: Int64, _ route: RouteID) {
        routes[claim] = route
        counts[route, default: 0] += 1
    }

    private mutating func remove(_ claim: Int64) -> RouteID? {
        guard let route = routes.removeValue(forKey: claim) else { return nil }
        counts[route, default: 0] -= 1
        return route
    }
}
