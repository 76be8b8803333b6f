import CSluiceSQLite
import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Where functions that a test registers note that they were called: a C function has no context of its own.
private let calls = Mutex<[String]>([])

@Suite("Files that somebody else has prepared", .watched, .serialized)
struct HostileFileTests {
    /// Registers a function that whoever plants SQL would like to call.
    private static func register(_ connection: OpaquePointer, innocuous: Bool) {
        sqlite3_create_function_v2(
            connection,
            "leak",
            1,
            SQLITE_UTF8 | (innocuous ? SQLITE_INNOCUOUS : 0),
            nil,
            { context, _, values in
                let text =
                    values?.pointee.flatMap { sqlite3_value_text($0) }.map { String(cString: $0) } ?? ""
                calls.withLock { $0.append(text) }
                sqlite3_result_int(context, 1)
            },
            nil,
            nil,
            nil
        )
    }

    /// A site whose file somebody has prepared before.
    private func site(planting sql: String) async throws -> Site {
        let site = try Site()
        let broker = try await site.broker()
        try await broker.enqueue(Note("before"))
        await broker.close()
        try site.shell(sql)
        calls.withLock { $0 = [] }
        return site
    }

    @Test(
        "A planted trigger or view calls no function of the application's, unless that says it is innocuous",
        arguments: [false, true]
    )
    func functions(_ isInnocuous: Bool) async throws {
        let site = try await site(
            planting: """
                CREATE TRIGGER planted AFTER INSERT ON sluice_action_rows BEGIN SELECT leak(new.payload); END;
                DROP VIEW sluice_holds;
                CREATE VIEW sluice_holds AS SELECT leak('viewed') AS id;
                """
        )
        let broker = try await site.broker {
            $0.file.prepareConnection = { Self.register($0, innocuous: isInnocuous) }
        }
        let result = await Task { try await broker.enqueue(Note("secret")) }.result
        switch result {
        case .success:
            #expect(isInnocuous)
            #expect(calls.withLock { $0 } == [#"{"text":"secret"}"#])
        case .failure(let error):
            // Nothing is stored, and what is said does not say what was to be stored.
            #expect(!isInnocuous)
            #expect((error as? SluiceError)?.code == .storage)
            #expect("\(error)".contains("leak") && !"\(error)".contains("secret"))
            #expect(calls.withLock { $0 }.isEmpty)
        }
        try await #expect(broker.actionCount() == (isInnocuous ? 2 : 1))
        calls.withLock { $0 = [] }
        let view = await Task {
            try await broker.fileEngine.store.write(sync: .later) {
                try $0.connection.prepare("SELECT id FROM sluice_holds").hasRow()
            }
        }.result
        #expect((try? view.get()) == (isInnocuous ? true : nil))
        #expect(calls.withLock { $0 } == (isInnocuous ? ["viewed"] : []))
        await broker.close()
    }

    @Test("A planted trigger that fails has the call throw and loses nothing; the queues go on without it")
    func abort() async throws {
        let site = try await site(
            planting: """
                CREATE TRIGGER planted BEFORE DELETE ON sluice_action_rows
                BEGIN SELECT RAISE(ABORT, 'planted'); END;
                """
        )
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let id = ActionID(rawValue: 1)
        let error = await #expect(throws: SluiceError.self) { try await broker.cancel(id) }
        #expect(error?.code == .storage)
        try await #expect(broker.actionCount() == 1)
        try site.shell("DROP TRIGGER planted")
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        #expect(log.elements == ["before"])
        await broker.close()
    }

    @Test("A planted trigger that would fire itself does so once: recursion is off")
    func recursion() async throws {
        let site = try await site(
            planting: """
                CREATE TABLE t (a);
                CREATE TRIGGER planted AFTER INSERT ON sluice_action_rows BEGIN INSERT INTO t VALUES (1); END;
                CREATE TRIGGER again AFTER INSERT ON t BEGIN INSERT INTO t VALUES (new.a + 1); END;
                """
        )
        // With this off, as the engine has it, a trigger does not fire itself.
        let broker = try await site.broker()
        try await broker.enqueue(Note("after"))
        try await #expect(broker.actionCount() == 2)
        try await #expect(
            broker.fileEngine.store.read { try $0.prepare("SELECT count(*) FROM t").first { $0.int(0) } } == 2
        )
        await broker.close()
    }

    @Test(
        "What a planted trigger cannot reach: extensions, other files, the schema's own tables",
        arguments: [
            "SELECT load_extension('evil')", "SELECT fts3_tokenizer('simple', new.payload)",
            "SELECT readfile('FILE')", "SELECT writefile('FILE', 'planted')",
            "SELECT edit('x', 'touch FILE')",
            "UPDATE sqlite_schema SET sql = ''", "DELETE FROM sqlite_schema",
        ]
    )
    func reach(_ sql: String) async throws {
        let other = try TemporaryFile()
        let statement = sql.replacingOccurrences(of: "FILE", with: other.path)
        let site = try await site(
            planting: "CREATE TRIGGER planted AFTER INSERT ON sluice_action_rows BEGIN \(statement); END"
        )
        let broker = try await site.broker()
        let error = await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("after")) }
        #expect(error?.code == .storage)
        #expect(!FileManager.default.fileExists(atPath: other.path))
        try site.shell("DROP TRIGGER planted")
        try await broker.enqueue(Note("later"))
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }

    @Test("No pragma on the engine's connection makes the schema's own tables writable")
    func schema() async throws {
        let site = try await site(planting: "CREATE TABLE own (a)")
        let broker = try await site.broker()
        let code = await refusal {
            try await broker.fileEngine.store.write(sync: .later) { transaction in
                try transaction.connection.execute("PRAGMA writable_schema = 1")
                try transaction.connection.execute("DELETE FROM sqlite_schema WHERE name = 'own'")
            }
        }
        #expect(code == .storage)
        try await #expect(
            broker.fileEngine.store.read {
                try $0.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'own'").hasRow()
            }
        )
        await broker.close()
    }

    @Test("Settings that the file brings are not taken over: page cache, trust, log size, foreign keys")
    func settings() async throws {
        let site = try await site(
            planting: "PRAGMA default_cache_size = 1; PRAGMA user_version = 7; PRAGMA application_id = 9"
        )
        let broker = try await site.broker()
        for (name, value) in [("cache_size", "-65536"), ("trusted_schema", "0"), ("user_version", "7")] {
            let actual = try await broker.fileEngine.store.write(sync: .later) {
                try $0.connection.pragma(name)
            }
            #expect(actual == value)
        }
        await broker.close()
    }

    @Test("The doctor's look names what was planted and what was taken away, and nothing in a file of ours")
    func strangers() async throws {
        let site = try await site(planting: "CREATE TABLE own (a INTEGER PRIMARY KEY)")
        let path = try #require(site.file).path
        let broker = try await site.broker()
        await broker.close()
        try #expect(FileFacts(of: path, isFull: false).strangers == [])
        try site.shell(
            """
            CREATE TRIGGER planted AFTER INSERT ON sluice_action_rows BEGIN SELECT 1; END;
            CREATE TRIGGER sluice_own AFTER INSERT ON own BEGIN SELECT 1; END;
            CREATE INDEX own_index ON sluice_action_rows (kind);
            CREATE TABLE sluice_more (a);
            DROP VIEW sluice_dead;
            CREATE VIEW sluice_dead AS SELECT 1 AS id;
            DROP VIEW sluice_holds;
            """
        )
        let strangers = try FileFacts(of: path, isFull: false).strangers
        // What goes with a view that is dropped, its triggers, is missing too.
        for name in [
            "table sluice_more", "trigger planted", "view sluice_dead", "view sluice_holds (missing)",
        ] {
            #expect(strangers.contains(name), "\(strangers)")
        }
        #expect(!strangers.contains { $0.contains("own") })
    }
}
