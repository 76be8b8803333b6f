internal import SluiceSQLite

/// Reads the states of actions and dead letters from one snapshot.
struct ActionStateReader {
    let connection: Connection
    let now: Timestamp
    /// The epochs whose claims are valid, as a JSON array.
    let living: String
    let payloads: PayloadReader

    /// Returns the numbers of the actions and dead letters with a tag; `limit` of them, the oldest.
    func actions(tag: String, limit: Int = .max) throws(SQLiteError) -> [ActionID] {
        try connection.cached(
            """
            SELECT id FROM sluice_action_rows WHERE tag = ?1
            UNION ALL SELECT id FROM sluice_dead_rows WHERE tag = ?1 ORDER BY id LIMIT ?2
            """
        ).bind(1, tag).bind(2, limit).all { ActionID(rawValue: $0.int64(0)) }
    }

    /// Returns the numbers of the actions and dead letters of the queues that match a pattern.
    func actions(_ form: QueuePattern.Form) throws(SQLiteError) -> [ActionID] {
        let (first, last) = form.bounds
        // The blob sorts after every name, also one that is no text in a damaged file.
        return try connection.cached(
            """
            SELECT a.id FROM sluice_queue_rows AS q
            CROSS JOIN sluice_order_rows AS o ON o.queue_id = q.queue_id
            CROSS JOIN sluice_action_rows AS a
              ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
            WHERE q.name >= ?1 AND q.name < coalesce(?2, x'ffffffffffffffff')
            UNION ALL
            SELECT a.id FROM sluice_action_rows AS a CROSS JOIN sluice_queue_rows AS q USING (queue_id)
            WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
              AND q.name >= ?1 AND q.name < coalesce(?2, x'ffffffffffffffff')
            UNION ALL
            SELECT a.id FROM sluice_queue_rows AS q
            CROSS JOIN sluice_action_rows AS a ON a.queue_id = q.queue_id AND a.not_before_us IS NOT NULL
            WHERE q.name >= ?1 AND q.name < coalesce(?2, x'ffffffffffffffff')
            UNION ALL
            SELECT d.id FROM sluice_queue_rows AS q CROSS JOIN sluice_dead_rows AS d USING (queue_id)
            WHERE q.name >= ?1 AND q.name < coalesce(?2, x'ffffffffffffffff')
            """
        ).bind(1, first).bind(2, last).all { ActionID(rawValue: $0.int64(0)) }
    }

    /// Returns the states of those actions that exist, by number.
    ///
    /// - Parameter queues: The disciplines set in code, to count the actions ahead of each; `nil`: no counts.
    func states(
        _ ids: some Collection<ActionID>,
        countedBy queues: QueueTable? = nil
    ) throws(SQLiteError) -> [ActionState] {
        let list = "[\(ids.map { "\($0.rawValue)" }.joined(separator: ","))]"
        let groups = try groups(list)
        let living = try livingStates(list, groups, countedBy: queues)
        return try (living + deadLetters(list, groups)).sorted { $0.id < $1.id }
    }

    private typealias GroupsOfActions = [ActionID: ActionGroups]

    private func groups(_ list: String) throws(SQLiteError) -> GroupsOfActions {
        try connection.cached(
            """
            SELECT action_id, name, is_start FROM sluice_group_rows
            WHERE action_id IN (SELECT value FROM json_each(?1)) ORDER BY action_id, name
            """
        ).bind(1, list).all { (ActionID(rawValue: $0.int64(0)), GroupName($0.text(1)), isStart: $0.bool(2)) }
            .reduce(into: [:]) { found, row in
                found[row.0, default: ActionGroups()].add(row.1, isStart: row.isStart)
            }
    }

    private func livingStates(
        _ list: String,
        _ groups: GroupsOfActions,
        countedBy queues: QueueTable?
    ) throws(SQLiteError) -> [ActionState] {
        let found = try connection.cached(
            """
            SELECT a.id, q.name, a.kind, a.sort_key, q.sort_type, a.tag, a.enqueued_at_us, a.payload,
                   a.version, coalesce(s.attempts, 0) + (c.claim IS NOT NULL),
                   coalesce(iif(q.blocked_action_id = a.id AND q.blocked_by NOT IN ('gate', 'failing'),
                                q.blocked_error, NULL),
                            s.last_error), c.started_at_us,
                   iif(q.blocked_action_id = a.id AND q.blocked_by <> 'failing', q.blocked_by, NULL),
                   q.blocked_at_us, s.next_attempt_at_us, a.not_before_us, a.queue_id, q.is_reversed,
                   a.expires_at_us, a.gate, a.trace,
                   (SELECT key FROM sluice_key_rows WHERE action_id = a.id)
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            LEFT JOIN sluice_claim_rows AS c ON c.queue_id = a.queue_id AND c.action_id = a.id
                AND c.claim >> 32 IN (SELECT value FROM json_each(?2))
            WHERE a.id IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, list).bind(2, living).all { row in
            (
                state: state(row, groups), place: Place(row, key: 3, action: 0), queue: row.int64(16),
                isReversed: row.bool(17)
            )
        }
        guard let queues else { return found.map(\.state) }
        return try found.map { found throws(SQLiteError) in
            var state = found.state
            guard state.phase == .waiting else { return state }
            let said = state.details.flatMap { queues.saidDiscipline(of: $0.queue) }
            let isReversed = said.map { $0 == .lastInFirstOut } ?? found.isReversed
            state.ahead = try count(found.place, of: found.queue, isReversed: isReversed)
            return state
        }
    }

    private func deadLetters(
        _ list: String,
        _ groups: GroupsOfActions
    ) throws(SQLiteError) -> [ActionState] {
        try connection.cached(
            """
            SELECT d.id, q.name, d.kind, d.sort_key, d.sort_type, d.tag, d.enqueued_at_us, d.payload,
                   d.version, d.attempts, d.error, d.cause, d.died_at_us, d.gate, d.trace,
                   (SELECT key FROM sluice_key_rows WHERE action_id = d.id)
            FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
            WHERE d.id IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, list).all { row in
            // The table's CHECK admits no other cause.
            let cause = DeadLetterCause(rawValue: row.text(11)) ?? .failed
            return ActionState(
                id: ActionID(rawValue: row.int64(0)),
                phase: .dead(cause, at: Timestamp(microseconds: row.int64(12)).date),
                details: details(row, groups, options: 13)
            )
        }
    }

    /// - Parameter first: The column of the gate; trace and key come after it.
    private func details(
        _ row: Row,
        _ groups: GroupsOfActions,
        options first: Int32,
        expiresAt: Timestamp? = nil
    ) -> ActionState.Details {
        ActionState.Details(
            queue: QueueName(row.text(1)),
            kind: row.text(2),
            sortKey: SortKey(PlaceKey(row, 3), SortKey.Kind(rawValue: row.text(4)) ?? .arrival),
            tag: row.optionalText(5),
            gate: row.optionalText(first).map { GateName($0) },
            key: row.optionalText(first + 2),
            groups: groups[ActionID(rawValue: row.int64(0))] ?? ActionGroups(),
            trace: row.optionalText(first + 1),
            expiresAt: expiresAt?.date,
            enqueuedAt: Timestamp(microseconds: row.int64(6)).date,
            attempts: row.count(9),
            lastError: row.optionalText(10),
            stored: StoredPayload(text: row.text(7), version: row.int(8), reader: payloads)
        )
    }

    private func state(_ row: Row, _ groups: GroupsOfActions) -> ActionState {
        func time(_ column: Int32) -> Timestamp? {
            row.optionalInt64(column).map(Timestamp.init(microseconds:))
        }
        let phase: ActionState.Phase
        if let started = time(11) {
            phase = .running(since: started.date)
        } else if let reason = row.optionalText(12).map(BlockReason.init(stored:)), !reason.isOfHead {
            phase = .parked(FailureCause(rawValue: reason.rawValue), since: (time(13) ?? now).date)
        } else if let due = time(15), due > now, due != .whenOpened, due != time(14) {
            phase = .scheduled(for: due.date)
        } else if let next = time(14), next > now {
            phase = .retrying(at: next.date)
        } else {
            phase = .waiting
        }
        return ActionState(
            id: ActionID(rawValue: row.int64(0)),
            phase: phase,
            details: details(row, groups, options: 19, expiresAt: time(18))
        )
    }

    /// Counts the actions that sort before a place in a queue, or after it if the queue runs its last first.
    private func count(_ place: Place, of queue: Int64, isReversed: Bool) throws(SQLiteError) -> Int {
        let before: StaticString = """
            SELECT (SELECT count(*) FROM sluice_order_rows AS o JOIN sluice_action_rows AS a
                      ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
                    WHERE o.queue_id = ?1 AND (o.sort_key, o.action_id) < (?2, ?3)
                      AND a.not_before_us IS NULL)
                 + (SELECT count(*) FROM sluice_action_rows AS a
                    WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
                      AND a.queue_id = ?1 AND (a.sort_key, a.id) < (?2, ?3) AND a.not_before_us IS NULL)
            """
        let after: StaticString = """
            SELECT (SELECT count(*) FROM sluice_order_rows AS o JOIN sluice_action_rows AS a
                      ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
                    WHERE o.queue_id = ?1 AND (o.sort_key, o.action_id) > (?2, ?3)
                      AND a.not_before_us IS NULL)
                 + (SELECT count(*) FROM sluice_action_rows AS a
                    WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
                      AND a.queue_id = ?1 AND (a.sort_key, a.id) > (?2, ?3) AND a.not_before_us IS NULL)
            """
        return try connection.cached(isReversed ? after : before).bind(1, queue).bind(2, place.key)
            .bind(3, place.action.rawValue).first { $0.int(0) } ?? 0
    }
}

extension ActionSelection.Form {
    func matches(_ state: ActionState) -> Bool {
        guard let details = state.details else { return false }
        switch self {
        case .action(let id): return state.id == id
        // By bytes, as SQLite compares.
        case .tag(let tag): return details.tag.map { $0.utf8.elementsEqual(tag.utf8) } ?? false
        case .queues(let form): return form.matches(details.queue)
        }
    }
}
