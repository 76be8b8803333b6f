internal import SluiceSQLite

final class AttemptHistory: TransactionSubject {
    let core: TransactionCore

    init(_ core: TransactionCore) { self.core = core }

    /// The most failed attempts kept of an action: the newest.
    static let historyLimit = 50

    func record(_ run: FailedRun, _ outcome: String, error: String) throws(SQLiteError) {
        let action = run.receipt.action.rawValue
        try connection.cached(
            """
            INSERT INTO sluice_attempt_rows
                (action_id, claim, number, outcome, error, started_at_us, ended_at_us)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        ).bind(1, action).bind(2, run.receipt.claim).bind(3, run.number).bind(4, outcome)
            .bind(5, bounded(error)).bind(6, run.startedAt.microseconds).bind(7, now.microseconds).run()
        // Not by the attempt's number, which restarts with a requeue and stays the same if nothing decodes.
        let deletion: StaticString = """
            DELETE FROM sluice_attempt_rows WHERE action_id = ?1 AND claim <= (
                SELECT claim FROM sluice_attempt_rows WHERE action_id = ?1
                ORDER BY claim DESC LIMIT 1 OFFSET ?2)
            """
        try connection.cached(deletion).bind(1, action).bind(2, Self.historyLimit).run()
    }
}

struct FailedRun {
    let receipt: Receipt
    let startedAt: Timestamp
    /// The attempt's number, counted from 1.
    let number: Int
}
