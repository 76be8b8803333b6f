internal import SluiceSQLite

/// The reads of a queue handle: waiting actions in order, without expired ones, from snapshots of the file.
extension Store {
    /// `discipline` is the queue's, as set in code; `nil` for the one recorded in the file.
    func waiting(
        in queue: QueueName,
        from start: HandleStart,
        limit: Int,
        by discipline: QueueDiscipline? = nil
    ) async throws(SluiceError) -> [StoredAction] {
        try await read(queue) { reader in
            let discipline = try discipline ?? QueueDiscipline.noted(of: reader.queue, on: reader.connection)
            let places = try reader.places(from: start, limit: limit, by: discipline)
            return try places.compactMap { try StoredAction.read($0.action, on: reader.connection) }
        } ?? []
    }

    func waitingCount(in queue: QueueName) async throws(SluiceError) -> Int {
        try await read(queue) { try $0.count() } ?? 0
    }

    func contains(_ action: ActionID, in queue: QueueName) async throws(SluiceError) -> Bool {
        try await read(queue) { try $0.contains(action) } ?? false
    }

    /// Returns `nil` for a queue that no action has named.
    private func read<Output: Sendable>(
        _ queue: QueueName,
        _ body: @escaping @Sendable (HandleReader) throws -> Output
    ) async throws(SluiceError) -> Output? {
        let now = clock.now
        return try await read { [nonce, identity] connection -> Output? in
            let id = try connection.cached("SELECT queue_id FROM sluice_queue_rows WHERE name = ?1")
                .bind(1, queue.rawValue).first { QueueID(rawValue: $0.int64(0)) }
            guard let id else { return nil }
            let claims = try connection.cached(
                "SELECT claim >> 32, action_id FROM sluice_claim_rows WHERE queue_id = ?1"
            ).bind(1, id.rawValue).all { (epoch: $0.int64(0), action: $0.int64(1)) }
            let living =
                try claims.isEmpty
                ? [] : RunnerRow.living(connection, own: nonce, seenFrom: identity, at: now)
            let running = claims.filter { claim in living.contains { $0.epoch == claim.epoch } }.map(\.action)
            return try body(HandleReader(connection: connection, queue: id, now: now, running: "\(running)"))
        }
    }

    func isStopped(_ queue: QueueName, by holder: String) async throws(SluiceError) -> Bool {
        let now = clock.now
        return try await read { connection in
            try Hold.standing(connection, at: now).contains {
                $0.holder == holder && QueueName($0.pattern.rawValue) == queue
            }
        }
    }
}

private struct HandleReader {
    let connection: Connection
    let queue: QueueID
    let now: Timestamp
    /// The actions that run, as a JSON array.
    let running: String

    func places(
        from start: HandleStart,
        limit: Int,
        by discipline: QueueDiscipline
    ) throws(SQLiteError) -> [Place] {
        let isReversed = discipline == .lastInFirstOut
        if case .behind(let place) = start {
            return try places(behind: place, isReversed: isReversed, limit: limit)
        }
        if case .next = start, discipline == .passOver {
            let mark = try connection.cached(
                "SELECT sort_key, action_id FROM sluice_pass_rows WHERE queue_id = ?1"
            ).bind(1, queue.rawValue).first { Place($0, key: 0, action: 1) }
            if let mark {
                let rest = try places(behind: mark, isReversed: false, limit: limit)
                if !rest.isEmpty { return rest }
            }
        }
        return try places(behind: nil, isReversed: isReversed, limit: limit)
    }

    /// Returns the first places among those on disk, of newer actions, and of actions that have become due.
    private func places(behind place: Place?, isReversed: Bool, limit: Int) throws(SQLiteError) -> [Place] {
        let texts = isReversed ? Self.textsBefore : Self.textsBehind
        // No sort key is smaller than this real, and none is greater than a blob, since no key is a blob.
        let bound: Value = isReversed ? .blob([]) : .real(-.infinity)
        var places: [Place] = []
        for text in texts {
            let statement = try connection.cached(text).bind(1, queue.rawValue)
            if let place { try statement.bind(2, place.key) } else { try statement.bind(2, bound) }
            places += try statement.bind(3, place?.action.rawValue ?? .min).bind(4, now.microseconds)
                .bind(5, limit).bind(6, running).all { Place($0, key: 0, action: 1) }
        }
        places.sort()
        if isReversed { places.reverse() }
        return Array(places.prefix(limit))
    }

    private static let textsBehind: [StaticString] = [
        """
        SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o CROSS JOIN sluice_action_rows AS a
            ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
        WHERE o.queue_id = ?1 AND (o.sort_key, o.action_id) > (?2, ?3) AND a.not_before_us IS NULL
          AND (a.expires_at_us IS NULL OR a.expires_at_us > ?4)
          AND a.id NOT IN (SELECT value FROM json_each(?6)) ORDER BY o.sort_key, o.action_id LIMIT ?5
        """,
        """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered') AND a.queue_id = ?1
          AND (a.sort_key, a.id) > (?2, ?3) AND a.not_before_us IS NULL
          AND (a.expires_at_us IS NULL OR a.expires_at_us > ?4)
          AND a.id NOT IN (SELECT value FROM json_each(?6)) ORDER BY a.sort_key, a.id LIMIT ?5
        """,
        """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE ?6 IS NOT NULL AND a.queue_id = ?1 AND a.not_before_us <= ?4 AND (a.sort_key, a.id) > (?2, ?3)
          AND (a.expires_at_us IS NULL OR a.expires_at_us > ?4) ORDER BY a.sort_key, a.id LIMIT ?5
        """,
    ]

    private static let textsBefore: [StaticString] = [
        """
        SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o CROSS JOIN sluice_action_rows AS a
            ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
        WHERE o.queue_id = ?1 AND (o.sort_key, o.action_id) < (?2, ?3) AND a.not_before_us IS NULL
          AND (a.expires_at_us IS NULL OR a.expires_at_us > ?4)
          AND a.id NOT IN (SELECT value FROM json_each(?6))
        ORDER BY o.sort_key DESC, o.action_id DESC LIMIT ?5
        """,
        """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered') AND a.queue_id = ?1
          AND (a.sort_key, a.id) < (?2, ?3) AND a.not_before_us IS NULL
          AND (a.expires_at_us IS NULL OR a.expires_at_us > ?4)
          AND a.id NOT IN (SELECT value FROM json_each(?6)) ORDER BY a.sort_key DESC, a.id DESC LIMIT ?5
        """,
        """
        SELECT a.sort_key, a.id FROM sluice_action_rows AS a
        WHERE ?6 IS NOT NULL AND a.queue_id = ?1 AND a.not_before_us <= ?4 AND (a.sort_key, a.id) < (?2, ?3)
          AND (a.expires_at_us IS NULL OR a.expires_at_us > ?4) ORDER BY a.sort_key DESC, a.id DESC LIMIT ?5
        """,
    ]

    func contains(_ action: ActionID) throws(SQLiteError) -> Bool {
        try connection.cached(
            """
            SELECT 1 FROM sluice_action_rows AS a
            WHERE a.id = ?4 AND a.queue_id = ?1 AND (a.not_before_us IS NULL OR a.not_before_us <= ?2)
              AND (a.expires_at_us IS NULL OR a.expires_at_us > ?2)
              AND a.id NOT IN (SELECT value FROM json_each(?3))
            """
        ).bind(1, queue.rawValue).bind(2, now.microseconds).bind(3, running).bind(4, action.rawValue).hasRow()
    }

    func count() throws(SQLiteError) -> Int {
        try connection.cached(
            """
            SELECT count(*) FROM sluice_action_facts AS f
            WHERE f.queue_id = ?1 AND (f.not_before_us IS NULL OR f.not_before_us <= ?2)
              AND (f.expires_at_us IS NULL OR f.expires_at_us > ?2)
              AND f.id NOT IN (SELECT value FROM json_each(?3))
            """
        ).bind(1, queue.rawValue).bind(2, now.microseconds).bind(3, running).first { $0.int(0) } ?? 0
    }
}
