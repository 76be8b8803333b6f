internal import SluiceSQLite

/// A queue with work, as read from one snapshot of the file.
struct QueueFacts: Sendable {
    /// The value of `blocked_by`, with its action, start and error.
    struct Block: Sendable {
        let reason: BlockReason
        let action: ActionID
        let since: Timestamp
        let error: String?
    }

    let id: QueueID
    let name: QueueName
    let block: Block?
    let depth: Int
    let oldest: Timestamp?
    let runningSince: Timestamp?
    let runningEpoch: Int64?
    let head: ActionID?
    let headKind: String?
    /// When the head is due, or its batch at the latest.
    let notBefore: Timestamp?
    let attempts: Int
    let nextAttemptAt: Timestamp?
    let lastError: String?
    /// Gates that the head waits for, by its own options or its last outcome.
    let gates: [GateName]
    let expiresAt: Timestamp?

    /// Reads queues by name, page after page in one pass, while `body` returns `true`.
    ///
    /// One pass, since the newest actions of all queues are sorted for it.
    static func read(
        _ connection: Connection,
        among numbers: String?,
        from first: String,
        to last: String?,
        _ live: String,
        page: Int,
        _ body: ([QueueFacts]) throws -> Bool
    ) throws {
        try statement(connection, among: numbers).bind(1, first).bind(2, last).bind(3, live)
            .pages(of: page, QueueFacts.init, body)
    }

    /// Returns the number of a queue as a JSON array; `nil` if no action has named it.
    static func number(of queue: QueueName, _ connection: Connection) throws(SQLiteError) -> String? {
        try connection.cached("SELECT queue_id FROM sluice_queue_rows WHERE name = ?1")
            .bind(1, queue.rawValue).first { "[\($0.int64(0))]" }
    }

    /// - Parameter numbers: The numbers of the queues to read, as a JSON array; `nil`: all within the bounds.
    static func statement(_ connection: Connection, among numbers: String?) throws(SQLiteError) -> Statement {
        let all: StaticString = """
            SELECT q.queue_id, q.name, q.blocked_by, q.blocked_action_id, q.blocked_at_us, q.blocked_error,
                   d.depth, d.oldest_us, c.started_at_us, c.claim >> 32, h.id, h.kind, s.attempts,
                   s.last_error, h.expires_at_us, h.gate, s.waits_for_gate, h.not_before_us,
                   s.next_attempt_at_us,
                   (SELECT b.due_us FROM sluice_batch_rows AS b
                    WHERE b.queue_id = q.queue_id AND NOT b.is_open)
            FROM sluice_queue_rows AS q JOIN sluice_queue_depths AS d ON d.queue_id = q.queue_id
            LEFT JOIN sluice_claim_rows AS c ON c.queue_id = q.queue_id
               AND c.slot = (SELECT min(x.slot) FROM sluice_claim_rows AS x WHERE x.queue_id = q.queue_id
                               AND x.claim >> 32 IN (SELECT value FROM json_each(?3)))
            LEFT JOIN sluice_action_rows AS h ON h.id = coalesce(
                c.action_id, d.first_id,
                (SELECT l.id FROM sluice_action_rows AS l
                 WHERE l.queue_id = q.queue_id AND l.not_before_us IS NOT NULL
                 ORDER BY l.not_before_us, l.sort_key, l.id LIMIT 1))
            LEFT JOIN sluice_state_rows AS s ON s.action_id = h.id
            WHERE q.name >= ?1
              -- The blob sorts after every name, also one that is no text in a damaged file.
              AND q.name < coalesce(?2, x'ffffffffffffffff') AND (c.claim IS NOT NULL OR d.depth > 0)
            ORDER BY q.name, q.queue_id
            """
        guard let numbers else { return try connection.cached(all) }
        // The queues between them are not read, and of the newest actions only theirs are sorted.
        let some = all.description.replacing(
            "FROM sluice_queue_rows AS q JOIN",
            with: "FROM json_each(?4) AS j CROSS JOIN sluice_queue_rows AS q ON q.queue_id = j.value JOIN"
        )
        let depths = Self.depths.map { "WITH sluice_queue_depths AS (\($0)) " } ?? ""
        return try connection.prepare(depths + some).bind(4, numbers)
    }

    /// The query of the view `sluice_queue_depths` for the queues of parameter 4.
    static let depths: String? = {
        let start = "CREATE VIEW sluice_queue_depths AS\n"
        let newest = "WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered') AND "
        for migration in Migration.all {
            guard let view = migration.sql.split(separator: ";\n").first(where: { $0.contains(start) }),
                let query = view.firstRange(of: start).map({ view[$0.upperBound...] })
            else { continue }
            let part = "\(newest)a.queue_id IN (SELECT value FROM json_each(?4)) AND "
            return String(query.replacing(newest, with: part))
        }
        return nil
    }()

    private init(_ row: Row) {
        var columns = row.columns
        id = QueueID(rawValue: columns.int64())
        name = QueueName(columns.text())
        let (blockedBy, blocked) = (columns.optionalText(), ActionID(rawValue: columns.int64()))
        let (blockedAt, blockedError) = (columns.time(), columns.optionalText())
        block = blockedBy.map {
            Block(reason: BlockReason(stored: $0), action: blocked, since: blockedAt, error: blockedError)
        }
        depth = columns.int()
        oldest = columns.optionalTime()
        runningSince = columns.optionalTime()
        runningEpoch = columns.optionalInt64()
        head = columns.optionalInt64().map(ActionID.init(rawValue:))
        headKind = columns.optionalText()
        attempts = columns.count()
        lastError = columns.optionalText()
        expiresAt = columns.optionalTime()
        gates = [columns.gate(), columns.gate()].compactMap(\.self)
        let (scheduled, nextAttempt) = (columns.optionalTime(), columns.optionalTime())
        let batch = columns.optionalTime()
        nextAttemptAt = nextAttempt
        // A deferred action waits for its next attempt or a gate, and not for this time.
        let isAside = scheduled == .whenOpened || scheduled == nextAttempt
        notBefore = isAside ? batch : scheduled ?? batch
    }
}
