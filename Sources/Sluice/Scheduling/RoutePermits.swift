internal import DequeModule

/// The number of a route in its broker.
package struct RouteID: Hashable, Sendable {
    package let rawValue: Int

    package init(rawValue: Int) {
        self.rawValue = rawValue
    }
}

/// The permits of routes that have a cap of their own, and the queues that wait for one.
struct RoutePermits {
    private var held: [QueueID: RouteID] = [:]
    private var inUse: [RouteID: Int] = [:]
    private var limits: [RouteID: Int] = [:]
    private var lines: [RouteID: Deque<QueueID>] = [:]
    /// Who stands in a line, so that a queue stands there once.
    private var standing: Set<Place> = []

    private struct Place: Hashable {
        let queue: QueueID
        let route: RouteID
    }

    /// Takes a permit for a queue's head.
    ///
    /// Routes without a limit always have one.
    mutating func take(_ route: RouteID, limit: Int?, for queue: QueueID) -> Bool {
        guard let limit else { return true }
        limits[route] = limit
        guard inUse[route, default: 0] < limit else { return false }
        inUse[route, default: 0] += 1
        held[queue] = route
        return true
    }

    /// Gives the permit of a queue back, if it holds one, and tells of which route.
    @discardableResult
    mutating func release(_ queue: QueueID) -> RouteID? {
        guard let route = held.removeValue(forKey: queue) else { return nil }
        inUse[route, default: 0] -= 1
        return route
    }

    /// Puts a queue into the line of a route, unless a permit is free by now.
    mutating func enqueue(_ queue: QueueID, for route: RouteID) -> Bool {
        guard inUse[route, default: 0] >= limits[route] ?? .max else { return false }
        if standing.insert(Place(queue: queue, route: route)).inserted {
            lines[route, default: []].append(queue)
        }
        return true
    }

    mutating func dequeue(for route: RouteID) -> QueueID? {
        guard let queue = lines[route]?.popFirst() else { return nil }
        standing.remove(Place(queue: queue, route: route))
        return queue
    }
}
