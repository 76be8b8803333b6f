internal import SluiceSQLite

/// What an operator or the application does to actions and queues from outside.
extension Store {
    /// Ends the retry waits and lifts the parking of the queues that a pattern matches.
    ///
    /// - Returns: The number of queues that waited or were parked.
    package func retryNow(_ form: QueuePattern.Form) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.waits.retryNow(form) }
    }

    /// The same for the queues that are named.
    func retryNow(_ queues: [QueueName]) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { transaction in
            try queues.reduce(0) { try $0 + transaction.waits.retryNow(.exact($1)) }
        }
    }

    /// Removes an action, or marks it as cancelled while it runs.
    package func cancel(_ action: ActionID) async throws(SluiceError) -> CancelResult {
        try await write(sync: .owed) { try $0.cancellations.cancel(action) }
    }

    /// Puts a dead letter back into its queue at its old place, with no attempt spent.
    ///
    /// - Returns: Whether there is such a dead letter.
    package func requeue(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await write(sync: .owed) { try $0.deadLetters.requeue(action) }
    }
}

/// What became of a cancellation.
package enum CancelResult: Sendable, Hashable {
    /// The action waited, and is gone.
    case removed
    /// The action runs: it is removed when its attempt ends with anything but success.
    case marked
    /// There is no such action: it never was, or it has been settled.
    case missing
}

final class Waits: TransactionSubject {
    let core: TransactionCore
    let schedule: Schedule

    init(_ core: TransactionCore, _ schedule: Schedule) {
        self.core = core
        self.schedule = schedule
    }

    /// Ends the retry waits of queues, also of what stands aside.
    ///
    /// - Returns: The queues that waited.
    func endWaits(_ form: QueuePattern.Form) throws(SQLiteError) -> Set<QueueID> {
        let (first, last) = form.bounds
        try schedule.putBackWaiting(form)
        let waiting = try connection.cached(
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
            RETURNING (SELECT queue_id FROM sluice_action_rows WHERE id = action_id)
            """
        )
        .bind(1, first).bind(2, last).all { QueueID(rawValue: $0.int64(0)) }
        let queues = Set(waiting)
        for queue in queues {
            core.touch(queue)
            try core.events.record(.changed, queue: queue)
        }
        return queues
    }

    func retryNow(_ form: QueuePattern.Form) throws(SQLiteError) -> Int {
        let (first, last) = form.bounds
        let waiting = try endWaits(form)
        // With its deaths it would be parked again without being tried. It stays a suspect, and runs alone.
        try connection.cached(
            """
            UPDATE sluice_state_rows SET crashes = 0 WHERE action_id IN (
                SELECT blocked_action_id FROM sluice_queue_rows
                WHERE blocked_by = 'crashed' AND name >= ?1 AND (?2 IS NULL OR name < ?2))
            """
        )
        .bind(1, first).bind(2, last).run()
        let parked = try connection.cached(
            """
            UPDATE sluice_queue_rows
            SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL
            WHERE blocked_by IS NOT NULL AND blocked_by <> 'failing'
              AND name >= ?1 AND (?2 IS NULL OR name < ?2)
            RETURNING queue_id
            """
        )
        .bind(1, first).bind(2, last).all { QueueID(rawValue: $0.int64(0)) }
        for queue in Set(parked).subtracting(waiting) {
            core.touch(queue)
            try core.events.record(.changed, queue: queue)
        }
        return waiting.union(parked).count
    }
}

extension Cancellations {
    func cancel(_ action: ActionID) throws(SQLiteError) -> CancelResult {
        let found = try connection.cached(
            """
            SELECT a.queue_id, EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                                       WHERE c.queue_id = a.queue_id AND c.action_id = a.id)
            FROM sluice_action_rows AS a WHERE a.id = ?1
            """
        )
        .bind(1, action.rawValue).first { (queue: QueueID(rawValue: $0.int64(0)), isRunning: $0.bool(1)) }
        guard let found else { return .missing }
        core.touch(found.queue)
        guard found.isRunning else {
            try removals.remove(action, in: found.queue)
            return .removed
        }
        try connection.cached(
            """
            INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (?1, 1)
            ON CONFLICT (action_id) DO UPDATE SET is_cancelled = 1
            """
        )
        .bind(1, action.rawValue).run()
        core.log(ForeignChange(queue: found.queue, action: action, change: "cancel"))
        return .marked
    }
}

extension QueuePattern.Form {
    /// The smallest name that may match and the smallest behind all that match; `nil` where there is none.
    ///
    /// Text compares by its bytes, so a prefix is a range of names.
    var bounds: (first: String, last: String?) {
        switch self {
        case .exact(let name): (name.rawValue, name.rawValue + "\u{0}")
        case .prefix(let bytes) where bytes.isEmpty: ("", nil)
        // A prefix ends in `/`, and `0` is the byte behind it.
        case .prefix(let bytes):
            (String(decoding: bytes, as: UTF8.self), String(decoding: bytes.dropLast(), as: UTF8.self) + "0")
        }
    }
}
