import CSluiceSQLite
import SluiceSQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Keys of rows that actions go with", .timeLimit(.minutes(2)))
struct CascadeKeyTests {
    private static let tables = """
        CREATE TABLE messages (id INTEGER PRIMARY KEY, text TEXT);
        CREATE TABLE people (name TEXT COLLATE NOCASE UNIQUE);
        INSERT INTO messages (id) VALUES (1), (2), (3);
        INSERT INTO people VALUES ('bob'), ('Eve');
        """

    private func site() async throws -> (Broker, Application) {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site, tables: Self.tables)
        try await broker.cascade(from: "messages")
        try await broker.cascade(from: "people", key: "name")
        return (broker, application)
    }

    @Test(
        "A row that goes or changes finds its own actions, whatever its key is and however many others have",
        arguments: [
            "DELETE FROM messages WHERE id = 1", "UPDATE messages SET id = 9 WHERE id = 1",
            "DELETE FROM people WHERE name = 'bob'", "UPDATE people SET name = 'al' WHERE name = 'bob'",
        ]
    )
    func plan(_ statement: String) async throws {
        let (broker, application) = try await site()
        // EXPLAIN alone would not find out that the schema has changed.
        #expect(try application.row("SELECT count(*) FROM messages") == "3")
        _ = csqlite_db_config(application.handle, SQLITE_DBCONFIG_TRIGGER_EQP, 1, nil)
        let steps = try application.connection.prepare("EXPLAIN QUERY PLAN \(statement)").all { $0.text(3) }
            .filter { $0.contains("source_id=?") }
        #expect(!steps.isEmpty)
        for step in steps { #expect(step.contains("(source_id=? AND key=?)"), "\(step)") }
        await broker.close()
    }

    @Test(
        "An action follows a key however it changes",
        arguments: [
            ("messages", RowReference("messages", 2), "UPDATE messages SET rowid = 5 WHERE id = 2"),
            ("messages", RowReference("messages", 2), "UPDATE messages SET id = 5, text = 'x' WHERE id = 2"),
            ("people", RowReference("people", "bob"), "UPDATE people SET name = 'Bob' WHERE name = 'bob'"),
        ]
    )
    func changed(_ table: String, _ row: RowReference, _ statement: String) async throws {
        let (broker, application) = try await site()
        try await broker.enqueue(Note("x"), EnqueueOptions(row: row))
        try application.execute(statement)
        try await #expect(broker.actionCount() == 1)
        try application.execute("DELETE FROM \(table)")
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("G10: a key that becomes NULL lets go of the row's actions, and they stay")
    func null() async throws {
        let (broker, application) = try await site()
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("people", "bob")))
        try application.execute("UPDATE people SET name = NULL WHERE name = 'bob'")
        try application.execute("INSERT INTO people VALUES ('bob'); DELETE FROM people")
        try await #expect(broker.actionCount() == 1)
        #expect(try application.row("SELECT count(*) FROM sluice_link_rows") == "0")
        await broker.close()
    }

    @Test("Rows are known by a column without two equal values, and by no other")
    func unique() async throws {
        let (broker, application) = try await site()
        try application.execute(
            """
            CREATE TABLE parts (a TEXT, b TEXT, c TEXT, d TEXT, e TEXT UNIQUE, f TEXT, PRIMARY KEY (a, b))
            WITHOUT ROWID;
            CREATE UNIQUE INDEX parts_ca ON parts (c, a);
            CREATE UNIQUE INDEX parts_d ON parts (d) WHERE c IS NOT NULL;
            CREATE INDEX parts_c ON parts (c);
            CREATE UNIQUE INDEX parts_f ON parts (lower(f));
            CREATE TABLE words (word TEXT PRIMARY KEY) WITHOUT ROWID;
            """
        )
        for column in ["a", "b", "c", "d", "f"] {
            let code = await refusal { try await broker.cascade(from: "parts", key: column) }
            #expect(code == .invalidOptions, "\(column)")
        }
        try await broker.cascade(from: "parts", key: "e")
        try await broker.cascade(from: "words", key: "WORD")
        #expect(try application.row("SELECT count(*) FROM sluice_cascade_rows") == "4")
        await broker.close()
    }

    @Test("A key may be a blob, which no text or number is")
    func blob() async throws {
        let (broker, application) = try await site()
        try application.execute("CREATE TABLE blobs (id BLOB PRIMARY KEY)")
        try application.execute("INSERT INTO blobs VALUES (x'3100FF')")
        try await broker.cascade(from: "blobs", key: "id")
        let row = EnqueueOptions(row: RowReference("blobs", [0x31, 0x00, 0xFF]))
        try await broker.enqueue(Note("x"), row)
        for other in [RowReference("blobs", [0x31]), RowReference("blobs", "1"), RowReference("blobs", 1)] {
            let code = await refusal { try await broker.enqueue(Note("y"), EnqueueOptions(row: other)) }
            #expect(code == .noSuchRow)
        }
        try application.execute("DELETE FROM blobs")
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test(
        "G10: a key is unique by the collation that its rows are looked up by, or is refused",
        arguments: [
            ("(name TEXT COLLATE NOCASE)", "BINARY", false), ("(name TEXT COLLATE NOCASE)", "NOCASE", true),
            ("(name TEXT COLLATE NOCASE)", "RTRIM", false), ("(name TEXT)", "NOCASE", true),
            ("(name TEXT)", "BINARY", true),
            ("(name TEXT COLLATE NOCASE, PRIMARY KEY (name COLLATE BINARY))", nil, false),
            ("(name TEXT COLLATE NOCASE PRIMARY KEY)", nil, true),
            ("(name TEXT PRIMARY KEY) WITHOUT ROWID", nil, true),
            ("(name INTEGER PRIMARY KEY DESC)", nil, true),
        ] as [(String, String?, Bool)]
    )
    func collation(_ columns: String, _ index: String?, _ isUnique: Bool) async throws {
        let (broker, application) = try await site()
        try application.execute("CREATE TABLE names \(columns)")
        if let index { try application.execute("CREATE UNIQUE INDEX n ON names (name COLLATE \(index))") }
        let code = await refusal { try await broker.cascade(from: "names", key: "name") }
        #expect(code == (isUnique ? nil : .invalidOptions))
        await broker.close()
    }

    @Test("A temporary table of the same name is not the one that actions belong to")
    func temporary() async throws {
        let (broker, application) = try await site()
        try application.execute(
            "CREATE TEMP TABLE messages (id INTEGER PRIMARY KEY); INSERT INTO temp.messages VALUES (9)"
        )
        try application.transaction { connection in
            let row = { (id: Int64) in EnqueueOptions(row: RowReference("messages", id)) }
            #expect(thrown { try broker.enqueue(Note("x"), row(9), in: connection) }?.code == .noSuchRow)
            try broker.enqueue(Note("x"), row(1), in: connection)
        }
        try application.execute("DELETE FROM main.messages WHERE id = 1")
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A column that is renamed while the file is open is known again from the next call on")
    func columnRenamed() async throws {
        let (broker, application) = try await site()
        let row = EnqueueOptions(row: RowReference("messages", 1))
        try await broker.enqueue(Note("x"), row)
        try application.execute("ALTER TABLE messages RENAME COLUMN id TO number")
        #expect(await refusal { try await broker.enqueue(Note("x"), row) } == .noCascade)
        try await broker.cascade(from: "messages")
        try await broker.enqueue(Note("x"), row)
        try application.execute("DELETE FROM messages WHERE number = 1")
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A table that is renamed while the file is open is known by its new name from the next call on")
    func tableRenamed() async throws {
        let (broker, application) = try await site()
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("messages", 1)))
        try application.execute("ALTER TABLE messages RENAME TO letters")
        try await broker.cascade(from: "letters")
        try await broker.enqueue(Note("x"), EnqueueOptions(row: RowReference("letters", 1)))
        try application.execute("DELETE FROM letters WHERE id = 1")
        try await #expect(broker.actionCount() == 0)
        #expect(try application.row("SELECT count(*) FROM sluice_cascade_rows") == "2")
        await broker.close()
    }
}
