#if PostgreSQL
internal import Sluice

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
            cause: FailureCause(rawValue: row.text("why")) ?? .failed,
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
