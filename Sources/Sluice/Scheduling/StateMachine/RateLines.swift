/// Keeps the queues that wait for rate limits.
///
/// One queue has the turn at each limit. It waits for the time of the next start, and the others wait for the
/// turn. When it has started, the next one gets the turn and is claimed: it starts too if the limit allows
/// that, or waits for the new time. So a burst starts at once, and of many queues one is claimed at a time.
struct RateLines {
    private struct Line {
        var turn: QueueID?
        var queues = QueueLine()
    }

    /// By the first route that has the limit.
    private var lines: [RouteID: Line] = [:]
    /// The limit at which a queue has the turn.
    private var turns: [QueueID: RouteID] = [:]

    /// Records that a limit refuses a queue; returns whether the queue has the turn.
    mutating func refused(_ queue: QueueID, by limit: RouteID) -> Bool {
        guard let turn = lines[limit]?.turn, turn != queue else {
            give(queue, at: limit)
            return true
        }
        lines[limit]?.queues.append(queue)
        return false
    }

    /// Ends the turn of a queue, and returns at which limit it was.
    mutating func endTurn(of queue: QueueID) -> RouteID? {
        guard !turns.isEmpty, let limit = turns.removeValue(forKey: queue) else { return nil }
        lines[limit]?.turn = nil
        return limit
    }

    /// Removes and returns the next queue in line, which may wait for something else now.
    mutating func next(at limit: RouteID) -> QueueID? { lines[limit]?.queues.popFirst() }

    /// Gives the turn to a queue that has no other.
    mutating func give(_ queue: QueueID, at limit: RouteID) {
        lines[limit, default: Line()].turn = queue
        turns[queue] = limit
    }

    var queuesWithTurn: [QueueID] { Array(turns.keys) }
    /// Returns the limit at which a queue has the turn.
    func turn(of queue: QueueID) -> RouteID? { turns.isEmpty ? nil : turns[queue] }
}
