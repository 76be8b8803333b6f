internal import SluiceSQLite

/// Owns the early end of waits: retry now, restarts, and a wall clock that was set back.
final class Waits: TransactionSubject {
    let core: TransactionCore
    let schedule: Schedule

    init(_ core: TransactionCore, _ schedule: Schedule) { (self.core, self.schedule) = (core, schedule) }

    /// Ends the retry waits of queues, also of deferred actions; returns the queues that waited.
    func endWaits(_ form: QueuePattern.Form) throws(SQLiteError) -> Set<QueueID> {
        let (first, last) = form.bounds
        try schedule.placeWaiting(form)
        let ended = try connection.cached(
            """
            UPDATE sluice_state_rows SET next_attempt_at_us = NULL, retry_delay_us = NULL
            WHERE next_attempt_at_us IS NOT NULL AND action_id IN (
                SELECT a.id FROM sluice_state_rows AS s
                CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
                CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
                WHERE s.next_attempt_at_us IS NOT NULL AND q.name >= ?1 AND (?2 IS NULL OR q.name < ?2)
                  AND a.not_before_us IS NOT s.next_attempt_at_us
                  AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                                  WHERE c.queue_id = a.queue_id AND c.action_id = a.id))
            RETURNING (SELECT queue_id FROM sluice_action_rows WHERE id = action_id), action_id
            """
        ).bind(1, first).bind(2, last).all(Self.changed)
        for (queue, action) in ended {
            core.touch(queue)
            try core.events.record(.changed, action, in: queue)
        }
        return Set(ended.map(\.queue))
    }

    private static func changed(_ row: Row) -> (queue: QueueID, action: ActionID) {
        (QueueID(rawValue: row.int64(0)), ActionID(rawValue: row.int64(1)))
    }

    func retryNow(_ form: QueuePattern.Form) throws(SQLiteError) -> Int {
        let (first, last) = form.bounds
        let waiting = try endWaits(form)
        // With its crash count it would be parked again untried. It stays a suspect, and runs alone.
        let update: StaticString = """
            UPDATE sluice_state_rows SET crashes = 0 WHERE action_id IN (
                SELECT blocked_action_id FROM sluice_queue_rows
                WHERE blocked_by = 'crashed' AND name >= ?1 AND (?2 IS NULL OR name < ?2))
            """
        try connection.cached(update).bind(1, first).bind(2, last).run()
        let parked = try connection.cached(
            """
            SELECT queue_id, blocked_action_id FROM sluice_queue_rows
            WHERE blocked_by IS NOT NULL AND blocked_by <> 'failing'
              AND name >= ?1 AND (?2 IS NULL OR name < ?2)
            """
        ).bind(1, first).bind(2, last).all(Self.changed)
        for (queue, action) in parked { try lift(action, of: queue) }
        return waiting.union(parked.map(\.queue)).count
    }

    /// Unparks a queue that an action has parked.
    private func lift(_ action: ActionID, of queue: QueueID) throws(SQLiteError) {
        try schedule.blocks.unblock(queue)
        try core.events.record(.changed, action, in: queue)
    }

    /// Ends the waits of released heads, which a restart may allow to run.
    func endReleases() throws(SQLiteError) {
        try schedule.placeReleased()
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
                ).bind(1, action).run()
            }
        }
    }

    /// Shortens retry waits to the requested delay, counted from now, if the wall clock was set back (G8).
    ///
    /// A claim does so too; this writes it to the file.
    func shortenWaits() throws(SQLiteError) {
        try schedule.shortenDeferrals()
        // An action that is still deferred has a row that cannot be written, and its wait is left unchanged.
        let query: StaticString = """
            SELECT s.action_id FROM sluice_state_rows AS s
            LEFT JOIN sluice_action_rows AS a ON a.id = s.action_id
            WHERE s.next_attempt_at_us - s.retry_delay_us > ?1 AND a.not_before_us IS NOT s.next_attempt_at_us
            """
        let actions = try connection.cached(query).bind(1, now.microseconds).all { $0.int64(0) }
        let update: StaticString =
            "UPDATE sluice_state_rows SET next_attempt_at_us = ?2 + retry_delay_us WHERE action_id = ?1"
        for action in actions {
            try core.writeIfPossible { () throws(SQLiteError) in
                try connection.cached(update).bind(1, action).bind(2, now.microseconds).run()
            }
        }
    }

    func liftUndecodable() throws(SQLiteError) {
        let parked = try connection.cached(
            "SELECT queue_id, blocked_action_id FROM sluice_queue_rows WHERE blocked_by = 'undecodable'"
        ).all(Self.changed)
        for (queue, action) in parked {
            try core.writeIfPossible { () throws(SQLiteError) in try lift(action, of: queue) }
        }
    }
}

extension QueuePattern.Form {
    /// The smallest name that may match, and the smallest after all that match, by bytes; or `nil`.
    var bounds: (first: String, last: String?) {
        switch self {
        case .exact(let name): (name.rawValue, name.rawValue + "\u{0}")
        case .prefix(let bytes) where bytes.isEmpty: ("", nil)
        // A prefix ends in `/`, and `0` is the next byte.
        case .prefix(let bytes):
            (String(decoding: bytes, as: UTF8.self), String(decoding: bytes.dropLast(), as: UTF8.self) + "0")
        }
    }
}
