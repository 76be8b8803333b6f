internal import DequeModule

/// Counts the runs of routes with a limit, and keeps the queues that wait for a permit.
struct RouteLines {
    private var runs: [Int64: RouteID] = [:]
    private var counts: [RouteID: Int] = [:]
    /// Runs whose outcomes are being written; they count in `counts` too.
    private var ending: [Int64: RouteID] = [:]
    private var endingCounts: [RouteID: Int] = [:]
    /// The queues that wait for a permit; `members` has the same, so that none is in a line twice.
    private var lines: [RouteID: (limit: Int, queues: Deque<QueueID>, members: Set<QueueID>)] = [:]
    /// Queues that were called from a line, until their claim ends.
    private var called: [QueueID: RouteID] = [:]

    mutating func began(_ claim: Int64, of route: RouteID) {
        runs[claim] = route
        counts[route, default: 0] += 1
    }

    /// Records that a run's outcome is written, with a claim that may use its permit; returns the route.
    mutating func ends(_ claim: Int64) -> RouteID? {
        guard !runs.isEmpty, let route = runs.removeValue(forKey: claim) else { return nil }
        ending[claim] = route
        endingCounts[route, default: 0] += 1
        return route
    }

    /// Records that a run's outcome was written, or never will be; returns its route.
    mutating func ended(_ claim: Int64) -> RouteID? {
        guard !ending.isEmpty, let route = ending.removeValue(forKey: claim) else { return nil }
        Self.subtract(route, from: &endingCounts)
        Self.subtract(route, from: &counts)
        return route
    }

    /// Adds a queue to the line of a route; returns `false` if no end of a run would call it from there.
    mutating func enqueue(_ queue: QueueID, for route: RouteID, limit: Int) -> Bool {
        let wasCalled = called[queue] == route
        if wasCalled { called[queue] = nil }
        guard counts[route, default: 0] >= limit else { return false }
        guard lines[route, default: (limit, [], [])].members.insert(queue).inserted else { return true }
        lines[route]?.limit = limit
        // A queue that was called returns to its place.
        if wasCalled { lines[route]?.queues.prepend(queue) } else { lines[route]?.queues.append(queue) }
        return true
    }

    /// Removes and returns the next in the line of a route, unless the claims of those called before fill it.
    mutating func next(for route: RouteID) -> QueueID? {
        guard let limit = lines[route]?.limit, lines[route]?.queues.isEmpty == false else { return nil }
        let promised = called.values.count { $0 == route }
        let taken = counts[route, default: 0] - endingCounts[route, default: 0] + promised
        guard taken < limit, let queue = lines[route]?.queues.popFirst() else { return nil }
        lines[route]?.members.remove(queue)
        if lines[route]?.queues.isEmpty == true { lines[route] = nil }
        return queue
    }

    /// Calls a queue for a route, until its claim ends.
    mutating func call(_ queue: QueueID, for route: RouteID) { called[queue] = route }

    /// Keeps nothing of a route that does not run: routes come and go while the broker runs.
    private static func subtract(_ route: RouteID, from counts: inout [RouteID: Int]) {
        counts[route, default: 0] -= 1
        if counts[route] == 0 { counts[route] = nil }
    }

    /// Ends the call of a queue when its claim ends, and returns the route that it was called for.
    mutating func endCall(of queue: QueueID) -> RouteID? {
        called.isEmpty ? nil : called.removeValue(forKey: queue)
    }
}
