/// What an engine that chooses heads elsewhere must know of a route: one for each of its kinds.
package struct RouteRegistration: Sendable, Hashable {
    package let id: RouteID
    package let pattern: QueuePattern
    /// `nil`: any kind for which the pattern has no other route.
    package let kind: String?
    package let gates: [GateName]
    /// The most of its handlers that run at the same time; `nil` for the broker's limit.
    package let concurrency: Int?
    package let crashLimit: Int
    package let failure: FailurePolicies
    package let rate: Rate?

    /// A rate limit as the store keeps it: see ``RateLimit``.
    package struct Rate: Sendable, Hashable {
        package let name: String
        package let interval: Duration
        package let tolerance: Duration
    }
}

extension RouteTable {
    /// The routes by pattern, with what a claim decides by.
    var registrations: [RouteRegistration] {
        routes.values.flatMap { route in
            route.kinds.compactMap { kind in
                guard let form = try? route.pattern.form(), let entry = entry(form, kind),
                    entry.id == route.id
                else {
                    return nil
                }
                return RouteRegistration(
                    id: route.id,
                    pattern: route.pattern,
                    kind: kind,
                    gates: entry.gates,
                    concurrency: entry.concurrency,
                    crashLimit: entry.crashLimit,
                    failure: entry.failure,
                    rate: entry.rate.map {
                        RouteRegistration.Rate(name: $0.name, interval: $0.interval, tolerance: $0.tolerance)
                    }
                )
            }
        }
    }
}
