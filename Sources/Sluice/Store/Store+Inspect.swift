internal import SluiceJSON
internal import SluiceSQLite

#if canImport(FoundationEssentials)
internal import struct FoundationEssentials.Date
#else
internal import struct Foundation.Date
#endif

extension Store {
    func isWaiting(_ action: ActionID, in queue: QueueID) async throws(SluiceError) -> Bool {
        try await read { connection in
            try connection.cached("SELECT 1 FROM sluice_action_rows WHERE id = ?1 AND queue_id = ?2")
                .bind(1, action.rawValue).bind(2, queue.rawValue).hasRow()
        }
    }

    /// Returns waiting and running actions, by queue and in the order in which each queue runs them.
    package func actionSummaries(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionSummary] {
        let now = clock.now
        return try await read { [nonce, identity] connection in
            // The claims of dead processes, which the view shows too, are not runs.
            let living = try RunnerRow.living(connection, own: nonce, seenFrom: identity, at: now)
            let runs = Set(
                try connection.cached(
                    """
                    SELECT action_id FROM sluice_claim_rows
                    WHERE claim >> 32 IN (SELECT value FROM json_each(?1))
                    """
                ).bind(1, RunnerRow.epochs(living)).all { $0.int64(0) }
            )
            return try OrderReader(connection: connection).actions(form, limit: limit).compactMap { action in
                try connection.cached(
                    """
                    SELECT id, queue, kind, sort_key, attempts, running_since, next_attempt_at, not_before,
                           enqueued_at, last_error, payload FROM sluice_actions WHERE id = ?1
                    """
                ).bind(1, action.rawValue).first {
                    var columns = $0.columns
                    let (id, queue) = (ActionID(rawValue: columns.int64()), QueueName(columns.text()))
                    let (kind, sortKey) = (columns.text(), columns.optionalText())
                    let (attempts, claimedAt) = (columns.count(), columns.date())
                    let isRun = runs.contains(action.rawValue)
                    return ActionSummary(
                        id: id,
                        queue: queue,
                        kind: kind,
                        sortKey: sortKey,
                        attempts: attempts - (claimedAt != nil && !isRun ? 1 : 0),
                        runningSince: isRun ? claimedAt : nil,
                        nextAttemptAt: columns.date(),
                        notBefore: columns.date(),
                        enqueuedAt: columns.date() ?? .distantPast,
                        lastError: columns.optionalText(),
                        payload: columns.text()
                    )
                }
            }
        }
    }

    package func actionCount() async throws(SluiceError) -> Int {
        try await read { try $0.cached("SELECT count(*) FROM sluice_action_rows").first { $0.int(0) } ?? 0 }
    }

    /// Counts actions by kind and parked queues by reason, in one read: `limit` at most, the oldest first.
    package func measure(limit: Int) async throws(SluiceError) -> Measurement {
        try await read { connection in
            let kinds = try connection.cached(
                """
                SELECT kind, count(*), min(enqueued_at_us)
                FROM (SELECT kind, enqueued_at_us FROM sluice_action_rows ORDER BY id LIMIT ?1) GROUP BY kind
                """
            ).bind(1, limit).all {
                Measurement.Kind(name: $0.text(0), depth: $0.int(1), oldest: .init(microseconds: $0.int64(2)))
            }
            // A queue that waits for a gate is not parked: the gate may have opened since.
            let parked = try connection.cached(
                """
                SELECT blocked_by, count(*)
                FROM (SELECT blocked_by FROM sluice_queue_rows WHERE blocked_by IS NOT NULL LIMIT ?1)
                WHERE blocked_by <> 'gate' GROUP BY blocked_by
                """
            ).bind(1, limit).all { ($0.text(0), $0.int(1)) }
            return Measurement(
                kinds: kinds,
                parked: Dictionary(uniqueKeysWithValues: parked),
                walByteCount: connection.walPath.flatMap(DatabaseFile.byteCount(of:))
            )
        }
    }

    /// Opens the file for reading, with a writer that refuses all writes.
    static func openToRead(
        _ file: DatabaseFile,
        _ path: String?,
        _ check: FileCheck,
        _ options: BrokerOptions
    ) throws(SluiceError) -> (Reader, Writer) {
        guard let path else {
            throw SluiceError(.invalidOptions, "queues in memory cannot be opened with the role readOnly")
        }
        let opened = try file.openToRead(path)
        let reader = Reader(path, check, options.engine, open: { try file.openToRead(path) }, opened: opened)
        let refusal = SluiceError(
            .readOnly,
            "\(path) was opened with the role readOnly: open it with the role run or enqueueOnly to change it"
        )
        return (reader, Writer(refusing: refusal, check, options.engine))
    }
}

extension Columns {
    /// A time as the views show it: ISO 8601, or a number of microseconds outside the years 0 to 9999.
    mutating func date() -> Date? {
        guard let text = optionalText() else { return nil }
        return (DateTime(text)?.microseconds ?? Int64(text)).map { Timestamp(microseconds: $0).date }
    }
}
