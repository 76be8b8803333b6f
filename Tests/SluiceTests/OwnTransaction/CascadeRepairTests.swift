import SluiceSQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Tables that are rebuilt under their actions", .timeLimit(.minutes(2)))
struct CascadeRepairTests {
    private static let rebuild = """
        CREATE TABLE new_messages (id INTEGER PRIMARY KEY, text TEXT, extra);
        INSERT INTO new_messages (id, text) SELECT id, text FROM messages WHERE id <> 1;
        DROP TABLE messages;
        ALTER TABLE new_messages RENAME TO messages;
        """

    private func row(_ id: Int64) -> EnqueueOptions { EnqueueOptions(row: RowReference("messages", id)) }

    /// A file with three messages and an action for each, and no broker.
    private func site() async throws -> (Site, Application) {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("INSERT INTO messages (id, text) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        try await broker.cascade(from: "messages")
        for id in 1...3 { try await broker.enqueue(Note("\(id)"), row(Int64(id))) }
        await broker.close()
        return (site, application)
    }

    @Test("Opening makes the triggers again, and what belongs to rows that went meanwhile goes")
    func opening() async throws {
        let (site, application) = try await site()
        try application.execute(Self.rebuild)
        let broker = try await site.broker()
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [2, 3])
        try application.execute("DELETE FROM messages WHERE id = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [3])
        await broker.close()
    }

    @Test("While a broker has the file open, enqueues are refused until the call is made again")
    func calledAgain() async throws {
        let (site, application) = try await site()
        let broker = try await site.broker()
        try application.execute(Self.rebuild)
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try await broker.cascade(from: "messages")
        try await broker.enqueue(Note("x"), row(2))
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [2, 3, 4])
        await broker.close()
    }

    @Test("A table that is renamed keeps its actions under its new name")
    func renamed() async throws {
        let (site, application) = try await site()
        try application.execute("ALTER TABLE messages RENAME TO letters")
        let broker = try await site.broker()
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("letters", 2)))
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try application.execute("DELETE FROM letters WHERE id = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        await broker.close()
    }

    @Test("G10: a table that is not there any more leaves its actions", arguments: [true, false])
    func dropped(_ isCopied: Bool) async throws {
        let (site, application) = try await site()
        if isCopied {
            try application.execute(
                "CREATE TABLE letters (id INTEGER PRIMARY KEY); INSERT INTO letters SELECT id FROM messages"
            )
        }
        try application.execute("DROP TABLE messages")
        let broker = try await site.broker()
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 2, 3])
        await broker.close()
    }

    @Test("G10: a rebuilt table whose key has another name keeps its actions, for the next call to find them")
    func keyRenamed() async throws {
        let (site, application) = try await site()
        try application.execute(
            """
            CREATE TABLE n (messageId INTEGER PRIMARY KEY, text TEXT);
            INSERT INTO n SELECT id, text FROM messages;
            DROP TABLE messages;
            ALTER TABLE n RENAME TO messages;
            """
        )
        let broker = try await site.broker()
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 2, 3])
        try await broker.cascade(from: "messages")
        try await broker.enqueue(Note("x"), row(2))
        try application.execute("DELETE FROM messages WHERE messageId = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        await broker.close()
    }

    @Test("G10: a rebuilt table whose keys are of another type keeps its actions")
    func keyOfAnotherType() async throws {
        let (site, application) = try await site()
        try application.execute(
            """
            CREATE TABLE n (id TEXT PRIMARY KEY);
            INSERT INTO n SELECT id FROM messages;
            DROP TABLE messages;
            ALTER TABLE n RENAME TO messages;
            """
        )
        let broker = try await site.broker()
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 2, 3])
        try application.execute("DELETE FROM messages WHERE id = '2'")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        await broker.close()
    }

    @Test("A view that takes a table's place stands in no opening's way, and the table keeps its actions")
    func view() async throws {
        let (site, application) = try await site()
        try application.execute(
            "ALTER TABLE messages RENAME TO stored; CREATE VIEW messages AS SELECT * FROM stored"
        )
        let broker = try await site.broker()
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try application.execute("DELETE FROM stored WHERE id = 1")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [2, 3])
        await broker.close()
        try application.execute("DROP TABLE stored")
        try await site.broker().close()
        #expect(try application.row("SELECT count(*) FROM sluice_actions") == "2")
    }

    @Test("G10: a table beside the renamed one takes over its actions with the call, not by itself")
    func besides() async throws {
        let (site, application) = try await site()
        try application.execute(
            """
            ALTER TABLE messages RENAME TO old;
            CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT);
            """
        )
        let broker = try await site.broker()
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 2, 3])
        try application.execute("INSERT INTO messages SELECT id, text FROM old WHERE id <> 3; DROP TABLE old")
        try await broker.cascade(from: "messages")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 2])
        await broker.close()
    }

    @Test("Triggers that cannot be made again stand in no opening's way")
    func unrepairable() async throws {
        let (site, application) = try await site()
        try application.execute(Self.rebuild)
        try application.execute(
            """
            CREATE TRIGGER keep BEFORE UPDATE ON sluice_link_rows BEGIN SELECT RAISE(ABORT, 'no'); END;
            """
        )
        let broker = try await site.broker()
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try application.execute("DROP TRIGGER keep")
        try await broker.cascade(from: "messages")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [2, 3])
        await broker.close()
    }

    @Test("An opening that has nothing to make again waits for no lock")
    func noLock() async throws {
        let (site, application) = try await site()
        try application.execute("DROP TABLE messages; BEGIN IMMEDIATE")
        let broker = try await site.broker { $0.lockTimeout = .zero }
        try application.execute("ROLLBACK")
        try await #expect(broker.actionCount() == 3)
        await broker.close()
    }

    @Test("A column that is renamed is named anew by the next call")
    func columnRenamed() async throws {
        let (site, application) = try await site()
        try application.execute("ALTER TABLE messages RENAME COLUMN id TO number")
        let broker = try await site.broker()
        #expect(await refusal { try await broker.enqueue(Note("x"), row(2)) } == .noCascade)
        try await broker.cascade(from: "messages")
        try await broker.enqueue(Note("x"), row(2))
        try application.execute("DELETE FROM messages WHERE number = 2")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        await broker.close()
    }
}

@Suite("Cascades that end", .timeLimit(.minutes(2)))
struct CascadeEndTests {
    @Test("The actions stay and belong to no row, or go as with their rows", arguments: [false, true])
    func ending(_ removesActions: Bool) async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("INSERT INTO messages (id) VALUES (1), (2)")
        try await broker.cascade(from: "messages")
        let row = EnqueueOptions(row: RowReference("messages", 1))
        try await broker.enqueue(Note("x"), row)
        try await broker.enqueue(Note("y"))
        try await broker.endCascade(from: "Messages", removingActions: removesActions)
        try await broker.endCascade(from: "messages")
        #expect(await refusal { try await broker.enqueue(Note("z"), row) } == .noCascade)
        try application.execute("DELETE FROM messages")
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == (removesActions ? [2] : [1, 2]))
        let triggers = "sqlite_schema WHERE tbl_name = 'messages' AND type = 'trigger'"
        for what in ["sluice_link_rows", "sluice_cascade_rows", triggers] {
            #expect(try application.row("SELECT count(*) FROM \(what)") == "0", "\(what)")
        }
        await broker.close()
    }

    @Test("A key column can be dropped behind it, and a table that is not there any more be forgotten")
    func migrations() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let table = "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT)"
        let application = try Application(site, tables: table)
        try application.execute(
            "CREATE UNIQUE INDEX n ON people (name); INSERT INTO people VALUES (1, 'bob')"
        )
        let row = EnqueueOptions(row: RowReference("people", "bob"))
        try await broker.cascade(from: "people", key: "name")
        try await broker.enqueue(Note("x"), row)
        let migration = "DROP INDEX IF EXISTS n; ALTER TABLE people DROP COLUMN name"
        #expect(throws: SQLiteError.self) { try application.execute(migration) }
        try await broker.endCascade(from: "people")
        try application.execute(migration)
        try await broker.cascade(from: "people")
        try await broker.enqueue(Note("y"), EnqueueOptions(row: RowReference("people", 1)))
        try application.execute("DROP TABLE people")
        try await #expect(broker.actionCount() == 2)
        try await broker.endCascade(from: "people", removingActions: true)
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1])
        #expect(try application.row("SELECT count(*) FROM sluice_cascade_rows") == "0")
        await broker.close()
    }

    @Test("A handler whose action goes with the end of a cascade is cancelled")
    func whileItRuns() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("INSERT INTO messages (id) VALUES (1)")
        try await broker.cascade(from: "messages")
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("messages", 1)))
        try await running(broker) {
            try await started.received()
            try await broker.endCascade(from: "messages", removingActions: true)
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.removed == 1)
        await broker.close()
    }
}
