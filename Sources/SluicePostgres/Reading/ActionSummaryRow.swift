#if PostgreSQL
internal import Sluice

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
#endif
