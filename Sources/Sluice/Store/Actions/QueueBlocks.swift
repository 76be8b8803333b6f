internal import SluiceSQLite

/// Owns the reasons in the file why queues do not move: parking, failing and unrunnable heads.
final class QueueBlocks: TransactionSubject {
    let core: TransactionCore

    init(_ core: TransactionCore) { self.core = core }

    /// Records that an action enters a queue from elsewhere, so that it is exempt if the queue is failing.
    func noteArrival(_ action: ActionID, to queue: QueueID) throws(SQLiteError) {
        guard try isParked(queue, by: .failing) else { return }
        let insert: StaticString = """
            INSERT INTO sluice_state_rows (action_id, arrived_as_id) VALUES (?1, ?2)
            ON CONFLICT (action_id) DO UPDATE SET arrived_as_id = excluded.arrived_as_id
            """
        try connection.cached(insert).bind(1, action.rawValue).bind(2, try core.nextActionID().rawValue).run()
    }

    /// Records once in the file why the broker cannot run a head.
    func noteBlock(
        _ reason: BlockReason,
        _ detail: String?,
        of action: ActionID,
        isHead: Bool,
        in queue: QueueID
    ) throws(SQLiteError) {
        try block(queue, by: reason, action, isHead: isHead, error: detail)
        try core.events.record(.blocked, action, in: queue) {
            $0.gate = reason == .gate ? detail.map { GateName($0) } : nil
            $0.because = $0.gate.map { .gate($0) } ?? WaitReason(unroutable: reason)
        }
    }

    /// - Parameter isHead: Whether the action is the head by the queue's discipline, and not by its order.
    func block(
        _ queue: QueueID,
        by reason: BlockReason,
        _ action: ActionID,
        isHead: Bool = false,
        error: String?
    ) throws(SQLiteError) {
        try connection.cached(
            """
            UPDATE sluice_queue_rows
            SET blocked_by = ?2, blocked_action_id = ?3, blocked_at_us = ?4, blocked_error = ?5,
                blocked_is_head = ?6, fail_through_id = NULL, fail_key = NULL
            WHERE queue_id = ?1
            """
        ).bind(1, queue.rawValue).bind(2, reason.rawValue).bind(3, action.rawValue).bind(4, now.microseconds)
            .bind(5, error.map(bounded)).bind(6, isHead).run()
    }

    /// Whether a queue is parked, for one reason or any; other processes and slots may have seen to that.
    func isParked(_ queue: QueueID, by reason: BlockReason? = nil) throws(SQLiteError) -> Bool {
        let query: StaticString = """
            SELECT 1 FROM sluice_queue_rows
            WHERE queue_id = ?1 AND blocked_by NOT IN ('unknown kind', 'no route', 'gate')
              AND (?2 IS NULL OR blocked_by = ?2)
            """
        return try connection.cached(query).bind(1, queue.rawValue).bind(2, reason?.rawValue).hasRow()
    }

    func unblock(_ queue: QueueID) throws(SQLiteError) {
        let update: StaticString = """
            UPDATE sluice_queue_rows
            SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL,
                fail_through_id = NULL, fail_key = NULL
            WHERE queue_id = ?1
            """
        try connection.cached(update).bind(1, queue.rawValue).run()
        core.touch(queue)
    }

    /// Returns why an action blocks a queue.
    func reason(of action: ActionID, in queue: QueueID) throws(SQLiteError) -> BlockReason? {
        let query: StaticString =
            "SELECT blocked_by FROM sluice_queue_rows WHERE queue_id = ?1 AND blocked_action_id = ?2"
        return try connection.cached(query).bind(1, queue.rawValue).bind(2, action.rawValue)
            .first { $0.optionalText(0).map(BlockReason.init(stored:)) } ?? nil
    }

    /// Lifts the parking that a deleted action has caused; the failing of a queue ends by itself.
    func liftBlock(of action: ActionID, in queue: QueueID) throws(SQLiteError) {
        guard let reason = try reason(of: action, in: queue), reason != .failing else { return }
        if !mutant("removal unblocks") { try unblock(queue) }
    }
}
