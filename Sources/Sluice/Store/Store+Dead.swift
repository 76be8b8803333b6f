internal import SluiceSQLite

extension Store {
    func deadLetters(
        _ filter: DeadLetterFilter = DeadLetterFilter(),
        after last: DeadLetterPlace? = nil,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter] {
        let (first, end) = filter.form.bounds
        return try await read { connection in
            try connection.cached(
                """
                SELECT d.id, q.name, d.kind, d.cause, d.error, d.attempts, d.died_at_us, d.payload,
                       d.sort_key, d.sort_type, d.tag, d.gate, d.version, d.enqueued_at_us
                FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
                WHERE q.name >= ?1 AND (?2 IS NULL OR q.name < ?2) AND (?3 IS NULL OR d.cause = ?3)
                  AND (?4 IS NULL OR (d.died_at_us, d.id) < (?4, ?5))
                ORDER BY d.died_at_us DESC, d.id DESC LIMIT ?6
                """
            ).bind(1, first).bind(2, end).bind(3, filter.cause?.rawValue).bind(4, last?.diedAt.microseconds)
                .bind(5, last?.id.rawValue).bind(6, limit).all(DeadLetter.init)
        }
    }

    package func deadLetterCount() async throws(SluiceError) -> Int {
        try await read { try $0.cached("SELECT count(*) FROM sluice_dead_rows").first { $0.int(0) } ?? 0 }
    }

    package func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        try await read { connection in
            try connection.cached(
                """
                SELECT d.id, q.name, d.kind, d.cause, d.error, d.attempts, d.died_at_us, d.payload,
                       d.sort_key, d.sort_type, d.tag, d.gate, d.version, d.enqueued_at_us
                FROM sluice_dead_rows AS d JOIN sluice_queue_rows AS q USING (queue_id) WHERE d.id = ?1
                """
            ).bind(1, action.rawValue).first(DeadLetter.init)
        }
    }

    package func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt] {
        try await read { connection in
            try connection.cached(
                """
                SELECT number, outcome, error, started_at_us, ended_at_us FROM sluice_attempt_rows
                WHERE action_id = ?1 ORDER BY claim
                """
            ).bind(1, action.rawValue).all {
                FailedAttempt(
                    number: $0.int(0),
                    cause: FailureCause(rawValue: $0.text(1)),
                    error: $0.text(2),
                    startedAt: Timestamp(microseconds: $0.int64(3)).date,
                    endedAt: Timestamp(microseconds: $0.int64(4)).date
                )
            }
        }
    }

    package func requeueAtEnd(_ action: ActionID) async throws(SluiceError) -> ActionID? {
        try await write(sync: .owed) { try $0.deadLetters.requeueAtEnd(action) }
    }

    /// Requeues a batch of dead letters, in the order of their sequences.
    func requeue(
        _ filter: DeadLetterFilter,
        _ page: CancelPage
    ) async throws(SluiceError) -> (requeued: ActResult, next: CancelPage?) {
        try await write(sync: .owed) { try $0.deadLetters.requeue(filter, page) }
    }

    package func lastDeadLetter() async throws(SluiceError) -> ActionID {
        try await read {
            try $0.cached("SELECT coalesce(max(id), 0) FROM sluice_dead_rows")
                .first { ActionID(rawValue: $0.int64(0)) } ?? ActionID(rawValue: 0)
        }
    }

    /// Returns the newest dead letter after skipping a number of newer ones.
    func deadLetter(
        _ filter: DeadLetterFilter,
        behind count: Int
    ) async throws(SluiceError) -> (diedAt: Timestamp, id: ActionID)? {
        let (first, end) = filter.form.bounds
        return try await read { connection in
            try connection.cached(
                """
                SELECT d.died_at_us, d.id FROM sluice_dead_rows AS d
                JOIN sluice_queue_rows AS q ON q.queue_id = d.queue_id
                WHERE q.name >= ?1 AND (?2 IS NULL OR q.name < ?2) AND (?3 IS NULL OR d.cause = ?3)
                ORDER BY d.died_at_us DESC, d.id DESC LIMIT 1 OFFSET ?4
                """
            ).bind(1, first).bind(2, end).bind(3, filter.cause?.rawValue).bind(4, count)
                .first { (Timestamp(microseconds: $0.int64(0)), ActionID(rawValue: $0.int64(1))) }
        }
    }

    /// Purges a batch of the oldest; returns fewer than ``DeadLetters/batchSize`` if none is left.
    func purge(
        _ filter: DeadLetterFilter,
        diedBefore before: Timestamp?,
        through last: (diedAt: Timestamp, id: ActionID)
    ) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.deadLetters.purge(filter, diedBefore: before, through: last) }
    }

    package func purge(_ action: ActionID) async throws(SluiceError) -> Bool {
        try await write(sync: .owed) { try $0.deadLetters.purge(action) }
    }
}

extension DeadLetter {
    fileprivate init(_ row: Row) {
        var columns = row.columns
        id = ActionID(rawValue: columns.int64())
        queue = QueueName(columns.text())
        kind = columns.text()
        // The table's CHECK admits no other cause.
        cause = FailureCause(rawValue: columns.text()) ?? .failed
        error = columns.text()
        attempts = columns.count()
        diedAt = columns.time().date
        payload = columns.text()
        sortKey = SortKey(PlaceKey(&columns), columns.sortKind())
        tag = columns.optionalText()
        gate = columns.gate()
        version = columns.int()
        enqueuedAt = columns.time().date
    }
}
