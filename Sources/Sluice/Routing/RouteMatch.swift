/// The route of a head, if there is one.
enum RouteMatch: Sendable {
    case route(Route)
    /// There is no route; `hasRoute` says whether the queue has one for other kinds.
    case unroutable(hasRoute: Bool)
}
