internal import SluiceSQLite

final class DeadLetters: TransactionSubject {
    static let batchSize = 500
    let core: TransactionCore
    let blocks: QueueBlocks
    let queueRows: QueueRows
    let groups: Groups
    let keys: DeduplicationKeys

    init(
        _ core: TransactionCore,
        _ blocks: QueueBlocks,
        _ queueRows: QueueRows,
        _ groups: Groups,
        _ keys: DeduplicationKeys
    ) {
        (self.core, self.blocks, self.queueRows) = (core, blocks, queueRows)
        (self.groups, self.keys) = (groups, keys)
    }

    /// Requeues a dead letter at its old place, and returns whether it exists.
    func requeue(_ action: ActionID) throws -> Bool {
        guard let (queue, key) = try queueOfDead(action) else { return false }
        try revive(action, as: action, at: key, nonce: nil)
        order.count(1, in: queue)
        try blocks.noteArrival(action, to: queue)
        try core.restore(Place(key: key, action: action), in: queue)
        try core.events.record(.requeued, action, in: queue)
        return true
    }

    /// Requeues a dead letter after all actions of its queue, and returns its new sequence.
    ///
    /// It gets the queue's largest sort key, if its own is smaller.
    func requeueAtEnd(_ action: ActionID) throws -> ActionID? {
        guard let (queue, ownKey) = try queueOfDead(action) else { return nil }
        let last = try connection.cached(
            "SELECT sort_key FROM sluice_action_facts WHERE queue_id = ?1 ORDER BY sort_key DESC LIMIT 1"
        ).bind(1, queue.rawValue).first { PlaceKey($0, 0) }
        let key = last.map { PlaceKey.compare($0, ownKey) == .greater ? $0 : ownKey } ?? ownKey
        let newAction = try core.nextActionID()
        try revive(action, as: newAction, at: key, nonce: core.nonce)
        order.added(newAction, key: key, to: queue, isPlaced: true)
        core.touchNew(queue)
        try core.events.record(.requeued, newAction, in: queue)
        try noteGone(action, from: queue)
        return newAction
    }

    private func queueOfDead(_ action: ActionID) throws -> (QueueID, PlaceKey)? {
        let found = try connection.cached(
            """
            SELECT q.name, d.sort_type, d.sort_key
            FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q USING (queue_id) WHERE d.id = ?1
            """
        ).bind(1, action.rawValue).first {
            (QueueName($0.text(0)), SortKey.Kind(rawValue: $0.text(1)), PlaceKey($0, 2))
        }
        guard let (name, kind, key) = found, let kind else { return nil }
        // The queue may have been emptied and have adopted another type of sort key since.
        return (try queueRows.queue(named: name, sorting: kind), key)
    }

    /// Writes the rows of an action that was a dead letter, and keeps its history.
    private func revive(
        _ action: ActionID,
        as newAction: ActionID,
        at key: PlaceKey,
        nonce: Int64?
    ) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_action_rows
                (id, queue_id, sort_key, enqueued_at_us, nonce, kind, payload, version, tag, gate, trace)
            SELECT ?2, queue_id, ?3, enqueued_at_us, coalesce(?4, nonce), kind, payload, version, tag, gate,
                   trace FROM sluice_dead_rows WHERE id = ?1
            """
        ).bind(1, action.rawValue).bind(2, newAction.rawValue).bind(3, key).bind(4, nonce).run()
        if newAction != action {
            try groups.regroup(action, as: newAction)
            try connection.cached("UPDATE sluice_attempt_rows SET action_id = ?2 WHERE action_id = ?1")
                .bind(1, action.rawValue).bind(2, newAction.rawValue).run()
        }
        // When an action is done, its history is found by its state.
        try connection.cached(
            """
            INSERT INTO sluice_state_rows (action_id)
            SELECT ?1 WHERE EXISTS (SELECT 1 FROM sluice_attempt_rows WHERE action_id = ?1)
            """
        ).bind(1, newAction.rawValue).run()
        try connection.cached("DELETE FROM sluice_dead_rows WHERE id = ?1").bind(1, action.rawValue).run()
        try keys.endRetention(of: action, now: newAction)
    }

    func requeue(
        _ filter: DeadLetterFilter,
        _ page: CancelPage
    ) throws -> (requeued: ActResult, next: CancelPage?) {
        let (first, end) = filter.form.bounds
        let found = try connection.cached(
            """
            SELECT d.id FROM sluice_dead_rows AS d CROSS JOIN sluice_queue_rows AS q USING (queue_id)
            WHERE d.id > ?1 AND d.id <= ?2 AND q.name >= ?3 AND (?4 IS NULL OR q.name < ?4)
              AND (?5 IS NULL OR d.cause = ?5) ORDER BY d.id LIMIT ?6
            """
        ).bind(1, page.after.rawValue).bind(2, page.through.rawValue).bind(3, first).bind(4, end)
            .bind(5, filter.cause?.rawValue).bind(6, Self.batchSize).all { ActionID(rawValue: $0.int64(0)) }
        var requeued = ActResult()
        for action in found {
            do {
                if try requeue(action) { requeued.done += 1 }
            } catch let error as SluiceError where error.code == .sortKeyMismatch {
                // Refused before anything was written: it remains a dead letter.
                requeued.keptCount += 1
                requeued.firstKept = requeued.firstKept ?? (action, error.message)
            }
        }
        let last = found.count < Self.batchSize ? nil : found.last
        return (requeued, last.map { CancelPage(after: $0, through: page.through) })
    }

    func purge(
        _ filter: DeadLetterFilter,
        diedBefore before: Timestamp?,
        through last: (diedAt: Timestamp, id: ActionID)
    ) throws(SQLiteError) -> Int {
        let (first, end) = filter.form.bounds
        let found = try connection.cached(
            """
            SELECT d.id FROM sluice_dead_rows AS d CROSS JOIN sluice_queue_rows AS q USING (queue_id)
            WHERE (d.died_at_us, d.id) <= (?1, ?2) AND (?3 IS NULL OR d.died_at_us < ?3)
              AND q.name >= ?4 AND (?5 IS NULL OR q.name < ?5) AND (?6 IS NULL OR d.cause = ?6)
            ORDER BY d.died_at_us, d.id LIMIT ?7
            """
        ).bind(1, last.diedAt.microseconds).bind(2, last.id.rawValue).bind(3, before?.microseconds)
            .bind(4, first).bind(5, end).bind(6, filter.cause?.rawValue).bind(7, Self.batchSize)
            .all { ActionID(rawValue: $0.int64(0)) }
        for action in found { try purge(action) }
        return found.count
    }

    /// Deletes a dead letter with its history, and returns whether there is one.
    @discardableResult
    func purge(_ action: ActionID) throws(SQLiteError) -> Bool {
        let queue = try connection.cached("DELETE FROM sluice_dead_rows WHERE id = ?1 RETURNING queue_id")
            .bind(1, action.rawValue).all { QueueID(rawValue: $0.int64(0)) }.first
        guard let queue else { return false }
        try groups.forgetTraces(of: action)
        try connection.cached("DELETE FROM sluice_attempt_rows WHERE action_id = ?1").bind(1, action.rawValue)
            .run()
        try noteGone(action, from: queue)
        return true
    }

    private func noteGone(_ action: ActionID, from queue: QueueID) throws(SQLiteError) {
        core.log(ForeignChange(.wake, of: action, in: queue))
        try core.events.record(.changed, action, in: queue)
    }
}
