internal import SluiceSQLite

/// Owns the deduplication keys, by which a caller's action is enqueued only once.
final class DeduplicationKeys: TransactionSubject {
    let core: TransactionCore
    /// Whether the file has deduplication keys; `nil` until it is read.
    private var hasKeys: Bool?

    init(_ core: TransactionCore) { self.core = core }
    func forget() { hasKeys = nil }

    /// Assigns a key to a stored action, whichever action had it before.
    func remember(_ key: DeduplicationKey, of action: ActionID, in queue: QueueID) throws(SQLiteError) {
        let insert: StaticString = """
            INSERT INTO sluice_key_rows (queue_id, key, action_id, keep_us) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (queue_id, key) DO UPDATE SET
                action_id = excluded.action_id, keep_us = excluded.keep_us, until_us = NULL, has_succeeded = 0
            """
        try connection.cached(insert).bind(1, queue.rawValue).bind(2, key.text).bind(3, action.rawValue)
            .bind(4, key.retention.wholeMicroseconds).run()
        hasKeys = true
    }

    /// Returns whether a key has an action, even a deleted one.
    func isTaken(_ key: DeduplicationKey, in queue: QueueName) throws(SQLiteError) -> Bool {
        guard let entry = try core.knownQueue(named: queue) else { return false }
        return try look(up: key.text, in: entry.id) != nil
    }

    /// Returns the action of a key that has not ended; if deleted, cancelled or running, it does not wait.
    func look(up key: String, in queue: QueueID) throws(SQLiteError) -> (action: ActionID, isWaiting: Bool)? {
        let query: StaticString = """
            SELECT k.action_id, k.until_us, k.keep_us,
                   EXISTS (SELECT 1 FROM sluice_action_rows AS a WHERE a.id = k.action_id),
                   EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                           WHERE c.queue_id = k.queue_id AND c.action_id = k.action_id),
                   EXISTS (SELECT 1 FROM sluice_state_rows WHERE action_id = k.action_id AND is_cancelled)
            FROM sluice_key_rows AS k WHERE k.queue_id = ?1 AND k.key = ?2
            """
        let row = try connection.cached(query).bind(1, queue.rawValue).bind(2, key).first {
            (
                action: ActionID(rawValue: $0.int64(0)),
                until: $0.optionalInt64(1).map(Timestamp.init(microseconds:)),
                retention: Duration.microseconds($0.int64(2)), isThere: $0.bool(3),
                isWaiting: $0.bool(3) && !$0.bool(4) && !$0.bool(5)
            )
        }
        guard let row, !mutant("deduplication key") else { return nil }
        if row.isThere { return (row.action, row.isWaiting) }
        guard let until = row.until, until > now else { return nil }
        if until - now > row.retention {
            // The wall clock was set back: keep the key for its retention time, counted from now.
            try connection.cached("UPDATE sluice_key_rows SET until_us = ?3 WHERE queue_id = ?1 AND key = ?2")
                .bind(1, queue.rawValue).bind(2, key).bind(3, (now + row.retention).microseconds).run()
        }
        return (row.action, false)
    }

    /// Returns whether the file has keys; most files have none, and pay nothing for them.
    func hasAnyKeys() throws(SQLiteError) -> Bool {
        if let hasKeys { return hasKeys }
        let found = try connection.cached("SELECT 1 FROM sluice_key_rows LIMIT 1").hasRow()
        hasKeys = found
        return found
    }

    func beginRetention(of action: ActionID, as end: ActionEnd) throws(SQLiteError) {
        guard try hasAnyKeys() else { return }
        try connection.cached(
            "UPDATE sluice_key_rows SET until_us = ?2 + keep_us, has_succeeded = ?3 WHERE action_id = ?1"
        ).bind(1, action.rawValue).bind(2, now.microseconds).bind(3, end == .succeeded).run()
    }

    /// Whether an action has succeeded whose key is kept.
    static func hasSucceeded(_ action: ActionID, _ connection: Connection) throws(SQLiteError) -> Bool {
        try connection.cached("SELECT 1 FROM sluice_key_rows WHERE action_id = ?1 AND has_succeeded")
            .bind(1, action.rawValue).hasRow()
    }

    /// Assigns the key of a requeued dead letter, perhaps under a new sequence.
    func endRetention(of action: ActionID, now newAction: ActionID) throws(SQLiteError) {
        guard try hasAnyKeys() else { return }
        try connection.cached(
            "UPDATE sluice_key_rows SET until_us = NULL, action_id = ?2 WHERE action_id = ?1"
        ).bind(1, action.rawValue).bind(2, newAction.rawValue).run()
    }

    func moveKey(of action: ActionID, to queue: QueueID) throws(SQLiteError) {
        guard try hasAnyKeys() else { return }
        try connection.cached(
            "UPDATE OR REPLACE sluice_key_rows SET queue_id = ?2 WHERE action_id = ?1 AND until_us IS NULL"
        ).bind(1, action.rawValue).bind(2, queue.rawValue).run()
    }

    /// The most keys that one transaction deletes.
    private static let keyBatchSize = 1_000

    /// Deletes keys that have ended, and returns whether there may be more.
    func sweepKeys() throws(SQLiteError) -> Bool {
        guard try hasAnyKeys() else { return false }
        let hasShortened = try shortenKeys()
        let removed = try connection.cached(
            """
            DELETE FROM sluice_key_rows WHERE (queue_id, key) IN (
                SELECT queue_id, key FROM sluice_key_rows WHERE until_us <= ?1 ORDER BY until_us LIMIT ?2)
            """
        ).bind(1, now.microseconds).bind(2, Self.keyBatchSize).run()
        if removed > 0 { hasKeys = nil }
        return removed == Self.keyBatchSize || hasShortened
    }

    /// Shortens keys to their retention time, counted from now, after the wall clock was set back.
    ///
    /// The keys affected end last, so one look-up shows whether there are any. While a key with a longer
    /// retention hides them, they are shortened when they are looked up. Returns whether there may be more.
    private func shortenKeys() throws(SQLiteError) -> Bool {
        let query: StaticString = """
            SELECT until_us - keep_us > ?1 FROM sluice_key_rows WHERE until_us IS NOT NULL
            ORDER BY until_us DESC LIMIT 1
            """
        let isAhead = try connection.cached(query).bind(1, now.microseconds).first { $0.bool(0) }
        guard isAhead == true else { return false }
        let shortened = try connection.cached(
            """
            UPDATE sluice_key_rows SET until_us = ?1 + keep_us WHERE (queue_id, key) IN (
                SELECT queue_id, key FROM sluice_key_rows
                WHERE until_us IS NOT NULL AND until_us - keep_us > ?1 ORDER BY until_us DESC LIMIT ?2)
            """
        ).bind(1, now.microseconds).bind(2, Self.keyBatchSize).run()
        return shortened == Self.keyBatchSize
    }
}
