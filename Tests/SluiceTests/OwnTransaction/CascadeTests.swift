import SluiceSQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Actions that go with a row of the application's", .timeLimit(.minutes(2)))
struct CascadeTests {
    private static func row(_ id: Int64) -> EnqueueOptions {
        EnqueueOptions(row: RowReference("messages", id))
    }

    /// A broker and an application with three messages, whose rows take their actions along.
    private func site() async throws -> (Site, Broker, Application) {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("INSERT INTO messages (id, text) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
        try await broker.cascade(from: "messages")
        return (site, broker, application)
    }

    enum Deleter: String, CaseIterable { case application, distrustful, shell, closure }

    @Test("An action that waits goes with its row, whoever deletes it", arguments: Deleter.allCases)
    func waiting(_ deleter: Deleter) async throws {
        let (site, broker, application) = try await site()
        try broker.route("closure", Note.self) { _, _ in
            .success { try run("DELETE FROM messages WHERE id = 2", on: $0.connection) }
        }
        for id in 1...3 { try await broker.enqueue(Note("\(id)"), Self.row(Int64(id))) }
        try await broker.enqueue(Note("2 again", in: "other"), Self.row(2))
        switch deleter {
        case .application: try application.execute("DELETE FROM messages WHERE id = 2")
        case .distrustful:
            application.connection.harden()
            try application.execute(
                "PRAGMA trusted_schema = 0; PRAGMA recursive_triggers = 1; DELETE FROM messages WHERE id = 2"
            )
        case .shell:
            let shell = SQLShell(try #require(site.file).path)
            try await shell.run("DELETE FROM messages WHERE text = 'b'")
        case .closure:
            try await broker.enqueue(Note("delete", in: "closure"))
            try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        }
        try await #expect(broker.actionSummaries().map(\.id.rawValue) == [1, 3])
        #expect(try application.rows("SELECT action_id FROM sluice_link_rows") == ["1", "3"])
        await broker.close()
    }

    @Test(
        "G3, G6: one that runs is cancelled, and the next starts when its handler has returned",
        arguments: [
            true, false,
        ]
    )
    func whileItRuns(_ isByClosure: Bool) async throws {
        let (_, broker, application) = try await site()
        let (started, log) = (Signal(), EventLog<String>())
        try broker.route("closure", Note.self) { _, _ in
            .success { try run("DELETE FROM messages WHERE id = 1", on: $0.connection) }
        }
        try broker.route("notes", Note.self) { note, _ in
            log.append(note.text)
            guard note.text == "1" else { return .success }
            started.send()
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("1"), Self.row(1))
        try await broker.enqueue(Note("2"), Self.row(2))
        try await running(broker) {
            try await started.received()
            if isByClosure {
                try await broker.enqueue(Note("delete", in: "closure"))
            } else {
                try application.execute("DELETE FROM messages WHERE id = 1")
                try await broker.store.takeInForeignChanges()
            }
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["1", "2"])
        #expect(broker.statistics.removed == 1)
        #expect(try application.row("SELECT count(*) FROM sluice_link_rows") == "0")
        await broker.close()
    }

    @Test("A row that is not there, and a table that nobody has named, are refused, and nothing is stored")
    func refusals() async throws {
        let (_, broker, application) = try await site()
        let missing = await refusal { try await broker.enqueue(Note("x"), Self.row(9)) }
        #expect(missing == .noSuchRow)
        let unknown = EnqueueOptions(row: RowReference("parts", 1))
        let error = await #expect(throws: SluiceError.self) { try await broker.enqueue(Note("x"), unknown) }
        #expect(error?.code == .noCascade)
        #expect(error?.message.contains("broker.cascade(from:)") == true)
        let several = await refusal {
            try await broker.enqueue([Note("1"), Note("9")], options: { Self.row(Int64($0.text) ?? 0) })
        }
        #expect(several == .noSuchRow)
        try await #expect(broker.actionCount() == 0)
        // Rows of the same transaction are there.
        try application.transaction { connection in
            try application.execute("INSERT INTO messages (id) VALUES (9)")
            try broker.enqueue(Note("9"), Self.row(9), in: connection)
            try application.execute("DELETE FROM messages WHERE id = 9")
            #expect(thrown { try broker.enqueue(Note("9"), Self.row(9), in: connection) }?.code == .noSuchRow)
        }
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("Tables and columns that cannot be named are refused; calling it again does no harm")
    func calls() async throws {
        let (_, broker, application) = try await site()
        try application.execute(
            """
            CREATE TABLE keyed (name TEXT PRIMARY KEY); CREATE VIEW seen AS SELECT * FROM messages;
            CREATE TABLE "odd "" name" ("the key" TEXT COLLATE NOCASE UNIQUE);
            INSERT INTO "odd "" name" VALUES ('Ünë"''')
            """
        )
        for (table, column) in [
            ("no", nil), ("seen", nil), ("keyed", nil), ("messages", "no"), ("sluice_action_rows", nil),
            ("messages", "text"),
        ] as [(String, String?)] {
            let code = await refusal { try await broker.cascade(from: table, key: column) }
            #expect(code == .invalidOptions, "\(table)")
        }
        try await broker.cascade(from: "MESSAGES")
        try await broker.cascade(from: "messages", key: "ID")
        try await broker.cascade(from: "odd \" name", key: "THE KEY")
        let odd = RowReference("Odd \" Name", "ÜNË\"'")
        let same = RowReference("odd \" name", "Ünë\"'")
        #expect(await refusal { try await broker.enqueue(Note("x"), EnqueueOptions(row: odd)) } == .noSuchRow)
        try await broker.enqueue(Note("x"), EnqueueOptions(row: same))
        try application.execute("DELETE FROM \"odd \"\" name\"")
        try await #expect(broker.actionCount() == 0)
        let triggers =
            "SELECT count(*) FROM sqlite_schema WHERE name GLOB 'sluice_[cr]*_[0-9]' AND type = 'trigger'"
        #expect(try application.row(triggers) == "4")
        await broker.close()
    }

    @Test("A key is known as its row has it, and an action follows when it changes")
    func keys() async throws {
        let (_, broker, application) = try await site()
        try await broker.enqueue(Note("text"), EnqueueOptions(row: RowReference("messages", "2")))
        try application.execute("UPDATE messages SET id = 20 WHERE id = 2")
        #expect(try application.row("SELECT typeof(key) || key FROM sluice_link_rows") == "integer20")
        try application.execute("DELETE FROM messages WHERE id = 20")
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A row that is written again by an upsert keeps its actions")
    func upsert() async throws {
        let (_, broker, application) = try await site()
        try await broker.enqueue(Note("1"), Self.row(1))
        try application.execute(
            "INSERT INTO messages (id, text) VALUES (1, 'new') ON CONFLICT DO UPDATE SET text = excluded.text"
        )
        try application.execute("INSERT OR REPLACE INTO messages (id, text) VALUES (1, 'newer')")
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("A key that replaces an action's contents replaces its row too")
    func replaced() async throws {
        let (_, broker, application) = try await site()
        func enqueue(_ row: RowReference?) async throws {
            let key = DeduplicationKey("k", policy: .replace)
            try await broker.enqueue(Note("x"), EnqueueOptions(key: key, row: row))
        }
        try await enqueue(RowReference("messages", 1))
        try await enqueue(RowReference("messages", 2))
        try application.execute("DELETE FROM messages WHERE id = 1")
        try await #expect(broker.actionCount() == 1)
        try await enqueue(nil)
        try application.execute("DELETE FROM messages WHERE id = 2")
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("A dead letter goes with its row, and is of its row again when it is put back")
    func deadLetters() async throws {
        let (_, broker, application) = try await site()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        for id in 1...3 { try await broker.enqueue(Note("\(id)"), Self.row(Int64(id))) }
        try await running(broker) { try await until { broker.statistics.failed == 3 } }
        try application.execute("DELETE FROM messages WHERE id = 1")
        try await #expect(Set(broker.deadLetters().map(\.id.rawValue)) == [2, 3])
        #expect(try application.row("SELECT count(*) FROM sluice_attempt_rows WHERE action_id = 1") == "0")
        _ = try await broker.store.requeue(ActionID(rawValue: 2))
        let last = try #require(await broker.store.requeueAtEnd(ActionID(rawValue: 3)))
        try application.execute("DELETE FROM messages WHERE id = 2")
        try await #expect(broker.actionSummaries().map(\.id) == [last])
        try application.execute("DELETE FROM messages WHERE id = 3")
        try await #expect(broker.actionCount() == 0)
        #expect(try application.row("SELECT count(*) FROM sluice_link_rows") == "0")
        await broker.close()
    }

    @Test("What is settled, cancelled or deleted leaves no link, and a file without links pays for none")
    func links() async throws {
        let (_, broker, application) = try await site()
        try broker.routeNotes(to: EventLog<String>())
        for id in 1...3 { try await broker.enqueue(Note("\(id)"), Self.row(Int64(id))) }
        try await broker.cancel(ActionID(rawValue: 2))
        try application.execute("DELETE FROM sluice_actions WHERE id = 3")
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        #expect(try application.row("SELECT count(*) FROM sluice_link_rows") == "0")
        await broker.close()

        let plain = try await StoreFixture()
        try await plain.store.add("a")
        #expect(try await plain.store.drain() == ["a"])
        let texts = try await plain.store.write(sync: .later) { $0.connection.cachedTexts }
        #expect(!texts.contains { $0.contains("DELETE FROM sluice_link_rows") })
        await plain.store.close()
    }
}
