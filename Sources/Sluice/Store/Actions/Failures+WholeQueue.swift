internal import SluiceSQLite

/// The policy that fails a whole queue: the actions after a failed one become dead letters, in batches.
extension Failures {
    /// The most dead letters that one transaction makes when a whole queue fails.
    static let failBatchSize = 500

    /// Marks a queue as failing: its actions after one, or before it if reversed, become dead letters.
    func failAll(
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
        ).bind(1, queue.rawValue).bind(2, action.rawValue).bind(3, now.microseconds).bind(4, bounded(error))
            .bind(5, mutant("arrivals while failing") ? .max : last.rawValue).bind(6, isReversed).run()
    }

    /// Makes dead letters of the next actions of a failing queue; if none are left, it continues: `false`.
    @discardableResult
    func failBatch(of queue: QueueID) throws(SQLiteError) -> Bool {
        let query: StaticString = """
            SELECT fail_through_id, blocked_error, blocked_action_id, fail_key, fail_is_reversed
            FROM sluice_queue_rows WHERE queue_id = ?1 AND blocked_by = 'failing'
            """
        let failing = try connection.cached(query).bind(1, queue.rawValue).first {
            (
                through: ActionID(rawValue: $0.int64(0)), error: $0.text(1),
                failed: Place(key: PlaceKey($0, 3), action: ActionID(rawValue: $0.int64(2))),
                isReversed: $0.bool(4)
            )
        }
        if let failing {
            let (failed, last, isReversed) = (failing.failed, failing.through, failing.isReversed)
            let batch = try actions(in: queue, behind: failed, isReversed: isReversed, through: last)
            for place in batch where try isAt(place, of: queue) {
                try makeDeadLetter(place.action, of: queue, "behind", error: failing.error)
            }
            guard batch.count < Self.failBatchSize else { return true }
        }
        try blocks.unblock(queue)
        return false
    }

    /// Returns a batch of actions, in no order, that sort after a place and are no newer than `last`.
    ///
    /// The newest of them are removed from the order in memory. The result may contain places that their
    /// actions do not have any more.
    private func actions(
        in queue: QueueID,
        behind place: Place,
        isReversed: Bool,
        through last: ActionID
    ) throws(SQLiteError) -> [Place] {
        var found = try order.takeNewest(
            of: queue,
            behind: place,
            isReversed: isReversed,
            through: last,
            sparing: try spared(in: queue, after: last),
            limit: Self.failBatchSize
        )
        let action = place.action.rawValue
        let (low, high): (Int64, Int64) = isReversed ? (0, action) : (action, 0)
        let (end, openEnd): (Int32, Int32) = isReversed ? (6, 4) : (4, 6)
        for text in [Self.orderedBehind, Self.scheduledBehind] {
            found += try connection.cached(text)
                .bind(1, queue.rawValue).bind(2, last.rawValue).bind(3, Self.failBatchSize - found.count)
                .bind(end, place.key).bind(openEnd, Int64?.none).bind(5, low).bind(7, high)
                .all { Place(key: PlaceKey($0, 0), action: ActionID(rawValue: $0.int64(1))) }
        }
        return found
    }

    // One end of the range is open: no key is less than -9e999, and a blob is greater than all keys.
    private static let orderedBehind: StaticString = """
        SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o
        WHERE o.queue_id = ?1 AND o.action_id <= ?2
          AND (o.sort_key, o.action_id) > (coalesce(?4, -9e999), ?5)
          AND (o.sort_key, o.action_id) < (coalesce(?6, x''), ?7)
          AND EXISTS (SELECT 1 FROM sluice_action_rows AS a
                      WHERE a.id = o.action_id AND a.queue_id = ?1 AND a.sort_key = o.sort_key)
          AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = ?1 AND action_id = o.action_id)
          AND NOT EXISTS (SELECT 1 FROM sluice_state_rows AS s
                          WHERE s.action_id = o.action_id AND s.arrived_as_id > ?2)
        LIMIT ?3
        """

    private static let scheduledBehind: StaticString = """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE a.queue_id = ?1 AND a.not_before_us IS NOT NULL AND a.id <= ?2
          AND (a.sort_key, a.id) > (coalesce(?4, -9e999), ?5) AND (a.sort_key, a.id) < (coalesce(?6, x''), ?7)
          AND NOT EXISTS (SELECT 1 FROM sluice_state_rows WHERE action_id = a.id AND arrived_as_id > ?2)
        LIMIT ?3
        """

    /// Returns the actions that are exempt from the failing of a queue.
    ///
    /// Those that run, in whatever process, end by their own outcomes; others entered the queue since.
    private func spared(in queue: QueueID, after last: ActionID) throws(SQLiteError) -> Set<ActionID> {
        let actions = try connection.cached(
            """
            SELECT action_id FROM sluice_claim_rows WHERE queue_id = ?1
            UNION ALL
            SELECT s.action_id FROM sluice_state_rows AS s
            CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
            WHERE s.arrived_as_id > ?2 AND a.queue_id = ?1
            """
        ).bind(1, queue.rawValue).bind(2, last.rawValue).all { ActionID(rawValue: $0.int64(0)) }
        return Set(actions)
    }

    /// Returns whether an action is at a place of a queue's order, or will be when it is due.
    private func isAt(_ place: Place, of queue: QueueID) throws(SQLiteError) -> Bool {
        let query: StaticString = "SELECT sort_key FROM sluice_action_rows WHERE id = ?1 AND queue_id = ?2"
        let statement = try connection.cached(query).bind(1, place.action.rawValue).bind(2, queue.rawValue)
        return try statement.first { PlaceKey($0, 0) } == place.key
    }
}
