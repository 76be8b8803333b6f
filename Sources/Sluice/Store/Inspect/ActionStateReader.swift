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
            SELECT a.id, q.name, a.kind, a.sort_key, q.sort_type, a.tag, a.gate,
                   (SELECT key FROM sluice_key_rows WHERE action_id = a.id), a.trace, a.expires_at_us,
                   a.enqueued_at_us, coalesce(s.attempts, 0) + (c.claim IS NOT NULL),
                   coalesce(iif(q.blocked_action_id = a.id AND q.blocked_by NOT IN ('gate', 'failing'),
                                q.blocked_error, NULL),
                            s.last_error),
                   a.payload, a.version, c.started_at_us,
                   iif(q.blocked_action_id = a.id AND q.blocked_by <> 'failing', q.blocked_by, NULL),
                   q.blocked_at_us, s.next_attempt_at_us, a.not_before_us, a.queue_id, q.is_reversed
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            LEFT JOIN sluice_claim_rows AS c ON c.queue_id = a.queue_id AND c.action_id = a.id
                AND c.claim >> 32 IN (SELECT value FROM json_each(?2))
            WHERE a.id IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, list).bind(2, living).all { row in
            var columns = row.columns
            let state = state(&columns, groups)
            let place = Place(row, key: 3, action: 0)
            return (state: state, place: place, queue: columns.int64(), isReversed: columns.bool())
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
            SELECT d.id, q.name, d.kind, d.sort_key, d.sort_type, d.tag, d.gate,
                   (SELECT key FROM sluice_key_rows WHERE action_id = d.id), d.trace, NULL,
                   d.enqueued_at_us, d.attempts, d.error, d.payload, d.version, d.cause, d.died_at_us
            FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
            WHERE d.id IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, list).all { row in
            var columns = row.columns
            let (id, details) = details(&columns, groups)
            // The table's CHECK admits no other cause.
            let cause = FailureCause(rawValue: columns.text()) ?? .failed
            return ActionState(id: id, phase: .dead(cause, at: columns.time().date), details: details)
        }
    }

    /// Reads what actions and dead letters have in common, the first 15 columns of both.
    private func details(
        _ columns: inout Columns,
        _ groups: GroupsOfActions
    ) -> (id: ActionID, ActionState.Details) {
        let id = ActionID(rawValue: columns.int64())
        let details = ActionState.Details(
            queue: QueueName(columns.text()),
            kind: columns.text(),
            sortKey: SortKey(PlaceKey(&columns), columns.sortKind()),
            tag: columns.optionalText(),
            gate: columns.gate(),
            key: columns.optionalText(),
            groups: groups[id] ?? ActionGroups(),
            trace: columns.optionalText(),
            expiresAt: columns.optionalTime()?.date,
            enqueuedAt: columns.time().date,
            attempts: columns.count(),
            lastError: columns.optionalText(),
            stored: StoredPayload(text: columns.text(), version: columns.int(), reader: payloads)
        )
        return (id, details)
    }

    private func state(_ columns: inout Columns, _ groups: GroupsOfActions) -> ActionState {
        let (id, details) = details(&columns, groups)
        let (started, blockedBy, blockedAt) = (
            columns.optionalTime(), columns.optionalText(), columns.optionalTime()
        )
        let (nextAttempt, notBefore) = (columns.optionalTime(), columns.optionalTime())
        let phase: ActionState.Phase
        if let started {
            phase = .running(since: started.date)
        } else if let reason = blockedBy.map(BlockReason.init(stored:)), !reason.isOfHead {
            phase = .parked(FailureCause(rawValue: reason.rawValue), since: (blockedAt ?? now).date)
        } else if let notBefore, notBefore > now, notBefore != .whenOpened, notBefore != nextAttempt {
            phase = .scheduled(for: notBefore.date)
        } else if let nextAttempt, nextAttempt > now {
            phase = .retrying(at: nextAttempt.date)
        } else {
            phase = .waiting
        }
        return ActionState(id: id, phase: phase, details: details)
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
