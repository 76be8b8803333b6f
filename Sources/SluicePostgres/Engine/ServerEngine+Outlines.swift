#if PostgreSQL
package import Sluice

/// A payload that is not selected is neither read nor sent.
extension ServerEngine {
    package func actionOutlines(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionOutline] {
        let times = ["next_attempt_at", "not_before", "running_since", "enqueued_at"]
            .map { "\(microseconds($0)) AS \($0)" }.joined(separator: ", ")
        let rows = try await read(
            "reading actions",
            "SELECT id, kind, attempts, last_error, \(times) FROM @sluice_summaries($1, $2)",
            [form.rawValue, "\(min(limit, Int(Int32.max)))"]
        )
        return rows.map { row in
            ActionOutline(
                id: ActionID(rawValue: row.integer("id") ?? 0),
                kind: row.text("kind"),
                attempts: Int(row.integer("attempts") ?? 0),
                runningSince: row.time("running_since")?.date,
                nextAttemptAt: row.time("next_attempt_at")?.date,
                notBefore: row.time("not_before")?.date,
                enqueuedAt: row.date("enqueued_at"),
                lastError: row["last_error"]
            )
        }
    }

    package func deadLetterOutlines(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline] {
        let rows = try await read(
            "reading dead letters",
            """
            SELECT action, queue, kind, why, error, attempts, \(microseconds("died_at")) AS died_at
            FROM @sluice_dead_letters($1, $2, $3, $4, $5)
            """,
            [
                filter.form.rawValue, filter.cause?.rawValue, last?.diedAt.postgresText,
                last.map { "\($0.id)" }, "\(min(limit, Int(Int32.max)))",
            ]
        )
        return rows.map(Self.outline)
    }

    private static func outline(_ row: PostgresRows.Row) -> DeadLetterOutline {
        DeadLetterOutline(
            id: ActionID(rawValue: row.integer("action") ?? 0),
            queue: QueueName(row.text("queue")),
            kind: row.text("kind"),
            cause: FailureCause(rawValue: row.text("why")) ?? .failed,
            error: row.text("error"),
            attempts: Int(row.integer("attempts") ?? 0),
            diedAt: row.date("died_at")
        )
    }
}
#endif
