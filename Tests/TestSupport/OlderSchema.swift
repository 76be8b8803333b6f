internal import Sluice
internal import SluiceSQLite

/// A file of an older schema, and what it holds, for tests that bring one up.
package enum OlderSchema {
    /// One row for each table of the first schema, and more where they depend on each other.
    package static let content = """
        UPDATE sluice_counters SET value = 5 WHERE name IN ('action', 'epoch');
        INSERT INTO sluice_queue_rows (queue_id, name, sort_type)
        VALUES (1, 'a', 'arrival'), (2, 'b', 'text');
        UPDATE sluice_queue_rows SET blocked_by = 'failed', blocked_action_id = 2, blocked_at_us = 7,
            blocked_error = 'e' WHERE queue_id = 2;
        INSERT INTO sluice_action_rows (id, queue_id, sort_key, enqueued_at_us, nonce, kind, payload,
                                        version, tag, expires_at_us, gate, trace)
        VALUES (1, 1, 0, 10, 11, 'k', '{}', 1, NULL, NULL, NULL, NULL),
               (2, 2, 'x', 10, 11, 'k', '[1]', 3, 't', 99, 'g', '{"traceparent": "00"}');
        INSERT INTO sluice_key_rows (queue_id, key, action_id, keep_us) VALUES (1, 'key', 1, 1000);
        INSERT INTO sluice_order_rows VALUES (1, 0, 1);
        INSERT INTO sluice_state_rows (action_id, attempts, last_error) VALUES (2, 3, 'e');
        INSERT INTO sluice_claim_rows VALUES (1, 0, 1, 5, 6, 0, 0, 1);
        INSERT INTO sluice_deferred_rows VALUES (99, 'g');
        INSERT INTO sluice_group_rows VALUES (99, 'profile', 1, 1);
        INSERT INTO sluice_pass_rows VALUES (1, 0, 1, 1);
        INSERT INTO sluice_closed_group_rows VALUES (1, 'profile');
        INSERT INTO sluice_batch_rows VALUES (1, 9, 0, 8, 5);
        INSERT INTO sluice_attempt_rows VALUES (2, 4, 3, 'failed', 'e', 1, 2);
        INSERT INTO sluice_dead_rows
        VALUES (3, 1, 0, 'arrival', 1, 2, 'k', 1, 3, 'failed', 'e', '"d"', 2, 't', 'g', '{}');
        INSERT INTO sluice_gate_rows VALUES ('g', 1, 1, 2, NULL, NULL, NULL, NULL, NULL);
        INSERT INTO sluice_rate_rows VALUES ('a', 9);
        INSERT INTO sluice_hold_rows VALUES (1, 'a/*', 'me', 'why', 1, NULL);
        INSERT INTO sluice_audit_rows VALUES (1, 1, 'me', 'Hold: queue a', 'held');
        INSERT INTO sluice_runner_rows VALUES (5, 1, 'gone', 7, 0, 0, '{}');
        INSERT INTO sluice_checkpointer VALUES (1, 5, 1, 'gone', 0, 0);
        INSERT INTO sluice_changes VALUES (1, 5, 1, 1, 'insert');
        """

    /// Makes a file with rows, as the library of an older schema would have left it.
    ///
    /// - Parameters:
    ///   - version: How many migrations it has had.
    ///   - vfs: What SQLite writes it through; `nil` is the system's.
    package static func lay(_ version: Int, at path: String, vfs: String? = nil) throws {
        let connection = try Connection(path: path, mode: .create, vfs: vfs)
        try connection.execute("PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL")
        try Migrator(migrations: Array(Migration.all.prefix(version))).migrate(
            connection,
            now: Timestamp(microseconds: 1)
        )
        try connection.execute(content)
        // Of a process that runs, and of its changes, an opening takes note.
        try connection.execute(
            "DELETE FROM sluice_runner_rows; DELETE FROM sluice_checkpointer; DELETE FROM sluice_changes"
        )
        connection.close()
    }

    /// How many migrations a file has had.
    package static func steps(of path: String) throws -> Int {
        let connection = try Connection(path: path, mode: .write)
        defer { connection.close() }
        return try connection.prepare("SELECT count(*) FROM sluice_migrations").first { $0.count(0) } ?? 0
    }

    /// What callers have put into the file, a text for each row.
    package static func rows(of path: String) throws -> [String] {
        let connection = try Connection(path: path, mode: .write)
        defer { connection.close() }
        return try [
            "SELECT id || queue_id || quote(sort_key) || kind || payload FROM sluice_action_rows ORDER BY id",
            "SELECT action_id || attempts FROM sluice_state_rows ORDER BY action_id",
            "SELECT id || payload || cause FROM sluice_dead_rows ORDER BY id",
            "SELECT name || is_open FROM sluice_gate_rows",
            "SELECT scope || reason FROM sluice_hold_rows",
            "SELECT operator || act || result FROM sluice_audit_rows",
            "SELECT key FROM sluice_key_rows",
            "SELECT name || sort_type FROM sluice_queue_rows ORDER BY name",
        ].flatMap { try connection.prepare($0).all { $0.text(0) } }
    }
}
