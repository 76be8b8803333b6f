internal import SluiceSQLite

enum ActionChoice: Sendable {
    case id(ActionID)
    case tag(String)
}

extension Store {
    /// Returns the states of actions and dead letters, by number; `waiting` ones without a `because`.
    func states(
        of choice: ActionChoice,
        limit: Int,
        _ queues: QueueTable,
        _ payloads: PayloadReader
    ) async throws(SluiceError) -> [ActionState] {
        let now = clock.now
        return try await read { [nonce, identity] connection in
            let living = try RunnerRow.living(connection, own: nonce, seenFrom: identity, at: now)
            let reader = ActionStateReader(connection, now, RunnerRow.epochs(living), queues, payloads)
            let found = try reader.actions(choice, limit) + reader.deadLetters(choice, limit)
            return Array(found.sorted { $0.id.rawValue < $1.id.rawValue }.prefix(limit))
        }
    }

    /// Returns how an action has ended; `nil` if it is in its queue.
    func end(of action: ActionID) async throws(SluiceError) -> ActionEnd? {
        if isReadOnly {
            return try await read { try DeduplicationKeys.hasSucceeded(action, $0) ? .succeeded : .unknown }
        }
        return try await write(sync: .later) {
            guard let end = try $0.core.end(of: action) else { return nil }
            // First the key: another process may have run a dead letter that was put back.
            return try DeduplicationKeys.hasSucceeded(action, $0.connection) ? .succeeded : end
        }
    }
}

private struct ActionStateReader {
    let connection: Connection
    let now: Timestamp
    /// The epochs whose claims are valid, as a JSON array.
    let living: String
    /// The disciplines set in code.
    let queues: QueueTable
    let payloads: PayloadReader

    init(
        _ connection: Connection,
        _ now: Timestamp,
        _ living: String,
        _ queues: QueueTable,
        _ payloads: PayloadReader
    ) {
        (self.connection, self.now, self.living) = (connection, now, living)
        (self.queues, self.payloads) = (queues, payloads)
    }

    func actions(_ choice: ActionChoice, _ limit: Int) throws(SQLiteError) -> [ActionState] {
        let found = try connection.cached(
            """
            SELECT a.id, q.name, a.kind, a.sort_key, q.sort_type, a.tag, a.enqueued_at_us, a.payload,
                   a.version, coalesce(s.attempts, 0) + (c.claim IS NOT NULL),
                   coalesce(iif(q.blocked_action_id = a.id AND q.blocked_by NOT IN ('gate', 'failing'),
                                q.blocked_error, NULL),
                            s.last_error), c.started_at_us,
                   iif(q.blocked_action_id = a.id AND q.blocked_by <> 'failing', q.blocked_by, NULL),
                   q.blocked_at_us, s.next_attempt_at_us, a.not_before_us, a.queue_id, q.is_reversed
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            LEFT JOIN sluice_claim_rows AS c ON c.queue_id = a.queue_id AND c.action_id = a.id
                AND c.claim >> 32 IN (SELECT value FROM json_each(?3))
            WHERE a.id = ?1 OR a.tag = ?2 ORDER BY a.id LIMIT ?4
            """
        ).bind(1, choice.action).bind(2, choice.tag).bind(3, living).bind(4, limit).all { row in
            (
                state: state(row), place: Place(row, key: 3, action: 0), queue: row.int64(16),
                isReversed: row.bool(17)
            )
        }
        return try found.map { found throws(SQLiteError) in
            var state = found.state
            if case .waiting = state.phase {
                let said = state.details.flatMap { queues.saidDiscipline(of: $0.queue) }
                let isReversed = said.map { $0 == .lastInFirstOut } ?? found.isReversed
                let ahead = try count(found.place, of: found.queue, isReversed: isReversed)
                state.phase = .waiting(ahead: ahead, because: [])
            }
            return state
        }
    }

    func deadLetters(_ choice: ActionChoice, _ limit: Int) throws(SQLiteError) -> [ActionState] {
        try connection.cached(
            """
            SELECT d.id, q.name, d.kind, d.sort_key, d.sort_type, d.tag, d.enqueued_at_us, d.payload,
                   d.version, d.attempts, d.error, d.cause, d.died_at_us
            FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
            WHERE d.id BETWEEN coalesce(?1, 0) AND coalesce(?1, 9223372036854775807)
              AND (?2 IS NULL OR d.tag = ?2) ORDER BY d.id LIMIT ?3
            """
        ).bind(1, choice.action).bind(2, choice.tag).bind(3, limit).all { row in
            // The table's CHECK admits no other cause.
            let cause = DeadLetterCause(rawValue: row.text(11)) ?? .failed
            return ActionState(
                id: ActionID(rawValue: row.int64(0)),
                phase: .dead(cause, at: Timestamp(microseconds: row.int64(12)).date),
                details: details(row)
            )
        }
    }

    private func details(_ row: Row) -> ActionState.Details {
        ActionState.Details(
            queue: QueueName(row.text(1)),
            kind: row.text(2),
            sortKey: SortKey(PlaceKey(row, 3), SortKey.Kind(rawValue: row.text(4)) ?? .arrival),
            tag: row.optionalText(5),
            enqueuedAt: Timestamp(microseconds: row.int64(6)).date,
            attempts: row.count(9),
            lastError: row.optionalText(10),
            stored: StoredPayload(text: row.text(7), version: row.int(8), reader: payloads)
        )
    }

    private func state(_ row: Row) -> ActionState {
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
            phase = .waiting(ahead: 0, because: [])
        }
        return ActionState(id: ActionID(rawValue: row.int64(0)), phase: phase, details: details(row))
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

extension ActionChoice {
    fileprivate var action: Int64? { if case .id(let action) = self { action.rawValue } else { nil } }
    fileprivate var tag: String? { if case .tag(let tag) = self { tag } else { nil } }
}
