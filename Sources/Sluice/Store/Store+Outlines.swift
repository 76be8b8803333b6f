internal import SluiceSQLite

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

extension Store {
    func actionOutlines(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionOutline] {
        try await read { connection in
            try OrderReader(connection: connection).actions(form, limit: limit).compactMap { action in
                try connection.cached(
                    """
                    SELECT id, kind, attempts, running_since, next_attempt_at, not_before, enqueued_at,
                           last_error FROM sluice_actions WHERE id = ?1
                    """
                ).bind(1, action.rawValue).first {
                    var columns = $0.columns
                    return ActionOutline(
                        id: ActionID(rawValue: columns.int64()),
                        kind: columns.text(),
                        attempts: columns.count(),
                        runningSince: columns.date(),
                        nextAttemptAt: columns.date(),
                        notBefore: columns.date(),
                        enqueuedAt: columns.date() ?? .distantPast,
                        lastError: columns.optionalText()
                    )
                }
            }
        }
    }

    func deadLetterOutlines(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetterOutline] {
        let (first, end) = filter.form.bounds
        return try await read { connection in
            try connection.cached(
                """
                SELECT d.id, q.name, d.kind, d.cause, d.error, d.attempts, d.died_at_us
                FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
                WHERE q.name >= ?1 AND (?2 IS NULL OR q.name < ?2) AND (?3 IS NULL OR d.cause = ?3)
                  AND (?4 IS NULL OR (d.died_at_us, d.id) < (?4, ?5))
                ORDER BY d.died_at_us DESC, d.id DESC LIMIT ?6
                """
            ).bind(1, first).bind(2, end).bind(3, filter.cause?.rawValue)
                .bind(4, last?.diedAt.microseconds).bind(5, last?.id.rawValue)
                .bind(6, limit).all(DeadLetterOutline.init)
        }
    }
}

extension DeadLetterOutline {
    fileprivate init(_ row: Row) {
        self.init(
            id: ActionID(rawValue: row.int64(0)),
            queue: QueueName(row.text(1)),
            kind: row.text(2),
            // The table's CHECK admits no other cause.
            cause: FailureCause(rawValue: row.text(3)) ?? .failed,
            error: row.text(4),
            attempts: row.count(5),
            diedAt: Timestamp(microseconds: row.int64(6)).date
        )
    }
}
