#if PostgreSQL
package import Sluice

/// Reading the queues; each read has a snapshot of its own.
extension ServerEngine {
    /// Reads one queue by a function of its own, which looks at no other.
    private func status(of queue: QueueName) async throws(SluiceError) -> [QueueStatus] {
        let rows = try await read(
            "reading a status",
            QueueFactRow.sql("@sluice_status($1)"),
            [queue.rawValue]
        )
        return statuses(rows)
    }

    package func statuses(
        matching form: QueuePattern.Form,
        in states: Set<QueueStatus.State>?,
        limit: Int
    ) async throws(SluiceError) -> [QueueStatus] {
        if case .exact(let queue) = form, states == nil { return try await status(of: queue) }
        let rows = try await read(
            "reading statuses",
            QueueFactRow.sql("@sluice_statuses($1, $2::text[], $3)"),
            [
                form.rawValue, states.map { PostgresArray.text($0.map(\.rawValue)) },
                "\(min(limit, Int(Int32.max)))",
            ]
        )
        return statuses(rows)
    }

    private func statuses(_ rows: PostgresRows) -> [QueueStatus] {
        rows.map { QueueFactRow($0, own: loop.lease.worker, refusal: loop.refusal).status }
    }

    package func action(_ id: ActionID) async throws(SluiceError) -> ActionState {
        let found = try await states("ids => $1::bigint[]", [PostgresArray.numbers([id.rawValue])])
        return found.first
            ?? ActionState(id: id, phase: .ended(loop.end(of: id) ?? .unknown), details: nil)
    }

    package func actions(tag: String, limit: Int) async throws(SluiceError) -> [ActionState] {
        try await states("tag => $1, lim => $2", [tag, "\(min(limit, Int(Int32.max)))"])
    }

    func states(_ arguments: String, _ parameters: [String?]) async throws(SluiceError) -> [ActionState] {
        let rows = try await read(
            "reading the states of actions",
            ActionStateRow.sql("@sluice_action_states(\(arguments))"),
            parameters
        )
        return rows.map { row in
            let id = ActionID(rawValue: row.integer("action") ?? 0)
            return ActionStateRow(row).state(reader: book.reader, ended: loop.end(of: id))
        }
    }

    package func actionSummaries(
        _ form: QueuePattern.Form,
        limit: Int
    ) async throws(SluiceError) -> [ActionSummary] {
        let rows = try await read(
            "reading actions",
            ActionSummaryRow.sql,
            [form.rawValue, "\(min(limit, Int(Int32.max)))"]
        )
        return rows.map { ActionSummaryRow($0).summary }
    }

    package func actionCount() async throws(SluiceError) -> Int {
        let rows = try await read("counting actions", "SELECT @sluice_action_count() AS count")
        return Int(rows.first?.integer("count") ?? 0)
    }

    /// Counts actions by kind and parked queues by reason: `limit` at most, the oldest first.
    func measurement(of limit: Int) async throws(SluiceError) -> Measurement {
        let limit = "\(min(limit, Int(Int32.max)))"
        let kinds = try await read(
            "counting kinds",
            """
            SELECT kind, count(*) AS depth, \(microseconds("min(enqueued_at)")) AS oldest
            FROM (SELECT kind, enqueued_at FROM @sluice_action_rows ORDER BY id LIMIT $1) AS a GROUP BY kind
            """,
            [limit]
        )
        // A queue that waits for a hold, a gate or a permit is not parked.
        let parked = try await read(
            "counting parked queues",
            """
            SELECT blocked_by, count(*) AS count
            FROM (SELECT blocked_by FROM @sluice_lane_rows WHERE blocked_by IS NOT NULL LIMIT $1) AS l
            WHERE blocked_by NOT IN ('gate', 'hold', 'permit', 'rate') GROUP BY blocked_by
            """,
            [limit]
        )
        return Measurement(
            kinds: kinds.map { row in
                Measurement.Kind(
                    name: row.text("kind"),
                    depth: Int(row.integer("depth") ?? 0),
                    oldest: row.time("oldest") ?? Timestamp(microseconds: 0)
                )
            },
            parked: Dictionary(
                uniqueKeysWithValues: parked.map { ($0.text("blocked_by"), Int($0.integer("count") ?? 0)) }
            ),
            walByteCount: nil
        )
    }

    package func failedAttempts(of action: ActionID) async throws(SluiceError) -> [FailedAttempt] {
        let sql = """
            SELECT number, outcome, error, \(microseconds("started_at")) AS started_at, \
            \(microseconds("ended_at")) AS ended_at FROM @sluice_failed_attempts($1)
            """
        let rows = try await read("reading failed attempts", sql, ["\(action)"])
        return rows.map { row in
            FailedAttempt(
                number: Int(row.integer("number") ?? 0),
                cause: FailureCause(rawValue: row.text("outcome")),
                error: row.text("error"),
                startedAt: row.date("started_at"),
                endedAt: row.date("ended_at")
            )
        }
    }

    package func gates() async throws(SluiceError) -> [Gate] {
        let sql = """
            SELECT gate, state, \(microseconds("since")) AS since, \(microseconds("opens_at")) AS opens_at \
            FROM @sluice_gates ORDER BY gate COLLATE "C"
            """
        let rows = try await read("reading gates", sql)
        return rows.map { row in
            Gate(
                name: GateName(row.text("gate")),
                isOpen: row.text("state") == "open",
                since: row.date("since"),
                isPersistent: true,
                opensAt: row.time("opens_at")?.date
            )
        }
    }

    package func auditEntries(limit: Int) async throws(SluiceError) -> [AuditEntry] {
        let sql = """
            SELECT \(microseconds("at")) AS at, operator, act, result FROM @sluice_audit \
            ORDER BY id DESC LIMIT $1
            """
        let rows = try await read("reading the audit log", sql, ["\(limit)"])
        return rows.map { row in
            AuditEntry(
                time: row.date("at"),
                person: row.text("operator"),
                act: row.text("act"),
                result: row.text("result")
            )
        }
    }

    package func deadLetterCount() async throws(SluiceError) -> Int {
        let rows = try await read("counting dead letters", "SELECT count(*) AS count FROM @sluice_dead")
        return Int(rows.first?.text("count") ?? "") ?? 0
    }

    package func holds() async throws(SluiceError) -> [Hold] {
        let sql = """
            SELECT id, scope, holder, reason, \(microseconds("since")) AS since, \
            \(microseconds("until")) AS until FROM @sluice_holds ORDER BY id
            """
        let rows = try await read("reading holds", sql)
        return rows.map { row in
            Hold(
                id: HoldID(rawValue: row.integer("id") ?? 0),
                pattern: QueuePattern(row.text("scope")),
                holder: row.text("holder"),
                reason: row.text("reason"),
                since: row.date("since"),
                until: row.time("until")?.date
            )
        }
    }
}

/// Dead letters.
extension ServerEngine {
    package func deadLetters(
        _ filter: DeadLetterFilter,
        after last: DeadLetterPlace?,
        limit: Int
    ) async throws(SluiceError) -> [DeadLetter] {
        let rows = try await read(
            "reading dead letters",
            DeadLetterRow.sql(),
            [
                filter.form.rawValue, filter.cause?.rawValue, last?.diedAt.postgresText,
                last.map { "\($0.id)" }, "\(min(limit, Int(Int32.max)))",
            ]
        )
        return rows.map { DeadLetterRow($0).letter }
    }

    package func deadLetter(_ action: ActionID) async throws(SluiceError) -> DeadLetter? {
        // The first at its own place, which the view has.
        let rows = try await read(
            "reading a dead letter",
            DeadLetterRow.sql(
                "@sluice_dead AS d CROSS JOIN LATERAL ",
                "d.queue, NULL, d.died_at, d.id + 1, 1"
            )
                + " WHERE d.id = $1 AND l.action = d.id",
            ["\(action)"]
        )
        return rows.first.map { DeadLetterRow($0).letter }
    }
}
#endif
