internal import SQLite

/// An attempt that did not succeed, as `sluice_attempts` shows it.
///
/// Times are ISO 8601 in UTC.
package struct FailedAttempt: Sendable, Hashable {
    /// Counted from 1.
    package let number: Int
    /// One word: `retry`, `failed`, `exhausted`, `undecodable`, `crashed`.
    package let outcome: String
    package let error: String
    package let startedAt: String
    package let endedAt: String
}

extension Store {
    /// The failed attempts of an action that waits or runs, or of a dead letter, the first one first.
    package func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt] {
        try await read { connection in
            try connection.cached(
                """
                SELECT number, outcome, error, started_at, ended_at FROM sluice_attempts
                WHERE action_id = ?1 ORDER BY ended_at, number
                """
            )
            .bind(1, action.rawValue).all {
                FailedAttempt(
                    number: $0.int(0),
                    outcome: $0.text(1),
                    error: $0.text(2),
                    startedAt: $0.text(3),
                    endedAt: $0.text(4)
                )
            }
        }
    }

    /// A dead letter; `nil` if there is none with this number.
    package func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        try await read { connection in
            try connection.cached(
                """
                SELECT d.id, q.name, d.kind, d.cause, d.error, d.attempts, d.died_at_us, d.payload
                FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
                WHERE d.id = ?1
                """
            )
            .bind(1, action.rawValue).first {
                DeadLetter(
                    id: ActionID(rawValue: $0.int64(0)),
                    queue: QueueName($0.text(1)),
                    kind: $0.text(2),
                    cause: FailureCause(rawValue: $0.text(3)),
                    error: $0.text(4),
                    attempts: $0.int(5),
                    diedAt: Timestamp(microseconds: $0.int64(6)).date,
                    payload: $0.text(7)
                )
            }
        }
    }
}
