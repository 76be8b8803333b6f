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
    /// Those of queues with several slots, by the claim.
    private var handedOver: [Int64: RouteID] = [:]
    private var inUse: [RouteID: Int] = [:]
    private var limits: [RouteID: Int] = [:]
    private var lines: [RouteID: Deque<QueueID>] = [:]
    /// Queues that were called from a line, until their claim ends.
    ///
    /// A permit is kept for each, so that no newcomer takes it before.
    private var called: [QueueID: RouteID] = [:]
    private var kept: [RouteID: Int] = [:]
    /// Who stands in a line, so that a queue stands there once.
    private var standing: Set<Place> = []

    private struct Place: Hashable {
        let queue: QueueID
        let route: RouteID
    }

    /// Takes a permit for a queue's head.
    ///
    /// Routes without a limit always have one.
    ///
    /// - Parameter isAlone: Nothing else runs: those who were called for a permit come after it.
    mutating func take(_ route: RouteID, limit: Int?, for queue: QueueID, isAlone: Bool = false) -> Bool {
        guard let limit else { return true }
        limits[route] = limit
        let isCalled = called[queue] == route
        if isCalled { endCall(of: queue) }
        guard isCalled || isAlone ? inUse[route, default: 0] < limit : isFree(route) else { return false }
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

    /// Leaves the permit of a queue to a run of it, so that the queue may take another.
    mutating func handOver(_ queue: QueueID, to claim: Int64) {
        if let route = held.removeValue(forKey: queue) { handedOver[claim] = route }
    }

    /// Gives the permit of a run back, if it was left one, and tells of which route.
    mutating func release(claim: Int64) -> RouteID? {
        guard let route = handedOver.removeValue(forKey: claim) else { return nil }
        inUse[route, default: 0] -= 1
        return route
    }

    /// Whether there is a permit that is neither in use nor kept.
    func isFree(_ route: RouteID) -> Bool {
        inUse[route, default: 0] + kept[route, default: 0] < limits[route] ?? .max
    }

    /// Puts a queue into the line of a route, unless a permit is free by now.
    mutating func enqueue(_ queue: QueueID, for route: RouteID) -> Bool {
        guard !isFree(route) else { return false }
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

    /// Whether a queue may stand in the line of a route.
    var hasLines: Bool { !standing.isEmpty }

    /// Keeps a free permit of a route for a queue until its next claim ends.
    mutating func call(_ queue: QueueID, for route: RouteID) {
        endCall(of: queue)
        called[queue] = route
        kept[route, default: 0] += 1
    }

    /// No longer keeps a permit for a queue; tells of which route, if it has not taken it.
    @discardableResult
    mutating func endCall(of queue: QueueID) -> RouteID? {
        guard let route = called.removeValue(forKey: queue) else { return nil }
        kept[route, default: 0] -= 1
        return route
    }
}
