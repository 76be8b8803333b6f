internal import SluiceSQLite

/// Owns the failure policies: parking a queue, dead letters, and failing a whole queue.
final class Failures: TransactionSubject {
    let core: TransactionCore
    let blocks: QueueBlocks
    let keys: DeduplicationKeys
    let groups: Groups

    init(_ core: TransactionCore, _ blocks: QueueBlocks, _ keys: DeduplicationKeys, _ groups: Groups) {
        (self.core, self.blocks, self.keys, self.groups) = (core, blocks, keys, groups)
    }

    /// Applies a failure policy to an action; the queue's discipline says what sorts after it.
    func fail(
        _ action: ActionID,
        in queue: QueueID,
        by discipline: QueueDiscipline = .firstInFirstOut,
        _ cause: FailureCause,
        _ policy: FailurePolicy,
        error: String,
        attempt: Int? = nil
    ) throws(SQLiteError) {
        try core.events.record(cause == .expired ? .expired : .failed, action, in: queue) {
            ($0.cause, $0.policy, $0.error, $0.attempt) = (cause, policy, bounded(error), attempt)
        }
        switch policy {
        case .block:
            // If an action beside this one has parked the queue, this one is retried together with it.
            if try !blocks.isParked(queue) {
                try blocks.block(queue, by: BlockReason(cause), action, error: error)
            }
        case .skip: try makeDeadLetter(action, of: queue, cause.rawValue, error: error)
        case .failQueue:
            // Parked for another reason, by one that ran beside this: this is tried again with it.
            if try !blocks.isParked(queue, by: .failing) {
                if try blocks.isParked(queue) { return }
                try failAll(of: queue, isReversed: discipline == .lastInFirstOut, through: action, error)
            }
            try makeDeadLetter(action, of: queue, cause.rawValue, error: error)
            try failBatch(of: queue)
        }
    }

    /// Makes an action of a queue a dead letter, if the queue has it, and keeps its history.
    func makeDeadLetter(
        _ action: ActionID,
        of queue: QueueID,
        _ cause: String,
        error: String
    ) throws(SQLiteError) {
        let buried = try connection.cached(
            """
            INSERT INTO sluice_dead_rows
                (id, queue_id, sort_key, sort_type, enqueued_at_us, nonce, kind, attempts, died_at_us, cause,
                 error, payload, version, tag, gate, trace)
            SELECT a.id, a.queue_id, a.sort_key, q.sort_type, a.enqueued_at_us, a.nonce, a.kind,
                   coalesce(s.attempts, 0), ?2, ?3, ?4, a.payload, a.version, a.tag, a.gate, a.trace
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.id = ?1 AND a.queue_id = ?5
            """
        ).bind(1, action.rawValue).bind(2, now.microseconds).bind(3, cause).bind(4, bounded(error))
            .bind(5, queue.rawValue).run()
        guard buried > 0 else { return }
        let known = FailureCause(rawValue: cause)
        try core.events.record(.deadLettered, action, in: queue) {
            ($0.cause, $0.error) = (known, bounded(error))
        }
        if let known { core.settledActions.note(action, .deadLettered(known)) }
        try keys.beginRetention(of: action, as: known.map(ActionEnd.deadLettered) ?? .unknown)
        try order.leaving(action, of: queue)
        try groups.openGroups(of: action)
        try groups.forgetDeferral(action)
        order.count(-1, in: queue)
        try run("DELETE FROM sluice_action_rows WHERE id = ?1", action)
        try run("DELETE FROM sluice_state_rows WHERE action_id = ?1", action)
    }
}
