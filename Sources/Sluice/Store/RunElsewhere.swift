internal import SluiceSQLite

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

extension Claims {
    /// Notes that the head of a queue has no route, unless another process has one.
    func noteUnroutable(_ row: HeadRow, hasRoute: Bool, in queue: QueueID, _ turn: Turn) throws {
        // Who has a route for the queue need not have one for each kind.
        if !hasRoute, !core.others.isEmpty, runElsewhere.contains(queue, at: core.uptime, among: core.others)
        {
            return
        }
        if try wasTriedElsewhere(row.head.action) { return }
        try blocks.noteBlock(hasRoute ? "unknown kind" : "no route", nil, of: row, in: queue, turn)
    }

    /// Forgets that the head had no route, where something else keeps it by now.
    func forgetNote(of row: HeadRow, in queue: QueueID) throws {
        guard row.blockedBy == "unknown kind" || row.blockedBy == "no route" else { return }
        try blocks.unblock(queue)
    }

    /// Whether another process that runs the queues has tried the action.
    private func wasTriedElsewhere(_ action: ActionID) throws(SQLiteError) -> Bool {
        guard let epoch = core.epoch, !core.others.isEmpty else { return false }
        return try connection.cached(
            """
            SELECT 1 FROM sluice_attempt_rows
            WHERE action_id = ?1
              AND claim >> 32 IN (SELECT epoch FROM sluice_runner_rows WHERE epoch <> ?2)
            LIMIT 1
            """
        )
        .bind(1, action.rawValue).bind(2, epoch).hasRow()
    }
}
