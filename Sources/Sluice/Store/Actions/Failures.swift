internal import SluiceSQLite

/// Owns the failure policies: parking a queue, dead letters, and failing a whole queue.
final class Failures: TransactionSubject {
    let core: TransactionCore
    let blocks: QueueBlocks
    let keys: DeduplicationKeys
    let groups: Groups

    init(
        _ core: TransactionCore,
        _ blocks: QueueBlocks,
        _ keys: DeduplicationKeys,
        _ groups: Groups
    ) {
        self.core = core
        self.blocks = blocks
        self.keys = keys
        self.groups = groups
    }

    /// The most dead letters that one transaction makes when a whole queue fails.
    static let failBatchSize = 500

    /// Applies a failure policy to an action.
    ///
    /// - Parameter discipline: The discipline of its queue, which defines what sorts after the action.
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
        case .skip:
            try makeDeadLetter(action, of: queue, cause.rawValue, error: error)
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

    /// Marks a queue as failing: all its current actions that sort after an action become dead letters.
    private func failAll(
        of queue: QueueID,
        isReversed: Bool,
        through action: ActionID,
        _ error: String
    ) throws(SQLiteError) {
        let last = try core.lastActionID()
        try connection.cached(
            """
            UPDATE sluice_queue_rows
            SET blocked_by = 'failing', blocked_action_id = ?2, blocked_at_us = ?3, blocked_error = ?4,
                fail_through_id = ?5, fail_key = (SELECT sort_key FROM sluice_action_rows WHERE id = ?2),
                fail_is_reversed = ?6
            WHERE queue_id = ?1
            """
        )
        .bind(1, queue.rawValue).bind(2, action.rawValue).bind(3, now.microseconds)
        .bind(4, bounded(error)).bind(5, mutant("arrivals while failing") ? .max : last.rawValue)
        .bind(6, isReversed).run()
    }

    /// Makes dead letters of the next actions of a failing queue; if none are left, the queue continues.
    ///
    /// - Returns: Whether any are left.
    @discardableResult
    func failBatch(of queue: QueueID) throws(SQLiteError) -> Bool {
        let failing = try connection.cached(
            """
            SELECT fail_through_id, blocked_error, blocked_action_id, fail_key, fail_is_reversed
            FROM sluice_queue_rows
            WHERE queue_id = ?1 AND blocked_by = 'failing'
            """
        )
        .bind(1, queue.rawValue).first {
            (
                through: ActionID(rawValue: $0.int64(0)), error: $0.text(1),
                failed: Place(key: PlaceKey($0, 3), action: ActionID(rawValue: $0.int64(2))),
                isReversed: $0.bool(4)
            )
        }
        if let failing {
            let batch = try actions(
                in: queue,
                behind: failing.failed,
                isReversed: failing.isReversed,
                through: failing.through,
                limit: Self.failBatchSize
            )
            for place in batch where try isAt(place, of: queue) {
                try makeDeadLetter(place.action, of: queue, "behind", error: failing.error)
            }
            guard batch.count < Self.failBatchSize else { return true }
        }
        try blocks.unblock(queue)
        return false
    }

    /// Returns actions of a queue, in no order, that sort after a place and are no newer than `last`.
    ///
    /// The newest of them are removed from the order in memory. The result may contain places that their
    /// actions do not have any more.
    ///
    /// - Parameter isReversed: Actions that sort before the place count as after it.
    private func actions(
        in queue: QueueID,
        behind place: Place,
        isReversed: Bool,
        through last: ActionID,
        limit: Int
    ) throws(SQLiteError) -> [Place] {
        // An action that runs, in whatever process, ends by its own outcome.
        let running = try connection.cached("SELECT action_id FROM sluice_claim_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).all { ActionID(rawValue: $0.int64(0)) }
        var found = try order.takeNewest(
            of: queue,
            behind: place,
            isReversed: isReversed,
            through: last,
            sparing: try newcomers(to: queue, after: last).union(running),
            limit: limit
        )
        let texts =
            isReversed
            ? [Self.orderedBefore, Self.scheduledBefore] : [Self.orderedBehind, Self.scheduledBehind]
        for text in texts {
            found += try connection.cached(text).bind(1, queue.rawValue).bind(2, last.rawValue).bind(
                3,
                limit - found.count
            )
            .bind(4, place.key).bind(5, place.action.rawValue)
            .all { Place(key: PlaceKey($0, 0), action: ActionID(rawValue: $0.int64(1))) }
        }
        return found
    }

    private static let orderedBehind: StaticString = """
        SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o
        WHERE o.queue_id = ?1 AND o.action_id <= ?2 AND (o.sort_key, o.action_id) > (?4, ?5)
          AND EXISTS (SELECT 1 FROM sluice_action_rows AS a
                      WHERE a.id = o.action_id AND a.queue_id = ?1 AND a.sort_key = o.sort_key)
          AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                          WHERE c.queue_id = ?1 AND c.action_id = o.action_id)
          AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                          WHERE s.action_id = o.action_id AND s.arrived_as_id > ?2)
        LIMIT ?3
        """

    private static let scheduledBehind: StaticString = """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE a.queue_id = ?1 AND a.not_before_us IS NOT NULL AND a.id <= ?2
          AND (a.sort_key, a.id) > (?4, ?5)
          AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                          WHERE s.action_id = a.id AND s.arrived_as_id > ?2)
        LIMIT ?3
        """

    private static let orderedBefore: StaticString = """
        SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o
        WHERE o.queue_id = ?1 AND o.action_id <= ?2 AND (o.sort_key, o.action_id) < (?4, ?5)
          AND EXISTS (SELECT 1 FROM sluice_action_rows AS a
                      WHERE a.id = o.action_id AND a.queue_id = ?1 AND a.sort_key = o.sort_key)
          AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                          WHERE c.queue_id = ?1 AND c.action_id = o.action_id)
          AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                          WHERE s.action_id = o.action_id AND s.arrived_as_id > ?2)
        LIMIT ?3
        """

    private static let scheduledBefore: StaticString = """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE a.queue_id = ?1 AND a.not_before_us IS NOT NULL AND a.id <= ?2
          AND (a.sort_key, a.id) < (?4, ?5)
          AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                          WHERE s.action_id = a.id AND s.arrived_as_id > ?2)
        LIMIT ?3
        """

    /// Returns actions that entered a queue from elsewhere after a sequence was given.
    private func newcomers(to queue: QueueID, after last: ActionID) throws(SQLiteError) -> Set<ActionID> {
        Set(
            try connection.cached(
                """
                SELECT s.action_id FROM sluice_state_rows AS s
                CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
                WHERE s.arrived_as_id > ?2 AND a.queue_id = ?1
                """
            )
            .bind(1, queue.rawValue).bind(2, last.rawValue).all { ActionID(rawValue: $0.int64(0)) }
        )
    }
}

extension Failures {
    /// Returns whether an action is at a place of a queue's order, or will be when it is due.
    private func isAt(_ place: Place, of queue: QueueID) throws(SQLiteError) -> Bool {
        let key = try connection.cached(
            "SELECT sort_key FROM sluice_action_rows WHERE id = ?1 AND queue_id = ?2"
        )
        .bind(1, place.action.rawValue).bind(2, queue.rawValue).first { PlaceKey($0, 0) }
        return key == place.key
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
        )
        .bind(1, action.rawValue).bind(2, now.microseconds).bind(3, cause).bind(4, bounded(error))
        .bind(5, queue.rawValue).run()
        guard buried > 0 else { return }
        try core.events.record(.deadLettered, action, in: queue) {
            ($0.cause, $0.error) = (FailureCause(rawValue: cause), bounded(error))
            $0.deadLetterCause = DeadLetterCause(rawValue: cause)
        }
        if let cause = DeadLetterCause(rawValue: cause) {
            core.settledActions.note(action, .deadLettered(cause))
        }
        try keys.beginRetention(of: action)
        try order.leaving(action, of: queue)
        try groups.openGroups(of: action)
        try groups.forgetDeferral(action)
        order.count(-1, in: queue)
        try connection.cached("DELETE FROM sluice_action_rows WHERE id = ?1").bind(1, action.rawValue).run()
        try connection.cached("DELETE FROM sluice_state_rows WHERE action_id = ?1").bind(1, action.rawValue)
            .run()
    }
}
