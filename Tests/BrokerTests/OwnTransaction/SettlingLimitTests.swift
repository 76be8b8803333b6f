import CSluiceSQLite
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What a settling transaction allows", .watched)
struct SettlingLimitTests {
    /// Has one action's success call a closure until it does not throw, and tells the errors of its attempts.
    private func settle(
        _ site: Site,
        adjust: (inout BrokerOptions) -> Void = { _ in },
        _ work: @escaping @Sendable (SettlingTransaction, _ attempt: Int) throws -> Void
    ) async throws -> (errors: [String], broker: Broker) {
        let broker = try await site.broker {
            $0.file.prepareConnection = makeTables
            adjust(&$0)
        }
        let errors = EventLog<String>()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
            if let error = attempt.lastError { errors.append(error) }
            return .success { try work($0, attempt.number) }
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.succeeded == 1 || errors.elements.count > 3 }
        }
        return (errors.elements, broker)
    }

    static let refused = [
        "BEGIN", "COMMIT", "ROLLBACK", "END", "SAVEPOINT a", "RELEASE a", "ROLLBACK TO a",
        "ATTACH ':memory:' AS other", "DETACH main", "PRAGMA synchronous = OFF", "PRAGMA foreign_keys = OFF",
        "PRAGMA user_version = 3", "PRAGMA wal_checkpoint", "PRAGMA incremental_vacuum",
        "DELETE FROM sluice_actions", "DELETE FROM sluice_action_rows", "DELETE FROM Sluice_Claim_Rows",
        "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '1')",
        "UPDATE sluice_counters SET value = 0", "DROP TABLE sluice_dead_rows", "DROP VIEW sluice_queues",
        "DROP TRIGGER sluice_actions_delete", "CREATE INDEX mine ON sluice_action_rows (kind)",
        "CREATE TRIGGER mine AFTER DELETE ON sluice_action_rows BEGIN SELECT 1; END",
        "ALTER TABLE sluice_action_rows ADD COLUMN mine", "CREATE TABLE sluice_mine (a)", "VACUUM",
    ]

    static let allowed = [
        "SELECT * FROM sluice_actions", "SELECT * FROM sluice_action_rows, sluice_claim_rows",
        "PRAGMA table_info(messages)", "PRAGMA user_version", "PRAGMA defer_foreign_keys = ON",
        "INSERT INTO messages (text) VALUES ('x')", "UPDATE messages SET sent = 1", "DELETE FROM messages",
        "CREATE TABLE own (a)", "CREATE INDEX own_a ON own (a)", "DROP TABLE own",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 9) SELECT * FROM n",
    ]

    @Test("What would end the transaction, set anything or write to the engine's tables is not authorized")
    func authorizer() async throws {
        let results = Mutex<[String: String]>([:])
        let (errors, broker) = try await settle(try Site()) { transaction, _ in
            for sql in Self.refused + Self.allowed {
                let answer = Result { try run(sql, on: try transaction.connection) }
                results.withLock { $0[sql] = if case .failure(let error) = answer { "\(error)" } else { "" } }
            }
        }
        for sql in Self.refused { #expect(results.withLock { $0[sql] } != "", "\(sql)") }
        for sql in Self.allowed { #expect(results.withLock { $0[sql] } == "", "\(sql)") }
        #expect(errors == [])
        // The engine itself is denied nothing.
        try await broker.enqueue(Note("b"))
        await broker.close()
    }

    @Test("Triggers of the application's may delete from the views, and change nothing else")
    func triggers() async throws {
        let site = try Site()
        defer { withExtendedLifetime(site) {} }
        let areRefused = Mutex<[Bool]>([])
        let (errors, broker) = try await settle(site) { transaction, _ in
            let connection = try transaction.connection
            for tag in ["message-1", "message-2"] {
                let unrouted = RawAction(queue: "later", kind: "send", payload: "1")
                try transaction.enqueue(raw: [unrouted], EnqueueOptions(tag: tag))
            }
            try run(
                """
                \(goneWithMessage)
                INSERT INTO messages (id) VALUES (1), (2);
                DELETE FROM messages WHERE id = 1;
                CREATE TRIGGER message_changed AFTER UPDATE ON messages BEGIN
                    DELETE FROM sluice_action_rows;
                END;
                """,
                on: connection
            )
            for sql in ["UPDATE messages SET sent = 1", "DELETE FROM sluice_actions"] {
                areRefused.withLock { $0.append((try? run(sql, on: connection)) == nil) }
            }
        }
        #expect(errors == [])
        #expect(areRefused.withLock { $0 } == [true, true])
        let tags = try await broker.fileEngine.store.read {
            try $0.prepare("SELECT tag FROM sluice_actions").all { $0.text(0) }
        }
        #expect(tags == ["message-2"])
        await broker.close()
    }

    @Test("The application's foreign keys hold, at the statement and at the commit, and cascade")
    func foreignKeys() async throws {
        let site = try Site()
        defer { withExtendedLifetime(site) {} }
        let (errors, broker) = try await settle(site) { transaction, attempt in
            let connection = try transaction.connection
            try run(
                """
                CREATE TABLE IF NOT EXISTS parts (
                    message INTEGER REFERENCES messages ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED);
                INSERT INTO messages (id) VALUES (\(attempt)); INSERT INTO parts VALUES (\(attempt));
                """,
                on: connection
            )
            if attempt == 1 { try run("INSERT INTO parts VALUES (99)", on: connection) }
            if attempt == 2 { try run("DELETE FROM messages", on: connection) }
        }
        #expect(errors.count == 1)
        #expect(errors.first?.contains("FOREIGN KEY") == true, "\(errors)")
        let left = try await broker.fileEngine.store.read {
            try $0.prepare("SELECT (SELECT count(*) FROM parts) + (SELECT count(*) FROM messages)")
                .first { $0.int(0) }
        }
        #expect(left == 0)
        await broker.close()
    }

    @Test("Outside its closure the transaction throws, and gives no connection")
    func over() async throws {
        let kept = Mutex<[@Sendable () -> SluiceError.Code?]>([])
        let (_, broker) = try await settle(try Site(.memory)) { transaction, _ in
            // Used by this test alone, when nobody else does.
            nonisolated(unsafe) let transaction = transaction
            kept.withLock {
                $0.append { thrown { try transaction.connection }?.code }
                $0.append { thrown { try transaction.enqueue(Note("late")) }?.code }
            }
        }
        for use in kept.withLock({ $0 }) { #expect(use() == .transactionOver) }
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A rollback that the closure keeps to itself fails the attempt, and nothing behind it is written")
    func swallowed() async throws {
        let site = try Site()
        defer { withExtendedLifetime(site) {} }
        let (errors, broker) = try await settle(site) { transaction, attempt in
            let connection = try transaction.connection
            guard attempt == 1 else { return }
            try run("INSERT INTO messages (text) VALUES ('once')", on: connection)
            try? run("INSERT OR ROLLBACK INTO messages (text) VALUES ('once')", on: connection)
            try? run("INSERT INTO messages (text) VALUES ('behind')", on: connection)
        }
        #expect(errors.count == 1)
        #expect(errors.first?.contains("rolled back") == true, "\(errors)")
        let count = try await broker.fileEngine.store.read {
            try $0.prepare("SELECT 1 FROM messages").hasRow()
        }
        #expect(!count)
        await broker.close()
    }

    @Test("Of several follow-ups none stays when one is refused half way, even if the closure goes on")
    func halfWay() async throws {
        let (errors, broker) = try await settle(try Site(.memory)) { transaction, attempt in
            guard attempt == 1 else { return }
            // A refusal of one leaves nothing, and is the closure's to judge.
            #expect(thrown { try transaction.enqueue(Note("x"), EnqueueOptions(tag: "")) } != nil)
            let mixed = [Note("x", in: "follow"), Note("y", in: "follow", order: .integer(1))]
            #expect(thrown { try transaction.enqueue(mixed) }?.code == .sortKeyMismatch)
        }
        #expect(errors.count == 1)
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A statement that the closure leaves on a row keeps no snapshot")
    func leftOnRow() async throws {
        let site = try Site()
        let left = Mutex<Int>(0)
        let (_, broker) = try await settle(site) { transaction, _ in
            let connection = try transaction.connection
            try run("INSERT INTO messages (text) VALUES ('a'), ('b')", on: connection)
            var statement: OpaquePointer?
            #expect(
                sqlite3_prepare_v2(connection, "SELECT * FROM messages", -1, &statement, nil) == SQLITE_OK
            )
            #expect(sqlite3_step(statement) == SQLITE_ROW)
            let address = Int(bitPattern: statement)
            left.withLock { $0 = address }
        }
        // A snapshot that was kept would be too old for the next write.
        try site.shell("INSERT INTO messages (text) VALUES ('c')")
        try await broker.enqueue(Note("b"))
        try site.shell("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(sqlite3_finalize(OpaquePointer(bitPattern: left.withLock { $0 })) == SQLITE_OK)
        await broker.close()
    }

    @Test("The application prepares the connection once: its functions are there, and its error is told")
    func prepared() async throws {
        let count = EventLog<Int>()
        let (errors, broker) = try await settle(try Site()) {
            $0.file.prepareConnection = { connection in
                count.append(1)
                try makeTables(connection)
                sqlite3_create_function_v2(
                    connection,
                    "answer",
                    0,
                    SQLITE_UTF8 | SQLITE_INNOCUOUS,
                    nil,
                    { context, _, _ in sqlite3_result_int(context, 42) },
                    nil,
                    nil,
                    nil
                )
            }
        } _: { transaction, _ in
            try run("INSERT INTO messages (text) SELECT answer()", on: transaction.connection)
        }
        #expect(errors == [])
        #expect(count.elements.count == 1)
        #expect(
            try await broker.fileEngine.store.write(sync: .later) { try $0.connection.pragma("foreign_keys") }
                == "1"
        )
        await broker.close()

        let file = try TemporaryFile()
        let error = await #expect(throws: SluiceError.self) {
            try await openAndClose(file.path) {
                $0.file.prepareConnection = { _ in throw TestError("no collation") }
            }
        }
        #expect(error?.code == .connectionNotPrepared)
        #expect(error?.message.contains("no collation") == true)
    }
}
