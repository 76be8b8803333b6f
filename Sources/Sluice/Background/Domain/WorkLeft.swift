/// What queues leave to do, by what they wait for: each counts once.
package struct WorkLeft: Sendable {
    /// Queues that something keeps from moving which time alone does not end.
    package enum Obstacle: Sendable, Hashable, CaseIterable {
        case parked
        case undecodable
        /// There is a route, but none for the head's kind.
        case unknownKind
        case held
        case gate
    }

    let now: Timestamp
    /// Queues that time alone brings, now or later.
    package private(set) var dueCount = 0
    /// Queues that another process runs at the moment.
    package private(set) var elsewhereCount = 0
    private var counts: [Obstacle: Int] = [:]
    private var earliest: Timestamp?

    init(now: Timestamp) { self.now = now }

    /// How many queues have an obstacle; the first of several counts.
    package func count(_ obstacle: Obstacle) -> Int { counts[obstacle] ?? 0 }

    /// What is left to do by itself.
    package var next: RemainingWork {
        guard let earliest else { return .none }
        return earliest > now ? .later(earliest - now) : .now
    }

    /// Takes in a queue that another process runs.
    mutating func countElsewhere() { elsewhereCount += 1 }

    /// Takes in a queue of which something runs here.
    mutating func countRunning() {
        dueCount += 1
        earliest = now
    }

    /// Takes in a queue and why it does not move.
    mutating func count(_ facts: QueueFacts, _ because: [Because], _ routing: RouteMatch) {
        // What is for another handler is not this one's to count.
        if case .unroutable(hasRoute: false) = routing { return }
        switch outlook(because, end(of: facts, routing)) {
        case .obstacle(let obstacle): counts[obstacle, default: 0] += 1
        case .due(let time):
            dueCount += 1
            earliest = min(earliest ?? time, time)
        }
    }

    /// Takes what has not been read to hold work.
    mutating func stopReading() { earliest = now }

    private enum Outlook {
        case due(Timestamp)
        case obstacle(Obstacle)
    }

    /// When the head's time is over, if what stands behind it goes on then.
    private func end(of facts: QueueFacts, _ routing: RouteMatch) -> Timestamp? {
        guard case .route(let route) = routing, route.options.failure.expired != .block else { return nil }
        return facts.expiresAt
    }

    /// When all that keeps a queue from moving has ended by itself, or what will not.
    private func outlook(_ because: [Because], _ end: Timestamp?) -> Outlook {
        // When the queue may move, and when its head may or goes; `nil` is never.
        var (time, head): (Timestamp, Timestamp?) = (now, now)
        for reason in because {
            switch reason {
            case .running, .ready, .permit, .locked, .refused, .handlersBlocked, .owned, .stopped: break
            case .parked: return .obstacle(.parked)
            case .undecodable: return .obstacle(.undecodable)
            case .unknownKind, .noRoute: return .obstacle(.unknownKind)
            case .held(_, _, nil): return .obstacle(.held)
            case .held(_, _, let until?), .scheduled(let until): time = max(time, Timestamp(until))
            case .retry(let until): head = head.map { max($0, Timestamp(until)) }
            case .gate: head = nil
            }
        }
        if let end, (head ?? end) >= end { head = end }
        guard let head else { return .obstacle(.gate) }
        return .due(max(time, head))
    }
}
