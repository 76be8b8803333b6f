internal import SluiceSQLite

/// Groups: which actions are passed over because the start of their group is.
final class Groups: TransactionSubject {
    let core: TransactionCore
    /// Whether any action of the file has groups or is deferred until a gate opens; `nil` until it is asked.
    var hasTraces: Bool?

    init(_ core: TransactionCore) { self.core = core }

    func forget() { hasTraces = nil }

    /// Has an action start groups and be a member of others, and of none beside these.
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

    /// Whether an action is a member of a group whose start stands before it, or has failed for good in this
    /// pass.
    func isGroupClosed(for place: Place, in queue: QueueID) throws(SQLiteError) -> Bool {
        guard try hasAnyTraces() else { return false }
        // A start that the application has scheduled for later has no place before it is due.
        return try connection.cached(
            """
            SELECT 1 FROM sluice_group_rows AS m
            WHERE m.action_id = ?1 AND m.is_start = 0
              AND (EXISTS (SELECT 1 FROM sluice_closed_group_rows AS g
                           WHERE g.queue_id = ?2 AND g.name = m.name)
                   OR EXISTS (SELECT 1 FROM sluice_group_rows AS s
                              CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
                              LEFT JOIN sluice_state_rows AS t ON t.action_id = a.id
                              WHERE s.queue_id = ?2 AND s.name = m.name AND s.is_start = 1 AND a.queue_id = ?2
                                AND (a.sort_key, a.id) < (?3, ?1)
                                AND (a.not_before_us IS NULL OR a.not_before_us = ?4
                                     OR a.not_before_us = t.next_attempt_at_us)))
            """
        )
        .bind(1, place.action.rawValue).bind(2, queue.rawValue).bind(3, place.key)
        .bind(4, Timestamp.whenOpened.microseconds).hasRow()
    }

    /// An action is about to be set aside for good: in its pass its groups stay closed.
    func leavePass(
        _ action: ActionID,
        of queue: QueueID,
        by discipline: QueueDiscipline,
        _ policy: FailurePolicy
    ) throws(SQLiteError) {
        guard discipline == .passOver, policy == .skip, try hasAnyTraces() else { return }
        try connection.cached(
            """
            INSERT OR IGNORE INTO sluice_closed_group_rows (queue_id, name)
            SELECT ?2, name FROM sluice_group_rows WHERE action_id = ?1 AND is_start = 1
            """
        )
        .bind(1, action.rawValue).bind(2, queue.rawValue).run()
        // In the next one they are open.
        order.repeatPass(of: queue)
    }

    /// An action is about to go, or to lose its place: if it starts groups, members that a pass has gone by
    /// may run in the next.
    func openGroups(of action: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        let queues = try connection.cached(
            """
            UPDATE sluice_pass_rows SET is_worth_repeating = 1
            WHERE queue_id IN (SELECT queue_id FROM sluice_group_rows WHERE action_id = ?1 AND is_start = 1)
            RETURNING queue_id
            """
        )
        .bind(1, action.rawValue).all { QueueID(rawValue: $0.int64(0)) }
        for queue in queues { order.repeatPass(of: queue) }
    }

    /// An action is about to go to another queue: so do its groups.
    func moveGroups(of action: ActionID, to queue: QueueID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        try openGroups(of: action)
        try connection.cached("UPDATE sluice_group_rows SET queue_id = ?2 WHERE action_id = ?1")
            .bind(1, action.rawValue).bind(2, queue.rawValue).run()
    }

    /// Ends the pass through a queue.
    ///
    /// - Returns: Whether another one begins.
    func endPass(of queue: QueueID) throws(SQLiteError) -> Bool {
        if try hasAnyTraces() {
            try connection.cached("DELETE FROM sluice_closed_group_rows WHERE queue_id = ?1")
                .bind(1, queue.rawValue).run()
        }
        return try order.endPass(of: queue)
    }

    /// Whether any action has groups or stands aside for a gate, or a group is closed.
    ///
    /// In most files none does, and nothing is paid for it.
    private func hasAnyTraces() throws(SQLiteError) -> Bool {
        if let known = hasTraces { return known }
        let found =
            try connection.cached(
                """
                SELECT EXISTS (SELECT 1 FROM sluice_group_rows) OR EXISTS (SELECT 1 FROM sluice_aside_rows)
                    OR EXISTS (SELECT 1 FROM sluice_closed_group_rows)
                """
            )
            .first { $0.bool(0) } ?? false
        hasTraces = found
        return found
    }

    /// An action has gone for good: so do its groups.
    func forgetTraces(of action: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        let starts =
            try connection.cached("SELECT max(is_start) FROM sluice_group_rows WHERE action_id = ?1")
            .bind(1, action.rawValue).first { $0.optionalInt64(0) } ?? nil
        if let starts {
            if starts > 0 { try openGroups(of: action) }
            try connection.cached("DELETE FROM sluice_group_rows WHERE action_id = ?1")
                .bind(1, action.rawValue).run()
        }
        try forgetAside(action)
    }

    /// An action has become a dead letter, which keeps its groups.
    func forgetAside(_ action: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        try connection.cached("DELETE FROM sluice_aside_rows WHERE action_id = ?1").bind(1, action.rawValue)
            .run()
    }

    /// An action has another number by now.
    func regroup(_ action: ActionID, as newAction: ActionID) throws(SQLiteError) {
        guard try hasAnyTraces() else { return }
        try connection.cached("UPDATE sluice_group_rows SET action_id = ?2 WHERE action_id = ?1")
            .bind(1, action.rawValue).bind(2, newAction.rawValue).run()
    }
}

extension ActionGroups {
    /// Reads the groups of an action.
    init(of action: ActionID, _ connection: Connection) throws(SQLiteError) {
        let rows = try connection.cached(
            "SELECT name, is_start FROM sluice_group_rows WHERE action_id = ?1 ORDER BY name"
        )
        .bind(1, action.rawValue).all { (name: GroupName($0.text(0)), isStart: $0.bool(1)) }
        self.init(
            started: rows.filter(\.isStart).map(\.name),
            joined: rows.filter { !$0.isStart }.map(\.name)
        )
    }
}
