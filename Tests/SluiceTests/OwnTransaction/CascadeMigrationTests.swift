import SluiceSQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Migrations that end a cascade or rename its tables", .timeLimit(.minutes(2)))
struct CascadeMigrationTests {
    private static let dropTriggers = "DROP TRIGGER sluice_cascade_1; DROP TRIGGER sluice_rekey_1"

    /// A file with tables of two rows each, an action for each row, told by their numbers, and no broker.
    private func site(_ tables: String...) async throws -> (Site, Application) {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site, tables: "")
        for table in tables {
            try application.execute(
                """
                CREATE TABLE \(Cascade.quoted(table)) (id INTEGER PRIMARY KEY, text TEXT);
                INSERT INTO \(Cascade.quoted(table)) VALUES (1, 'a'), (2, 'b');
                """
            )
            try await broker.cascade(from: table)
            for id in 1...2 {
                try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference(table, Int64(id))))
            }
        }
        await broker.close()
        return (site, application)
    }

    private func actions(_ broker: Broker) async throws -> [Int64] {
        try await broker.actionSummaries().map(\.id.rawValue)
    }

    @Test(
        "G10: a migration ends a cascade by deleting its row: the actions stay, and belong to no row",
        arguments: [
            "UPDATE messages SET id = id + 1000", "DELETE FROM messages WHERE id = 1",
            """
            CREATE TABLE new (id TEXT PRIMARY KEY, text TEXT);
            INSERT INTO new SELECT text, text FROM messages;
            DROP TABLE messages; ALTER TABLE new RENAME TO messages
            """,
        ],
        [true, false]
    )
    func endsByItself(_ migration: String, _ dropsTriggers: Bool) async throws {
        let (site, application) = try await site("messages")
        if dropsTriggers { try application.execute(Self.dropTriggers) }
        try application.execute("DELETE FROM sluice_cascade_rows WHERE table_name = 'messages'; \(migration)")
        let broker = try await site.broker()
        try await #expect(actions(broker) == [1, 2])
        // Triggers that are left are made anew, for the column that counts from now on.
        try await broker.cascade(from: "messages", key: "id")
        try await #expect(actions(broker) == [1, 2])
        try application.execute("INSERT INTO messages (id) VALUES (7)")
        let row = EnqueueOptions(
            row: migration.contains("TEXT") ? .init("messages", "7") : .init("messages", 7)
        )
        try await broker.enqueue(Note("x"), row)
        try application.execute("DELETE FROM messages")
        try await #expect(actions(broker) == [1, 2])
        await broker.close()
    }

    @Test("G10: triggers that a migration has left, with the column of old, are made anew by the call")
    func leftTriggers() async throws {
        let (site, application) = try await site("messages")
        try application.execute(
            """
            DELETE FROM sluice_cascade_rows;
            ALTER TABLE messages ADD COLUMN uuid TEXT;
            UPDATE messages SET uuid = 'u' || id;
            CREATE UNIQUE INDEX by_uuid ON messages (uuid);
            """
        )
        let broker = try await site.broker()
        try await broker.cascade(from: "messages", key: "uuid")
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("messages", "u2")))
        try application.execute("DELETE FROM messages WHERE id = 1")
        try await #expect(actions(broker) == [1, 2, 3])
        try application.execute("DELETE FROM messages WHERE id = 2")
        try await #expect(actions(broker) == [1, 2])
        await broker.close()
    }

    @Test("G10: an opening removes nothing where none of the rows is there; the application's call does")
    func otherKeys() async throws {
        let (site, application) = try await site("messages")
        try application.execute("\(Self.dropTriggers); UPDATE messages SET id = id + 1000")
        for _ in 0..<2 {
            let broker = try await site.broker()
            try await #expect(actions(broker) == [1, 2])
            await broker.close()
        }
        let broker = try await site.broker()
        try await broker.cascade(from: "messages")
        try await #expect(actions(broker).isEmpty)
        await broker.close()
    }

    @Test("G10: tables that take each other's names keep their own actions, at an opening and by the call")
    func swapped() async throws {
        for isOpen in [true, false] {
            let (site, application) = try await site("a", "b")
            var broker = try await site.broker()
            if !isOpen { await broker.close() }
            try application.execute(
                "ALTER TABLE a RENAME TO t; ALTER TABLE b RENAME TO a; ALTER TABLE t RENAME TO b"
            )
            if !isOpen { broker = try await site.broker() }
            for table in ["a", "b"] { try await broker.cascade(from: table) }
            try await #expect(actions(broker) == [1, 2, 3, 4])
            try application.execute("DELETE FROM a WHERE id = 1; DELETE FROM b WHERE id = 2")
            try await #expect(actions(broker) == [1, 4])
            try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("a", 2)))
            await broker.close()
        }
    }

    @Test("G10: a table that takes the name of one that was renamed keeps its own actions")
    func chain() async throws {
        let (site, application) = try await site("messages", "drafts")
        try application.execute(
            "ALTER TABLE messages RENAME TO archive; ALTER TABLE drafts RENAME TO messages"
        )
        let broker = try await site.broker()
        #expect(
            try application.rows("SELECT table_name FROM sluice_cascade_rows ORDER BY source_id")
                == ["archive", "messages"]
        )
        for table in ["messages", "archive"] { try await broker.cascade(from: table) }
        try await #expect(actions(broker) == [1, 2, 3, 4])
        try application.execute("DELETE FROM messages WHERE id = 1")
        try await #expect(actions(broker) == [1, 2, 4])
        await broker.close()
    }

    @Test(
        "G10: a table that takes the name of one that was dropped keeps its own actions, and the others stay"
    )
    func droppedName() async throws {
        let (site, application) = try await site("a", "b")
        try application.execute("DROP TABLE b; ALTER TABLE a RENAME TO b")
        let broker = try await site.broker()
        try await #expect(actions(broker) == [1, 2, 3, 4])
        for _ in 0..<2 { try await broker.cascade(from: "b") }
        try await #expect(actions(broker) == [1, 2, 3, 4])
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("b", 2)))
        try application.execute("DELETE FROM b")
        try await #expect(actions(broker) == [3, 4])
        await broker.close()
    }

    /// The names of tables wander; each call says for which tables `cascade` is called behind it.
    private static let rotations: [(tables: [String], calls: [String])] = [
        (["messages", "archive"], ["messages", "archive"]),
        (["messages", "archive"], ["archive", "messages"]),
        (["messages", "drafts", "archive"], ["messages", "drafts", "archive"]),
        (["messages", "drafts", "archive"], ["archive", "drafts", "messages"]),
        (["messages", "drafts", "archive"], ["drafts", "archive", "messages"]),
    ]

    @Test(
        "G10: where the names of tables wander, the actions go along, whatever table is named first",
        arguments: rotations,
        [true, false]
    )
    func rotated(_ names: (tables: [String], calls: [String]), _ isOpen: Bool) async throws {
        let (tables, last) = (names.tables, names.tables.count - 1)
        let (site, application) = try await site(
            tables[0],
            tables[1],
            tables.count > 2 ? tables[2] : "others"
        )
        var broker = try await site.broker()
        if !isOpen { await broker.close() }
        let renames = (0..<last).reversed()
            .map { "ALTER TABLE \(tables[$0]) RENAME TO \(tables[$0 + 1]);" }
        try application.execute(
            """
            DROP TABLE \(tables[last]); \(renames.joined())
            CREATE TABLE \(tables[0]) (id INTEGER PRIMARY KEY, text);
            INSERT INTO \(tables[0]) VALUES (1, 'n'), (2, 'n');
            """
        )
        if !isOpen { broker = try await site.broker() }
        for table in names.calls { try await broker.cascade(from: table) }
        try await #expect(actions(broker) == [1, 2, 3, 4, 5, 6])
        // Those of the new one have none yet, and those of the dropped one belong to no row.
        try application.execute("DELETE FROM \(tables[0])")
        try await #expect(actions(broker) == [1, 2, 3, 4, 5, 6])
        for index in 1...last { try application.execute("DELETE FROM \(tables[index]) WHERE id = 1") }
        let gone = Set((0..<last).map { Int64(2 * $0 + 1) })
        try await #expect(actions(broker) == (1...6).filter { !gone.contains($0) })
        await broker.close()
    }

    @Test("G10: the cascade of a table that was dropped can be ended where another one has its name")
    func endsDropped() async throws {
        let (site, application) = try await site("a", "b")
        try application.execute("DROP TABLE b; ALTER TABLE a RENAME TO b")
        let broker = try await site.broker()
        try await broker.endCascade(from: "b", removingActions: true)
        try await #expect(actions(broker) == [1, 2])
        // The other one is known by that name from then on.
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("b", 2)))
        try application.execute("DELETE FROM b")
        try await #expect(actions(broker).isEmpty)
        await broker.close()
    }

    @Test("G10: an opening leaves alone a table whose key has lost its index; the call refuses it")
    func lostIndex() async throws {
        let site = try Site()
        let application = try Application(site, tables: "")
        var broker = try await site.broker()
        try application.execute(
            """
            CREATE TABLE messages (uuid TEXT UNIQUE, text);
            INSERT INTO messages VALUES ('u', 'a'), ('v', 'b')
            """
        )
        try await broker.cascade(from: "messages", key: "uuid")
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("messages", "u")))
        await broker.close()
        try application.execute(
            """
            CREATE TABLE new (uuid TEXT, text); INSERT INTO new SELECT * FROM messages;
            DROP TABLE messages; ALTER TABLE new RENAME TO messages;
            INSERT INTO messages VALUES ('u', 'c');
            """
        )
        broker = try await site.broker()
        try application.execute("DELETE FROM messages WHERE text = 'c'")
        try await #expect(actions(broker) == [1])
        await #expect(throws: SluiceError.self) { try await broker.cascade(from: "messages", key: "uuid") }
        try application.execute("CREATE UNIQUE INDEX by_uuid ON messages (uuid)")
        try await broker.cascade(from: "messages", key: "uuid")
        try application.execute("DELETE FROM messages")
        try await #expect(actions(broker).isEmpty)
        await broker.close()
    }

    @Test("An opening leaves alone a table whose keys it cannot compare")
    func unknownCollation() async throws {
        let (site, application) = try await site("messages")
        let file = try #require(site.file)
        // As a program has it that made the table with a collation of its own.
        try application.execute(
            """
            \(Self.dropTriggers); PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, 'id INTEGER PRIMARY KEY', 'id TEXT COLLATE theirs')
            WHERE name = 'messages';
            PRAGMA writable_schema = RESET;
            """
        )
        let broker = try await Broker(file: file.path, options: .on(site.clock))
        try await #expect(actions(broker) == [1, 2])
        await broker.close()
    }

    @Test("G10: a table that is made under the name of one that was renamed and kept takes no actions over")
    func kept() async throws {
        let (site, application) = try await site("messages")
        try application.execute(
            "ALTER TABLE messages RENAME TO archive; CREATE TABLE messages (id INTEGER PRIMARY KEY, text)"
        )
        let broker = try await site.broker()
        try await broker.cascade(from: "messages")
        try await #expect(actions(broker) == [1, 2])
        try application.execute("DELETE FROM archive WHERE id = 1")
        try await #expect(actions(broker) == [2])
        try application.execute("INSERT INTO messages VALUES (2, 'n')")
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("messages", 2)))
        try application.execute("DELETE FROM messages")
        try await #expect(actions(broker) == [2])
        await broker.close()
    }

    @Test("G10: names that differ in more than the letters of ASCII are two tables, as SQLite has it")
    func otherLetters() async throws {
        let (site, application) = try await site("Ä", "ä", "e\u{301}", "\u{e9}", "\"\u{301}")
        let broker = try await site.broker()
        try await #expect(actions(broker).count == 10)
        try application.execute("DELETE FROM \"ä\"; DELETE FROM \"e\u{301}\"")
        try await #expect(actions(broker) == [1, 2, 7, 8, 9, 10])
        await broker.close()
    }
}
