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
            s.version, s.has_succeeded, \(times.joined(separator: ", ")) \
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
            case "dead": .dead(DeadLetterCause(rawValue: row.text("cause")) ?? .failed, at: at)
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

/// A row of the function `sluice_summaries`.
struct ActionSummaryRow {
    static let sql = """
        SELECT id, queue, sort_key, kind, payload, attempts, last_error, \
        \(["next_attempt_at", "not_before", "running_since", "enqueued_at"]
            .map { "\(microseconds($0)) AS \($0)" }.joined(separator: ", ")) \
        FROM @sluice_summaries($1, $2)
        """

    let summary: ActionSummary

    init(_ row: PostgresRows.Row) {
        summary = ActionSummary(
            id: ActionID(rawValue: row.integer("id") ?? 0),
            queue: QueueName(row.text("queue")),
            kind: row.text("kind"),
            sortKey: row["sort_key"],
            attempts: Int(row.integer("attempts") ?? 0),
            runningSince: row.time("running_since")?.date,
            nextAttemptAt: row.time("next_attempt_at")?.date,
            notBefore: row.time("not_before")?.date,
            enqueuedAt: row.date("enqueued_at"),
            lastError: row["last_error"],
            payload: row.text("payload")
        )
    }
}

/// A row of the function `sluice_dead_letters`.
struct DeadLetterRow {
    /// - Parameters:
    ///   - source: What else is read from.
    ///   - arguments: Those of the function.
    static func sql(_ source: String = "", _ arguments: String = "$1, $2, $3, $4, $5") -> String {
        """
        SELECT l.action, l.queue, l.kind, l.why, l.error, l.attempts, l.payload, l.sort_type, \
        encode(l.sort_key, 'hex') AS sort_key, l.tag, l.gate, l.version, \
        \(microseconds("l.died_at")) AS died_at, \
        \(microseconds("l.enqueued_at")) AS enqueued_at \
        FROM \(source)@sluice_dead_letters(\(arguments)) AS l
        """
    }

    let letter: DeadLetter

    init(_ row: PostgresRows.Row) {
        letter = DeadLetter(
            id: ActionID(rawValue: row.integer("action") ?? 0),
            queue: QueueName(row.text("queue")),
            kind: row.text("kind"),
            cause: DeadLetterCause(rawValue: row.text("why")) ?? .failed,
            error: row.text("error"),
            attempts: Int(row.integer("attempts") ?? 0),
            diedAt: row.date("died_at"),
            payload: row.text("payload"),
            sortKey: row.sortKey,
            tag: row["tag"],
            gate: row["gate"].map { GateName($0) },
            version: Int(row.integer("version") ?? 1),
            enqueuedAt: row.date("enqueued_at")
        )
    }
}
#endif
