internal import SluiceSQLite

extension Store {
    /// Whether an action stands in a queue.
    func isWaiting(_ action: ActionID, in queue: QueueID) async throws(SluiceError) -> Bool {
        try await read { connection in
            try connection.cached("SELECT 1 FROM sluice_action_rows WHERE id = ?1 AND queue_id = ?2")
                .bind(1, action.rawValue).bind(2, queue.rawValue).hasRow()
        }
    }

    /// Actions that wait or run, by queue and in the order in which each queue runs them.
    package func actionSummaries(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionSummary] {
        try await read { connection in
            try OrderReader(connection).actions(form, limit: limit).compactMap { action in
                try connection.cached(
                    """
                    SELECT id, queue, kind, sort_key, attempts, running_since, next_attempt_at, not_before,
                           enqueued_at, last_error, payload
                    FROM sluice_actions WHERE id = ?1
                    """
                )
                .bind(1, action.rawValue).first {
                    ActionSummary(
                        id: ActionID(rawValue: $0.int64(0)),
                        queue: QueueName($0.text(1)),
                        kind: $0.text(2),
                        sortKey: $0.optionalText(3),
                        attempts: $0.count(4),
                        runningSince: $0.optionalText(5),
                        nextAttemptAt: $0.optionalText(6),
                        notBefore: $0.optionalText(7),
                        enqueuedAt: $0.text(8),
                        lastError: $0.optionalText(9),
                        payload: $0.text(10)
                    )
                }
            }
        }
    }

    /// The number of actions that wait or run.
    package func actionCount() async throws(SluiceError) -> Int {
        try await read { try $0.cached("SELECT count(*) FROM sluice_action_rows").first { $0.int(0) } ?? 0 }
    }
}
