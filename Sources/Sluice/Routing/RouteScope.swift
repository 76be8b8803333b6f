/// The queues of a route.
package enum RouteScope: Sendable {
    case pattern(QueuePattern)
    case predicate(@Sendable (QueueName) -> Bool)

    /// A pattern that has all of them: for a predicate `*`, as it may match any name.
    var pattern: QueuePattern {
        switch self {
        case .pattern(let pattern): pattern
        case .predicate: .all
        }
    }
}
