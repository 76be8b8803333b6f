#if PostgreSQL
internal import Sluice

/// A row of the function `sluice_action_states`.
struct ActionStateRow {
    private let row: PostgresRows.Row

    init(_ row: PostgresRows.Row) { self.row = row }

    static func sql(_ source: String) -> String {
        let times = ["at", "expires_at", "enqueued_at"].map { "\(microseconds("s.\($0)")) AS \($0)" }
        return """
            SELECT s.action, s.phase, s.cause, s.ahead, s.of_queue, s.kind, s.sort_type, \
            encode(s.sort_key, 'hex') AS sort_key, s.own_tag, s.gate, s.attempts, s.last_error, s.payload, \
            s.version, s.has_succeeded, s.trace, s.own_key, \(times.joined(separator: ", ")) \
            FROM \(source) AS s
            """
    }

    /// - Parameter end: How the action has ended, if this process knows.
    func state(reader: PayloadReader, ended end: ActionEnd?) -> ActionState {
        let id = ActionID(rawValue: row.integer("action") ?? 0)
        let at = (row.time("at") ?? Timestamp(microseconds: 0)).date
        let phase: ActionState.Phase =
            switch row.text("phase") {
            case "scheduled": .scheduled(for: at)
            case "running": .running(since: at)
            case "retrying": .retrying(at: at)
            case "parked": .parked(FailureCause(rawValue: row.text("cause")), since: at)
            case "dead": .dead(FailureCause(rawValue: row.text("cause")) ?? .failed, at: at)
            case "ended": .ended(end ?? (row.flag("has_succeeded") ? .succeeded : .unknown))
            default: .waiting
            }
        guard let queue = row["of_queue"] else { return ActionState(id: id, phase: phase, details: nil) }
        return ActionState(
            id: id,
            phase: phase,
            ahead: row.integer("ahead").map { Int($0) },
            details: ActionState.Details(
                queue: QueueName(queue),
                kind: row.text("kind"),
                sortKey: row.sortKey,
                tag: row["own_tag"],
                gate: row["gate"].map { GateName($0) },
                key: row["own_key"],
                trace: row["trace"],
                expiresAt: row.time("expires_at")?.date,
                enqueuedAt: row.date("enqueued_at"),
                attempts: Int(row.integer("attempts") ?? 0),
                lastError: row["last_error"],
                stored: StoredPayload(
                    text: row.text("payload"),
                    version: Int(row.integer("version") ?? 1),
                    reader: reader
                )
            )
        )
    }
}
#endif
