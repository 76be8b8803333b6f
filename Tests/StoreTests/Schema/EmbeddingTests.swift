import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("In an application's own database", .watched)
struct EmbeddingTests {
    /// A database of an application, with settings of its own.
    private func database(journal: String = "DELETE", encoding: String = "UTF-8") throws -> TemporaryFile {
        let file = try TemporaryFile()
        let connection = try Connection(path: file.path, mode: .create)
        try connection.execute(
            """
            PRAGMA encoding = '\(encoding)';
            PRAGMA journal_mode = \(journal);
            PRAGMA user_version = 7;
            PRAGMA application_id = 77;
            CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT);
            INSERT INTO messages (text) VALUES ('hello'), ('again');
            CREATE INDEX messages_text ON messages (text);
            CREATE VIEW greetings AS SELECT text FROM messages;
            """
        )
        return file
    }

    @Test(
        "What the application has in its file stays, whatever its journal",
        arguments: [
            "DELETE", "TRUNCATE", "PERSIST", "WAL",
        ]
    )
    func kept(_ journal: String) async throws {
        let file = try database(journal: journal)
        let fixture = try await StoreFixture(file: file)
        try await fixture.store.add("a")
        #expect(try await fixture.store.drain() == ["a"])
        #expect(try fixture.rows("SELECT text FROM greetings") == ["hello", "again"])
        #expect(try fixture.row("PRAGMA user_version") == "7")
        #expect(try fixture.row("PRAGMA application_id") == "77")
        #expect(try fixture.row("PRAGMA auto_vacuum") == "0")
        #expect(try fixture.row("PRAGMA journal_mode") == "wal")
        let strangers = "tbl_name NOT LIKE 'sluice%' AND name NOT LIKE 'sqlite%'"
        #expect(
            try fixture.rows("SELECT name FROM sqlite_schema WHERE \(strangers) ORDER BY name")
                == ["greetings", "messages", "messages_text"]
        )
        await fixture.store.close()
    }

    @Test("An application that has its file open meanwhile enqueues in its own transaction")
    func together() async throws {
        let file = try database(journal: "WAL")
        let application = try Connection(path: file.path, mode: .write)
        application.setBusyTimeout(patience)
        let fixture = try await StoreFixture(file: file)
        try application.immediate {
            try application.execute("INSERT INTO messages (text) VALUES ('third')")
            try application.execute(
                "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '\"a\"')"
            )
        }
        #expect(throws: SQLiteError.self) {
            try application.immediate {
                try application.execute(
                    "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '\"never\"')"
                )
                try application.execute("INSERT INTO messages (id) VALUES (1)")
            }
        }
        try await fixture.store.add("b")
        #expect(try await fixture.store.drain() == ["a", "b"])
        await fixture.store.close()
    }

    @Test(
        "A database whose text is not UTF-8 would sort by other bytes: it is refused and stays as it is",
        arguments: [
            "UTF-16le", "UTF-16be",
        ]
    )
    func encoding(_ encoding: String) async throws {
        let file = try database(encoding: encoding)
        let before = try contents(besides: file.path)
        #expect(await refusal { try await openAndClose(file.path) } == .unsupportedDatabase)
        #expect(try contents(besides: file.path) == before)
    }

    @Test("Foreign keys and recursive triggers of the application's connection do not disturb the triggers")
    func settings() async throws {
        let fixture = try await StoreFixture(file: try database())
        let application = try fixture.connect()
        for pragma in ["foreign_keys", "recursive_triggers"] { try application.set(Pragma(pragma, true)) }
        application.harden()
        try application.execute(
            """
            INSERT INTO sluice_actions (queue, kind, payload)
            VALUES ('q', 'note', '"a"'), ('q', 'note', '"b"');
            UPDATE sluice_actions SET payload = '"c"' WHERE id = 2;
            DELETE FROM sluice_actions WHERE id = 1;
            """
        )
        #expect(try await fixture.store.drain() == ["c"])
        await fixture.store.close()
    }

    @Test("An application that has its file open and idle, with a rollback journal, goes on in WAL mode")
    func openMeanwhile() async throws {
        let file = try database()
        let application = try Application(file.path, tables: "SELECT count(*) FROM messages")
        #expect(try application.row("PRAGMA journal_mode") == "delete")
        let broker = try await Broker(file: file.path, options: .on(ManualClock()))
        try application.transaction { connection in
            try application.execute("INSERT INTO messages (text) VALUES ('third')")
            try broker.enqueue(Note("a"), in: connection)
        }
        #expect(try application.row("PRAGMA journal_mode") == "wal")
        #expect(
            try #require(broker.file).diagnose(application.handle).filter { $0.code != .automaticCheckpoints }
                == []
        )
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test(
        "A lock that the application holds has the opening throw, with nothing changed",
        arguments: ["BEGIN IMMEDIATE; INSERT INTO messages (text) VALUES ('x')", "BEGIN EXCLUSIVE"]
    )
    func lockHeld(_ begin: String) async throws {
        let file = try database()
        let application = try Application(file.path, tables: "SELECT 1")
        try application.execute(begin)
        #expect(
            await refusal { try await openAndClose(file.path) { $0.file.lockTimeout = .zero } }
                == .databaseLocked
        )
        application.connection.rollback()
        #expect(try application.row("PRAGMA journal_mode") == "delete")
        #expect(try application.row("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sluice%'") == "0")
        try await openAndClose(file.path)
    }

    @Test("A read that the application is in the middle of keeps its rollback journal from becoming a log")
    func readHeld() async throws {
        let file = try database()
        let application = try Application(file.path, tables: "SELECT 1")
        try application.execute("BEGIN; SELECT * FROM messages")
        #expect(
            await refusal { try await openAndClose(file.path) { $0.file.lockTimeout = .zero } }
                == .databaseLocked
        )
        application.connection.rollback()
        #expect(try application.row("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sluice%'") == "0")
        try await openAndClose(file.path)
    }
}
