import SQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Files of older schemas")
struct OlderSchemaTests {
    private func tables(_ connection: Connection) throws -> [String] {
        try connection.prepare(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND substr(name, 1, 7) = 'sluice_' AND name <> 'sluice_migrations'
            ORDER BY name
            """
        )
        .all { $0.text(0) }
    }

    /// The columns of a table that its rows give a value to.
    private func columns(_ table: String, _ connection: Connection) throws -> [String] {
        try connection.prepare("SELECT name FROM pragma_table_info('\(table)') ORDER BY cid").all {
            $0.text(0)
        }
    }

    private func rows(_ table: String, _ columns: [String], _ connection: Connection) throws -> [String] {
        let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")
        return try connection.prepare("SELECT \(values) FROM \(table) ORDER BY 1").all { $0.text(0) }
    }

    /// One row for each table of the first schema, and more where they depend on each other.
    static let content = """
        UPDATE sluice_counters SET value = 5 WHERE name IN ('action', 'epoch');
        INSERT INTO sluice_queue_rows (queue_id, name, sort_type)
        VALUES (1, 'a', 'arrival'), (2, 'b', 'text');
        UPDATE sluice_queue_rows SET blocked_by = 'failed', blocked_action_id = 2, blocked_at_us = 7,
            blocked_error = 'e' WHERE queue_id = 2;
        INSERT INTO sluice_action_rows (id, queue_id, sort_key, enqueued_at_us, nonce, kind, payload,
                                        version, tag, expires_at_us, gate, trace)
        VALUES (1, 1, 0, 10, 11, 'k', '{}', 1, NULL, NULL, NULL, NULL),
               (2, 2, 'x', 10, 11, 'k', '[1]', 3, 't', 99, 'g', '{"traceparent": "00"}');
        INSERT INTO sluice_key_rows VALUES (1, 'key', 1, 1000, NULL);
        INSERT INTO sluice_cascade_rows VALUES (1, 'messages', 'id');
        INSERT INTO sluice_link_rows VALUES (99, 1, 'm7', 0);
        INSERT INTO sluice_order_rows VALUES (1, 0, 1);
        INSERT INTO sluice_state_rows (action_id, attempts, last_error) VALUES (2, 3, 'e');
        INSERT INTO sluice_claim_rows VALUES (1, 0, 1, 5, 6, 0, 0, 1);
        INSERT INTO sluice_aside_rows VALUES (99, 'g');
        INSERT INTO sluice_group_rows VALUES (99, 'profile', 1, 1);
        INSERT INTO sluice_pass_rows VALUES (1, 0, 1, 1);
        INSERT INTO sluice_closed_group_rows VALUES (1, 'profile');
        INSERT INTO sluice_batch_rows VALUES (1, 9, 0, 8, 5);
        INSERT INTO sluice_attempt_rows VALUES (2, 4, 3, 'failed', 'e', 1, 2);
        INSERT INTO sluice_dead_rows
        VALUES (3, 1, 0, 'arrival', 1, 2, 'k', 1, 3, 'failed', 'e', '"d"', 2, 't', 'g', '{}');
        INSERT INTO sluice_gate_rows VALUES ('g', 1, 1, 2, NULL, NULL, NULL);
        INSERT INTO sluice_hold_rows VALUES (1, 'a/*', 'me', 'why', 1, NULL);
        INSERT INTO sluice_runner_rows VALUES (5, 1, 'gone', 7, 0, 0);
        INSERT INTO sluice_checkpointer VALUES (1, 5, 1, 'gone', 0, 0);
        INSERT INTO sluice_changes VALUES (1, 5, 1, 1, 'insert');
        """

    @Test("G10: no migration drops a row or a value of it", arguments: 1...Migration.all.count)
    func keepsRows(_ count: Int) throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator(migrations: Array(Migration.all.prefix(count))).migrate(
            connection,
            now: Timestamp(microseconds: 1)
        )
        try connection.execute(Self.content)
        let before = try tables(connection).map { table in
            let columns = try columns(table, connection)
            return (table, columns, try rows(table, columns, connection))
        }
        for (table, _, rows) in before { #expect(!rows.isEmpty, "this test has no row for \(table)") }
        #expect(before.count >= 13)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 2))
        for (table, columns, rows) in before {
            #expect(try self.rows(table, columns, connection) == rows, "\(table)")
        }
        #expect(try connection.pragma("integrity_check") == "ok")
    }

    @Test("G10: what an older schema holds runs, with what is known of it")
    func runs() async throws {
        let site = try Site()
        let file = try #require(site.file)
        let connection = try Connection(path: file.path, mode: .create)
        try connection.set(Pragma("journal_mode", "WAL"))
        try Migrator(migrations: [Migration.all[0]]).migrate(connection, now: Timestamp(microseconds: 1))
        try connection.execute(Self.content)
        connection.close()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeAnyKind("*") { payload, attempt in
            log.append("\(attempt.queue) \(payload) v\(attempt.version) #\(attempt.number)")
            return .success
        }
        try await broker.openGate("g")
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.retryNow("b")
            await broker.waitUntilIdle()
        }
        // The second one's time is over by the clock of now: it is no success, and not lost.
        #expect(log.elements == ["a {} v1 #1"])
        try await #expect(broker.deadLetters().map(\.id.rawValue).sorted() == [2, 3])
        await broker.close()
    }
}
