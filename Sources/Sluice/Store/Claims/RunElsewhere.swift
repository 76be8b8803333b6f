/// Queues that other processes were lately seen to run.
///
/// Where one has no route here, it has one there, and waits for its turn: that is not what keeps the queue
/// from moving, and not to be shown as such (G15).
struct RunElsewhere {
    /// For how long such a queue counts, if the other goes on: what is no longer run is shown then, when it
    /// is asked for next.
    static let memory: Duration = .seconds(30)
    /// The most that are remembered; of more, some are shown as without a route between two runs.
    static let limit = 4_096

    private var lastSeen: [QueueID: Duration] = [:]
    /// The epochs of the other processes when it was last used.
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

    /// The queues of a process that has ended may have no route any more.
    private mutating func keepUp(with others: [Int64]) {
        guard others != self.others else { return }
        if self.others.contains(where: { !others.contains($0) }) { lastSeen.removeAll() }
        self.others = others
    }
}
