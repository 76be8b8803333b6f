internal import SluiceSQLite

/// Owns the batches of queues that start by count or delay.
final class Batches: TransactionSubject {
    let core: TransactionCore

    init(_ core: TransactionCore) { self.core = core }

    private struct Batch {
        let dueAt: Timestamp
        let isOpen: Bool
        /// Actions that the last pass left over: those up to `through` that waited when it ended.
        let rest: (endedAt: Timestamp, through: ActionID)?
    }

    /// Opens the batch of a queue if it is due, or returns until when it gathers, by the clock's uptime.
    ///
    /// - Parameter waitedFor: A wait that has ended by the scheduler's clock.
    func gather(
        in queue: QueueID,
        waitedFor: RetryWait?,
        _ rules: QueueRules
    ) throws(SQLiteError) -> (wait: RetryWait, until: Duration)? {
        guard case .batch(let count, let delay) = rules.start, !mutant("batch") else { return nil }
        let batch = try batch(of: queue)
        if batch?.isOpen == true { return nil }
        let waiting = try gathered(in: queue, upTo: count, batch?.rest)
        guard let oldest = waiting.oldest else { return nil }
        // The time moves when actions return from their waits or are deleted.
        let dueAt = oldest + delay
        let wait = RetryWait(action: ActionID(rawValue: 0), nextAttemptAt: dueAt)
        if waiting.count >= count || dueAt <= now || waitedFor == wait {
            try setBatch(of: queue, dueAt: dueAt, isOpen: true)
            return nil
        }
        if batch?.dueAt != dueAt { try setBatch(of: queue, dueAt: dueAt, isOpen: false) }
        // Never longer than the requested delay: the wall clock may have been set back since.
        return (wait, core.uptime + min(dueAt - now, delay))
    }

    /// Counts the waiting actions of a batch, and returns since when it gathers; `nil` if none waits.
    ///
    /// Actions left over by a pass do not add to the count, and count as waiting only since that pass ended.
    /// Otherwise the batch would be due at once, again and again, for actions that have just failed.
    private func gathered(
        in queue: QueueID,
        upTo count: Int,
        _ rest: (endedAt: Timestamp, through: ActionID)?
    ) throws(SQLiteError) -> Waiting {
        let (first, last) = (ActionID(rawValue: 0), ActionID(rawValue: .max))
        guard let rest else { return try self.waiting(in: queue, upTo: count, among: first...last) }
        let next = ActionID(rawValue: rest.through.rawValue + 1)
        var waiting = try self.waiting(in: queue, upTo: count, among: next...last)
        let left = try self.waiting(in: queue, upTo: 1, among: first...rest.through)
        if left.oldest != nil { waiting.oldest = min(waiting.oldest ?? rest.endedAt, rest.endedAt) }
        return waiting
    }

    /// Closes the batch of a queue with nothing left to start, or only actions that were passed over.
    func closeBatch(of queue: QueueID, _ rules: QueueRules, leavesRest: Bool) throws(SQLiteError) {
        guard rules.isBatched else { return }
        if leavesRest {
            let last = try core.lastActionID().rawValue
            try connection.cached(
                """
                UPDATE sluice_batch_rows SET is_open = 0, due_us = ?2, rest_us = ?2, rest_through_id = ?3
                WHERE queue_id = ?1 AND is_open = 1
                """
            ).bind(1, queue.rawValue).bind(2, now.microseconds).bind(3, last).run()
        }
        try connection.cached(
            "DELETE FROM sluice_batch_rows WHERE queue_id = ?1 AND (is_open = 1 OR rest_us IS NULL)"
        ).bind(1, queue.rawValue).run()
    }

    /// Deletes batches that have not started, as rules change, and finished ones that no broker has closed.
    func forgetGathering() throws(SQLiteError) {
        let deletion: StaticString = """
            DELETE FROM sluice_batch_rows
            WHERE is_open = 0 OR NOT (
                EXISTS (SELECT 1 FROM sluice_order_rows AS o
                        CROSS JOIN sluice_action_rows AS a
                            ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
                        WHERE o.queue_id = sluice_batch_rows.queue_id AND a.not_before_us IS NULL)
                OR queue_id IN (
                    SELECT a.queue_id FROM sluice_action_rows AS a
                    WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
                      AND a.not_before_us IS NULL))
            """
        try connection.cached(deletion).run()
    }

    /// Deletes the batches of a pattern's queues, whose rules have changed, and has the queues polled.
    func forget(_ form: QueuePattern.Form) throws(SQLiteError) {
        let (first, last) = form.bounds
        let deletion: StaticString = """
            DELETE FROM sluice_batch_rows WHERE queue_id IN (
                SELECT queue_id FROM sluice_queue_rows WHERE name >= ?1 AND (?2 IS NULL OR name < ?2))
            RETURNING queue_id
            """
        let queues = try connection.cached(deletion).bind(1, first).bind(2, last)
            .all { QueueID(rawValue: $0.int64(0)) }
        for queue in queues { core.touch(queue) }
    }

    /// Starts batches of queues with actions in their order, or whose `ended` waits let some return to it.
    func runNow(
        _ form: QueuePattern.Form,
        ended: Set<QueueID>,
        _ isBatched: (QueueName) -> Bool
    ) throws(SQLiteError) -> Set<QueueID> {
        let (first, last) = form.bounds
        let query: StaticString = """
            SELECT q.queue_id, q.name, b.queue_id IS NOT NULL
            FROM sluice_queue_rows AS q LEFT JOIN sluice_batch_rows AS b ON b.queue_id = q.queue_id
            WHERE q.name >= ?1 AND (?2 IS NULL OR q.name < ?2) AND NOT coalesce(b.is_open, 0)
              AND (EXISTS (SELECT 1 FROM sluice_order_rows AS o WHERE o.queue_id = q.queue_id)
                   OR q.queue_id IN (SELECT value FROM json_each(?3))
                   OR q.queue_id IN (
                       SELECT a.queue_id FROM sluice_action_rows AS a
                       WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
                         AND a.not_before_us IS NULL))
            """
        let list = "[\(ended.map { "\($0.rawValue)" }.joined(separator: ","))]"
        let queues = try connection.cached(query).bind(1, first).bind(2, last).bind(3, list).all {
            (id: QueueID(rawValue: $0.int64(0)), name: QueueName($0.text(1)), isGathering: $0.bool(2))
        }
        let started = queues.filter { $0.isGathering || isBatched($0.name) }
        for queue in started where !mutant("run now") {
            try setBatch(of: queue.id, dueAt: now, isOpen: true)
            core.touch(queue.id)
        }
        return Set(started.map(\.id))
    }

    private func batch(of queue: QueueID) throws(SQLiteError) -> Batch? {
        try connection.cached(
            "SELECT due_us, is_open, rest_us, rest_through_id FROM sluice_batch_rows WHERE queue_id = ?1"
        ).bind(1, queue.rawValue).first { row in
            let rest = row.optionalInt64(2)
                .map { (endedAt: Timestamp(microseconds: $0), through: ActionID(rawValue: row.int64(3))) }
            return Batch(dueAt: Timestamp(microseconds: row.int64(0)), isOpen: row.bool(1), rest: rest)
        }
    }

    private func setBatch(of queue: QueueID, dueAt: Timestamp, isOpen: Bool) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_batch_rows (queue_id, due_us, is_open) VALUES (?1, ?2, ?3)
            ON CONFLICT (queue_id) DO UPDATE SET
                due_us = excluded.due_us, is_open = excluded.is_open,
                rest_us = iif(excluded.is_open, NULL, rest_us),
                rest_through_id = iif(excluded.is_open, NULL, rest_through_id)
            """
        ).bind(1, queue.rawValue).bind(2, dueAt.microseconds).bind(3, isOpen).run()
    }

    /// What waits in a queue, as far as it takes to know when a batch of it starts.
    private struct Waiting {
        /// Those that wait, up to the number that was asked for; below it, some may have been left out.
        var count: Int
        /// When the first one was enqueued.
        var oldest: Timestamp?
    }

    /// Counts those of some actions that wait in a queue, and are at no closed gate, up to a number.
    private func waiting(
        in queue: QueueID,
        upTo limit: Int,
        among actions: ClosedRange<ActionID>
    ) throws(SQLiteError) -> Waiting {
        try order.load()
        let ordered = try order.readOrdered()
        // Those with a place in the file are older than all others.
        let filed = try connection.cached(
            """
            SELECT count(*), min(enqueued_at_us) FROM (
                SELECT a.enqueued_at_us FROM sluice_order_rows AS o
                CROSS JOIN sluice_action_rows AS a
                    ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
                LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
                WHERE o.queue_id = ?1 AND o.action_id BETWEEN ?4 AND ?3 AND a.not_before_us IS NULL
                  AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = ?1 AND action_id = a.id)
                  AND (a.gate IS NULL OR a.gate IN (SELECT name FROM sluice_gate_rows WHERE is_open))
                  AND (s.waits_for_gate IS NULL
                       OR s.waits_for_gate IN (SELECT name FROM sluice_gate_rows WHERE is_open))
                LIMIT ?2)
            """
        ).bind(1, queue.rawValue).bind(2, limit).bind(3, min(ordered, actions.upperBound.rawValue))
            .bind(4, actions.lowerBound.rawValue).first {
                Waiting(count: $0.int(0), oldest: $0.optionalInt64(1).map(Timestamp.init(microseconds:)))
            }
        var waiting = filed ?? Waiting(count: 0)
        let arrived = order.lanes[queue]?.arrived.map(\.action) ?? []
        let newest = Set(arrived.filter { $0.rawValue > ordered && actions.contains($0) })
        // Most looks only have to find out since when the first one waits.
        let mayBeEnough = waiting.count + newest.count >= limit
        for action in newest.sorted() where waiting.count < limit {
            if !mayBeEnough, waiting.oldest != nil { break }
            let found = try connection.cached(
                """
                SELECT a.enqueued_at_us FROM sluice_action_rows AS a
                LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
                WHERE a.id = ?1 AND a.queue_id = ?2 AND a.not_before_us IS NULL
                  AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = ?2 AND action_id = a.id)
                  AND (a.gate IS NULL OR a.gate IN (SELECT name FROM sluice_gate_rows WHERE is_open))
                  AND (s.waits_for_gate IS NULL
                       OR s.waits_for_gate IN (SELECT name FROM sluice_gate_rows WHERE is_open))
                """
            ).bind(1, action.rawValue).bind(2, queue.rawValue).first { Timestamp(microseconds: $0.int64(0)) }
            guard let time = found else { continue }
            waiting.count += 1
            waiting.oldest = min(waiting.oldest ?? time, time)
        }
        return waiting
    }
}
