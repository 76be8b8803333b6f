/// What a claim needs to know of its broker to decide whether a head may run: the routes and the rules of
/// queues, as they were when the claim was ordered.
package final class Admission: Sendable {
    /// What a route asks of a head.
    package struct Entry: Sendable {
        let id: RouteID
        /// How many of its handlers run at the same time at most; `nil`: as many as the broker allows.
        let concurrency: Int?
        /// Gates that must be open.
        let gates: [GateName]
        /// After so many deaths of the process while an action ran alone, it is not run again.
        let crashLimit: Int
        let failure: FailurePolicies
    }

    private let routes: PatternTable<[String?: Entry]>
    /// The options of all queues.
    let queues: QueueTable

    init(routes: PatternTable<[String?: Entry]>, queues: QueueTable) {
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
        let route = Entry(
            id: RouteID(rawValue: 0),
            concurrency: concurrency,
            gates: gates,
            crashLimit: crashLimit,
            failure: failure
        )
        var routes = PatternTable<[String?: Entry]>()
        routes[.prefix([])] = [kind: route]
        self.init(routes: routes, queues: queues)
    }

    /// The route for an action; of several, that of the most specific pattern.
    ///
    /// - Returns: Without a route for the kind, whether any pattern matches the queue.
    func route(for queue: QueueName, kind: String) -> (route: Entry?, matchesQueue: Bool) {
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
