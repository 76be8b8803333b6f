/// The routes at one time: a claim that was made by its admission finds its route here, even a removed one.
final class RouteSet: Sendable {
    let admission: Admission
    private let routes: [RouteID: Route]

    init(
        admission: Admission = Admission(routes: PatternTable(), queues: QueueTable()),
        routes: [RouteID: Route] = [:]
    ) {
        (self.admission, self.routes) = (admission, routes)
    }

    /// The patterns of all routes, each once.
    var patterns: [QueuePattern] { Set(routes.values.map(\.pattern)).sorted { $0.rawValue < $1.rawValue } }

    /// The patterns and kinds of all routes, for other processes to see.
    var shown: Set<ShownRoute> {
        Set(routes.values.flatMap { route in route.kinds.map { ShownRoute(route.pattern, $0) } })
    }

    func route(_ id: RouteID) -> Route? { routes[id] }

    subscript(id: RouteID) -> Route {
        guard let route = routes[id] else { preconditionFailure("a route is not of these routes") }
        return route
    }

    func route(for queue: QueueName, kind: String) -> RouteMatch {
        let (entry, matchesQueue) = admission.route(for: queue, kind: kind)
        return entry.map { RouteMatch.route(self[$0.id]) } ?? .unroutable(hasRoute: matchesQueue)
    }

    /// Returns the most specific route for an action, except routes that have been tried.
    func route(for action: ClaimedAction, after tried: Set<RouteID>) -> Route? {
        let routes = admission.routeIDs(for: action.queue, kind: action.kind)
        return routes.first { !tried.contains($0) }.map { self[$0] }
    }
}
