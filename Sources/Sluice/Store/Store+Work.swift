internal import SluiceSQLite

/// Finding the work there is, and what happens by time.
extension Store {
    /// Queues with work, a page at a time: those with new actions, then the others in the order of their
    /// numbers.
    ///
    /// Parked queues are left out: of what lifts that all are told. A queue may be named twice, and one that
    /// has become empty a moment ago too, or is parked and has new actions.
    package func queuesWithWork(
        _ page: WorkPage
    ) async throws(SluiceError) -> (queues: [QueueID], next: WorkPage?) {
        try await write(sync: .later) { try $0.core.queuesWithWork(page) }
    }

    /// Tries again what could not be decoded: the code may have changed.
    package func liftUndecodable() async throws(SluiceError) {
        try await write(sync: .later) { try $0.waits.liftUndecodable() }
    }

    /// Removes the holds that have ended by themselves, and tells of them.
    ///
    /// - Returns: When the next one ends; `nil` when none does by itself.
    package func endHolds() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { transaction in
            try transaction.gatesAndHolds.removeEndedHolds()
            return try transaction.gatesAndHolds.nextEndOfHolds()
        }
    }

    /// Whether anybody has committed since the last call; never in memory.
    ///
    /// It may say so when nobody has.
    func hasNewCommits() async throws(SluiceError) -> Bool {
        guard let reader else { return false }
        return try await reader.hasNewCommits()
    }

    /// Takes in what others have changed, by way of the commit's report.
    package func takeInForeignChanges() async throws(SluiceError) {
        try await write(sync: .later) { _ in }
    }

    /// Makes all earlier commits survive a loss of power.
    package func sync() async throws(SluiceError) {
        try await write(sync: .forced) { try $0.core.writeBarrier() }
    }
}

/// What part of the queues with work is asked for.
package enum WorkPage: Sendable, Hashable {
    /// The first, without a limit: memory has them anyway.
    case newest(thenLimit: Int)
    case ordered(after: QueueID, limit: Int)

    var limit: Int {
        switch self {
        case .newest(let limit), .ordered(_, let limit): limit
        }
    }
}

extension Waits {
    /// Ends the waits of heads that were released: a restart may have brought what they lacked.
    func endReleases() throws(SQLiteError) {
        try schedule.putBackReleased()
        let actions = try connection.cached("SELECT action_id FROM sluice_state_rows WHERE is_released = 1")
            .all { $0.int64(0) }
        for action in actions {
            try core.writeIfPossible { () throws(SQLiteError) in
                try connection.cached(
                    """
                    UPDATE sluice_state_rows
                    SET next_attempt_at_us = NULL, retry_delay_us = NULL, waits_for_gate = NULL,
                        is_released = 0
                    WHERE action_id = ?1
                    """
                )
                .bind(1, action).run()
            }
        }
    }

    /// Has retries come no later than was asked, counted from here, that a wall clock which was set back has
    /// moved away (G8).
    ///
    /// A claim sees to that too; this has the file say so.
    func shortenWaits() throws(SQLiteError) {
        try schedule.shortenAsides()
        // One that stands aside still has a row that cannot be written, and waits on as it does.
        let actions = try connection.cached(
            """
            SELECT s.action_id FROM sluice_state_rows AS s
            LEFT JOIN sluice_action_rows AS a ON a.id = s.action_id
            WHERE s.next_attempt_at_us - s.retry_delay_us > ?1
              AND a.not_before_us IS NOT s.next_attempt_at_us
            """
        )
        .bind(1, now.microseconds).all { $0.int64(0) }
        for action in actions {
            try core.writeIfPossible { () throws(SQLiteError) in
                try connection.cached(
                    """
                    UPDATE sluice_state_rows SET next_attempt_at_us = ?2 + retry_delay_us
                    WHERE action_id = ?1
                    """
                )
                .bind(1, action).bind(2, now.microseconds).run()
            }
        }
    }
}

extension TransactionCore {
    func queuesWithWork(_ page: WorkPage) throws(SQLiteError) -> (queues: [QueueID], next: WorkPage?) {
        guard case .ordered(let last, let limit) = page else {
            return (try order.queuesOfNewest(), .ordered(after: QueueID(rawValue: .min), limit: page.limit))
        }
        // One step down the order for each queue, however many actions it holds.
        let found = try connection.cached(
            """
            WITH RECURSIVE busy (queue_id) AS (
                SELECT (SELECT min(queue_id) FROM sluice_order_rows WHERE queue_id > ?1)
                UNION ALL
                SELECT (SELECT min(queue_id) FROM sluice_order_rows WHERE queue_id > busy.queue_id)
                FROM busy WHERE busy.queue_id IS NOT NULL
                LIMIT ?2
            )
            SELECT queue_id,
                   (SELECT blocked_by FROM sluice_queue_rows AS q WHERE q.queue_id = busy.queue_id)
                   IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable')
            FROM busy WHERE queue_id IS NOT NULL
            """
        )
        .bind(1, last.rawValue).bind(2, limit)
        .all { (queue: QueueID(rawValue: $0.int64(0)), isParked: !$0.isNull(1) && $0.bool(1)) }
        let queues = found.filter { !$0.isParked }.map(\.queue)
        // A number that is none, in a damaged file, reads as one that has been: there is nothing behind it.
        guard let end = found.last?.queue, end > last else { return (queues, nil) }
        return (queues, .ordered(after: end, limit: limit))
    }
}

extension Waits {
    func liftUndecodable() throws(SQLiteError) {
        let queues = try connection.cached(
            "SELECT queue_id FROM sluice_queue_rows WHERE blocked_by = 'undecodable'"
        )
        .all { QueueID(rawValue: $0.int64(0)) }
        for queue in queues {
            try core.writeIfPossible { () throws(SQLiteError) in
                try connection.cached(
                    """
                    UPDATE sluice_queue_rows
                    SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL,
                        blocked_error = NULL
                    WHERE queue_id = ?1
                    """
                )
                .bind(1, queue.rawValue).run()
                core.touch(queue)
            }
        }
    }
}

extension TransactionCore {
    /// Writes what concerns one row of many.
    ///
    /// Where the row cannot be written, as in a damaged file, it stays as it is, and holds up no other (G9):
    /// what it says goes on to hold, and a full look at the file names it.
    func writeIfPossible(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        do { try body() } catch  where isOfRow(error) { return }
    }

    /// Whether a row refuses to be written, and the transaction goes on without it.
    func isOfRow(_ error: SQLiteError) -> Bool {
        error.code.primary == .constraint && connection.isInTransaction
    }

    /// Writes something, so that the commit has something to sync.
    ///
    /// An update that changes no byte writes no page, and SQLite syncs nothing for it.
    func writeBarrier() throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_counters (name, value) VALUES ('barrier', 1)
            ON CONFLICT (name) DO UPDATE SET value = value + 1
            """
        )
        .run()
    }
}
