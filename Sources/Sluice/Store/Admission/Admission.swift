/// The routes and the rules of queues at the time of a claim, by which it decides whether a head may run.
package final class Admission: Sendable {
    /// A class, since each claim takes the entry of its route.
    package final class Entry: Sendable {
        let id: RouteID
        /// The most of its handlers that run at the same time; `nil` for the broker's limit.
        let concurrency: Int?
        let gates: [GateName]
        /// After this many deaths of the process while an action ran alone, it is not run again.
        let crashLimit: Int
        let failure: FailurePolicies
        let rate: Rate?

        init(
            id: RouteID,
            concurrency: Int?,
            gates: [GateName],
            crashLimit: Int,
            failure: FailurePolicies,
            rate: Rate? = nil
        ) {
            (self.id, self.concurrency, self.gates) = (id, concurrency, gates)
            (self.crashLimit, self.failure, self.rate) = (crashLimit, failure, rate)
        }
    }

    /// A route's rate limit.
    package struct Rate: Sendable {
        let name: String
        /// Identifies the line of the queues that wait for the limit.
        let line: RouteID
        /// The time between two starts.
        let interval: Duration
        /// How far ahead of now the limit's time may be when an action starts.
        let tolerance: Duration

        package init(name: String, line: RouteID, interval: Duration, burst: Int) {
            (self.name, self.line, self.interval) = (name, line, interval)
            tolerance = interval * (burst - 1)
        }

        /// The time that the file has for the limit, or less if the wall clock was set back since (G8).
        func bounded(_ stored: Timestamp, at now: Timestamp) -> Timestamp {
            // No start sets it further ahead.
            min(stored, now + tolerance + interval)
        }

        /// When the next start is allowed, if the file has that time for the limit.
        func nextStart(_ stored: Timestamp, at now: Timestamp) -> Timestamp {
            bounded(stored, at: now) + (Duration.zero - tolerance)
        }
    }

    /// The routes of one predicate.
    struct Choice: Sendable {
        /// Called while a transaction is open, so it must be pure and quick.
        let matches: @Sendable (QueueName) -> Bool
        var kinds: [String?: Entry]
    }

    private let routes: PatternTable<[String?: Entry]>
    /// Asked in this order, after all patterns.
    private let choices: [Choice]
    let queues: QueueTable

    init(routes: PatternTable<[String?: Entry]>, choices: [Choice] = [], queues: QueueTable) {
        (self.routes, self.choices, self.queues) = (routes, choices, queues)
    }

    /// Creates an admission with one route, for one kind or for any, in all queues.
    package convenience init(
        kind: String? = nil,
        concurrency: Int? = nil,
        gates: [GateName] = [],
        crashLimit: Int = .max,
        failure: FailurePolicies = FailurePolicies(),
        rate: Rate? = nil,
        queues: QueueTable = QueueTable()
    ) {
        let route = Entry(
            id: RouteID(rawValue: 0),
            concurrency: concurrency,
            gates: gates,
            crashLimit: crashLimit,
            failure: failure,
            rate: rate
        )
        var routes = PatternTable<[String?: Entry]>()
        routes[.prefix([])] = [kind: route]
        self.init(routes: routes, queues: queues)
    }

    /// Returns the route for an action; of several, that of the most specific pattern.
    ///
    /// If there is no route for the kind, returns whether any pattern or predicate matches the queue.
    func route(for queue: QueueName, kind: String) -> (route: Entry?, matchesQueue: Bool) {
        var matchesQueue = false
        let route = routes.firstMatch(of: queue) { kinds in
            matchesQueue = true
            return kinds[kind] ?? kinds[nil]
        }
        if let route { return (route, true) }
        for choice in choices where choice.matches(queue) {
            matchesQueue = true
            if let route = choice.kinds[kind] ?? choice.kinds[nil] { return (route, true) }
        }
        return (nil, matchesQueue)
    }

    /// Returns all routes for an action, the most specific first; at one pattern, that of any kind is last.
    func routeIDs(for queue: QueueName, kind: String) -> [RouteID] {
        let kinds = routes.matches(queue) + choices.filter { $0.matches(queue) }.map(\.kinds)
        return kinds.flatMap { [$0[kind], $0[nil]].compactMap { $0?.id } }
    }

    func expiryPolicy(in queue: QueueName, of kind: String) -> FailurePolicy {
        (route(for: queue, kind: kind).route?.failure ?? FailurePolicies()).expired
    }
}
