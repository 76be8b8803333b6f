internal import SluiceSQLite

/// Owns the groups of actions: while the start of a group has not succeeded, its members are passed over.
final class Groups: TransactionSubject {
    let core: TransactionCore
    /// Whether any action has groups or is deferred for a gate; `nil` until it is read.
    var hasTraces: Bool?

    init(_ core: TransactionCore) { self.core = core }
    func forget() { hasTraces = nil }

    /// Replaces the groups that an action starts and is a member of.
    func setGroups(of action: ActionID, in queue: QueueID, _ groups: ActionGroups) throws(SQLiteError) {
        try forgetTraces(of: action)
        let insert: StaticString = """
            INSERT OR IGNORE INTO sluice_group_rows (action_id, name, is_start, queue_id)
            VALUES (?1, ?2, ?3, ?4)
            """
        for (names, isStart) in [(groups.started, true), (groups.joined, false)] {
            for name in names {
                try connection.cached(insert).bind(1, action.rawValue).bind(2, name.rawValue).bind(3, isStart)
                    .bind(4, queue.rawValue).run()
            }
        }
        if !groups.isEmpty { hasTraces = true }
    }

    /// Returns whether an action's group is closed: its start sorts earlier, or has failed in this pass.
    func isGroupClosed(for place: Place, in queue: QueueID) throws(SQLiteError) -> Bool {
        guard try hasAnyTraces() else { return false }
        // A start that the application has scheduled for later has no place before it is due.
        return try connection.cached(
            """
            SELECT 1 FROM sluice_group_rows AS m
            WHERE m.action_id = ?1 AND m.is_start = 0
              AND (EXISTS (SELECT 1 FROM sluice_closed_group_rows WHERE queue_id = ?2 AND name = m.name)
                   OR EXISTS (SELECT 1 FROM sluice_group_rows AS s
                              CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
                              LEFT JOIN sluice_state_rows AS t ON t.action_id = a.id
                              WHERE s.queue_id = ?2 AND s.name = m.name AND s.is_start = 1 AND a.queue_id = ?2
                                AND (a.sort_key, a.id) < (?3, ?1)
                                AND (a.not_before_us IS NULL OR a.not_before_us = ?4
                                     OR a.not_before_us = t.next_attempt_at_us)))
            """
        ).bind(1, place.action.rawValue).bind(2, queue.rawValue).bind(3, place.key)
            .bind(4, Timestamp.whenOpened.microseconds).hasRow()
    }

    /// Closes the groups of an action for the rest of its pass, before it becomes a dead letter.
    func leavePass(
        _ action: ActionID,
        of queue: QueueID,
        by discipline: QueueDiscipline,
        _ policy: FailurePolicy
    ) throws(SQLiteError) {
        guard discipline == .passOver, policy == .skip, try hasAnyTraces() else { return }
        let insert: StaticString = """
            INSERT OR IGNORE INTO sluice_closed_group_rows (queue_id, name)
            SELECT ?2, name FROM sluice_group_rows WHERE action_id = ?1 AND is_start = 1
            """
        try connection.cached(insert).bind(1, action.rawValue).bind(2, queue.rawValue).run()
        // They are open in the next pass.
        order.repeatPass(of: queue)
    }

    /// Opens the groups that an action starts, before it leaves its place; members may run in the next pass.
    func openGroups(of action: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        let queues = try connection.cached(
            """
            UPDATE sluice_pass_rows SET is_worth_repeating = 1
            WHERE queue_id IN (SELECT queue_id FROM sluice_group_rows WHERE action_id = ?1 AND is_start = 1)
            RETURNING queue_id
            """
        ).bind(1, action.rawValue).all { QueueID(rawValue: $0.int64(0)) }
        for queue in queues { order.repeatPass(of: queue) }
    }

    func moveGroups(of action: ActionID, to queue: QueueID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        try openGroups(of: action)
        try run("UPDATE sluice_group_rows SET queue_id = ?2 WHERE action_id = ?1", action, queue.rawValue)
    }

    /// Ends the pass through a queue, and returns whether another one begins.
    func endPass(of queue: QueueID) throws(SQLiteError) -> Bool {
        if try hasAnyTraces() {
            try connection.cached("DELETE FROM sluice_closed_group_rows WHERE queue_id = ?1")
                .bind(1, queue.rawValue).run()
        }
        return try order.endPass(of: queue)
    }

    /// Returns whether there are any groups, deferrals for gates or closed groups: most files have none.
    private func hasAnyTraces() throws(SQLiteError) -> Bool {
        if let hasTraces { return hasTraces }
        let query: StaticString = """
            SELECT 1 FROM sluice_group_rows UNION ALL SELECT 1 FROM sluice_deferred_rows
            UNION ALL SELECT 1 FROM sluice_closed_group_rows LIMIT 1
            """
        let found = try connection.cached(query).hasRow()
        hasTraces = found
        return found
    }

    /// Deletes the groups of an action that is deleted for good.
    func forgetTraces(of action: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        let found = try connection.cached("SELECT max(is_start) FROM sluice_group_rows WHERE action_id = ?1")
            .bind(1, action.rawValue).first { $0.optionalInt64(0) }
        if let found, let starts = found {
            if starts > 0 { try openGroups(of: action) }
            try run("DELETE FROM sluice_group_rows WHERE action_id = ?1", action)
        }
        try forgetDeferral(action)
    }

    /// Deletes the deferral of an action, which may have become a dead letter; its groups remain.
    func forgetDeferral(_ action: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        try run("DELETE FROM sluice_deferred_rows WHERE action_id = ?1", action)
    }

    func regroup(_ action: ActionID, as newAction: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        try connection.cached("UPDATE sluice_group_rows SET action_id = ?2 WHERE action_id = ?1")
            .bind(1, action.rawValue).bind(2, newAction.rawValue).run()
    }
}

extension ActionGroups {
    init(of action: ActionID, _ connection: Connection) throws(SQLiteError) {
        let rows = try connection.cached(
            "SELECT name, is_start FROM sluice_group_rows WHERE action_id = ?1 ORDER BY name"
        ).bind(1, action.rawValue).all { (GroupName($0.text(0)), isStart: $0.bool(1)) }
        self.init(started: rows.filter(\.isStart).map(\.0), joined: rows.filter { !$0.isStart }.map(\.0))
    }
}

extension TransactionSubject {
    /// Runs a statement about an action, its first value, and returns how many rows it changed.
    @discardableResult
    func run(_ text: StaticString, _ action: ActionID) throws(SQLiteError) -> Int {
        try connection.cached(text).bind(1, action.rawValue).run()
    }

    func run(_ text: StaticString, _ action: ActionID, _ second: Int64?) throws(SQLiteError) {
        try connection.cached(text).bind(1, action.rawValue).bind(2, second).run()
    }
}
