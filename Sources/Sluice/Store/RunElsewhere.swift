internal import SQLite

/// Queues that other processes were lately seen to run.
///
/// Where the head of one has no route here, it has one there, and waits for its turn: that is not what keeps
/// the queue from moving, and not to be shown as such (G15).
struct RunElsewhere {
    /// For how long such a queue counts: what is no longer run is shown then, when it is asked for next.
    static let memory = PrimaryPlan.tenure
    /// The most that are remembered; of more, some are shown as without a route between two runs.
    static let limit = 4_096

    private var lastSeen: [QueueID: Duration] = [:]

    mutating func saw(_ queue: QueueID, at uptime: Duration) {
        // All at once, so that no call takes long.
        if lastSeen.count >= Self.limit, lastSeen[queue] == nil { lastSeen.removeAll() }
        lastSeen[queue] = uptime
    }

    func contains(_ queue: QueueID, at uptime: Duration) -> Bool {
        lastSeen[queue].map { uptime - $0 < Self.memory } ?? false
    }
}

extension WriteTransaction {
    /// Notes that the head of a queue has no route, unless another process has one.
    func noteUnroutable(_ row: HeadRow, hasRoute: Bool, in queue: QueueID, _ turn: Turn) throws {
        if try hasRouteElsewhere(row.head.action, of: queue) { return }
        try note(hasRoute ? "unknown kind" : "no route", nil, of: row, in: queue, turn)
    }

    /// Whether another process was lately seen to run the queue, or has tried the action and goes on running
    /// queues.
    private func hasRouteElsewhere(_ action: ActionID, of queue: QueueID) throws(SQLiteError) -> Bool {
        guard let epoch, !others.isEmpty else { return false }
        if runElsewhere.contains(queue, at: uptime) { return true }
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
