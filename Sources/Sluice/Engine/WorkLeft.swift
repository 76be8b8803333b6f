/// The work of queues by what they wait for; each queue counts once.
package struct WorkLeft: Sendable {
    /// What time alone does not remove from a queue, in the order of the reasons: the first counts.
    package static let obstacles: [QueueStatus.State] = [.parked, .undecodable, .unknownKind, .held, .gate]

    let now: Timestamp
    /// Queues that run or will run by time alone.
    package private(set) var dueCount = 0
    /// Queues that another process runs at the moment.
    package private(set) var elsewhereCount = 0
    /// The queues of both counts; `nil` if only their number is needed.
    private(set) var queues: Set<QueueID>?
    private var counts: [QueueStatus.State: Int] = [:]
    private var earliest: Timestamp?

    init(now: Timestamp, listsQueues: Bool = false) {
        self.now = now
        if listsQueues { queues = [] }
    }

    /// Makes the work that a server has counted.
    ///
    /// - Parameter earliest: When the first queue is due; `nil` if only obstacles and others are left.
    package init(
        now: Timestamp,
        dueCount: Int,
        elsewhereCount: Int,
        earliest: Timestamp?,
        counts: [QueueStatus.State: Int]
    ) {
        self.now = now
        (self.dueCount, self.elsewhereCount) = (dueCount, elsewhereCount)
        (self.earliest, self.counts) = (earliest, counts)
    }

    /// Returns this work, with some of its due queues counted as run by another process.
    ///
    /// - Parameter count: `nil` leaves out the queues that another process runs.
    package func apart(_ count: Int?) -> WorkLeft {
        var left = self
        left.elsewhereCount = count ?? 0
        left.dueCount -= count ?? 0
        if left.dueCount == 0 { left.earliest = nil }
        return left
    }

    /// Returns how many queues have one of the ``obstacles``.
    package func count(_ obstacle: QueueStatus.State) -> Int { counts[obstacle] ?? 0 }

    /// The work that is left by time alone.
    package var next: RemainingWork {
        guard let earliest else { return .none }
        return earliest > now ? .later(earliest - now) : .now
    }

    /// Counts a queue that another process runs.
    mutating func countElsewhere(_ queue: QueueID) {
        elsewhereCount += 1
        queues?.insert(queue)
    }

    /// Counts a queue of which an action runs here.
    mutating func countRunning(_ queue: QueueID) {
        dueCount += 1
        queues?.insert(queue)
        earliest = now
    }

    /// Counts a queue by the reasons why it does not move.
    ///
    /// - Parameter rate: When the rate limit of the head's route allows the next start.
    mutating func count(
        _ facts: QueueFacts,
        _ because: [WaitReason],
        rate: Timestamp?,
        _ routing: RouteMatch
    ) {
        // Work for another broker's handler does not count here.
        if case .unroutable(hasRoute: false) = routing { return }
        switch outlook(because, rate: rate, end(of: facts, routing)) {
        case .obstacle(let obstacle): counts[obstacle, default: 0] += 1
        case .due(let time):
            dueCount += 1
            queues?.insert(facts.id)
            earliest = min(earliest ?? time, time)
        }
    }

    /// Assumes that the queues that were not read have work.
    mutating func stopReading() { earliest = now }

    private enum Outlook {
        case due(Timestamp)
        case obstacle(QueueStatus.State)
    }

    /// Returns the head's expiry, if the queue continues after it.
    private func end(of facts: QueueFacts, _ routing: RouteMatch) -> Timestamp? {
        guard case .route(let route) = routing, route.options.failure.expired != .block else { return nil }
        return facts.expiresAt
    }

    /// Returns when the queue may move by time alone, or its obstacle.
    private func outlook(_ because: [WaitReason], rate: Timestamp?, _ end: Timestamp?) -> Outlook {
        // When the queue may move, and when its head may run or expires; `nil` is never.
        var (time, head): (Timestamp, Timestamp?) = (now, max(rate ?? now, now))
        for reason in because {
            switch reason {
            case .running, .ready, .permit, .locked, .refused, .handlersBlocked, .owned, .stopped: break
            case .parked: return .obstacle(.parked)
            case .undecodable: return .obstacle(.undecodable)
            case .unknownKind, .noRoute: return .obstacle(.unknownKind)
            case .held(_, _, nil): return .obstacle(.held)
            case .held(_, _, let until?), .scheduled(let until): time = max(time, Timestamp(until))
            case .retry(let until), .gate(_, let until?): head = head.map { max($0, Timestamp(until)) }
            case .gate(_, nil): head = nil
            }
        }
        if let end, (head ?? end) >= end { head = end }
        guard let head else { return .obstacle(.gate) }
        return .due(max(time, head))
    }
}
