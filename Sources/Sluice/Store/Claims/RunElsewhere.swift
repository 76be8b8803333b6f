/// Remembers queues that other processes recently ran: without a route here they are not unroutable (G15).
struct RunElsewhere {
    /// How long a queue is remembered while the other processes live; then it is shown as without a route.
    static let memory: Duration = .seconds(30)
    /// The most queues that are remembered; beyond, some are shown as without a route between two runs.
    static let limit = 4_096
    private var lastSeen: [QueueID: Duration] = [:]
    /// The epochs of the other processes at the last call.
    private var others: [Int64] = []

    mutating func saw(_ queue: QueueID, at uptime: Duration, among others: [Int64]) {
        keepUp(with: others)
        // All at once, so that no call takes long.
        if lastSeen.count >= Self.limit, lastSeen[queue] == nil { lastSeen.removeAll() }
        lastSeen[queue] = uptime
    }

    mutating func contains(_ queue: QueueID, at uptime: Duration, among others: [Int64]) -> Bool {
        keepUp(with: others)
        return lastSeen[queue].map { uptime - $0 < Self.memory } ?? false
    }

    /// Forgets all queues if a process has ended, since its queues may have no route any more.
    private mutating func keepUp(with others: [Int64]) {
        guard others != self.others else { return }
        if self.others.contains(where: { !others.contains($0) }) { lastSeen.removeAll() }
        self.others = others
    }
}
