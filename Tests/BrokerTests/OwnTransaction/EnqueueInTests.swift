import CSluiceSQLite
import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Enqueuing in the application's transaction", .watched)
struct EnqueueInTests {
    #if os(Linux) || canImport(Darwin)
    @Test(
        "G11: what is committed with a row of the application's starts by itself, and in the order of commits"
    )
    func commits() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            await broker.waitUntilIdle()
            for number in 1...5 {
                try application.transaction { connection in
                    try application.execute("INSERT INTO messages (text) VALUES ('\(number)')")
                    try broker.enqueue(Note("\(number)"), in: connection)
                }
            }
            try await #expect(log.wait(forCount: 5) == ["1", "2", "3", "4", "5"])
        }
        #expect(site.clock.uptime == .zero)
        #expect(try application.rows("SELECT text FROM messages ORDER BY id") == ["1", "2", "3", "4", "5"])
        await broker.close()
    }

    @Test("G11: a rollback wakes nobody and leaves nothing, no queue and no number")
    func rollback() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            await broker.waitUntilIdle()
            let turns = broker.fileEngine.store.turns.count
            #expect(throws: TestError.self) {
                try application.transaction { connection in
                    try application.execute("INSERT INTO messages (text) VALUES ('lost')")
                    try broker.enqueue([Note("lost"), Note("lost", in: "other")], in: connection)
                    throw TestError("the application changes its mind")
                }
            }
            for table in ["messages", "sluice_actions", "sluice_changes", "sluice_queue_rows"] {
                #expect(try application.row("SELECT count(*) FROM \(table)") == "0", "\(table)")
            }
            #expect(broker.fileEngine.store.turns.count == turns)
            let id = try application.transaction { try broker.enqueue(Note("kept"), in: $0).id }
            #expect(id.rawValue == 1)
            try await #expect(log.wait(forCount: 1) == ["kept"])
        }
        await broker.close()
    }

    @Test("It works on another thread's connection while the broker runs and enqueues itself")
    func concurrently() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            async let own: Void = {
                for number in 0..<100 { try await broker.enqueue(Note("engine \(number)", in: "engine")) }
            }()
            async let theirs: Void = Task.detached {
                for number in 0..<100 {
                    try application.transaction { connection in
                        try application.execute("INSERT INTO messages (text) VALUES ('\(number)')")
                        try broker.enqueue(Note("own \(number)", in: "own"), in: connection)
                    }
                }
            }.value
            _ = try await (own, theirs)
            _ = try await log.wait(forCount: 200)
        }
        for name in ["engine", "own"] {
            #expect(log.elements.filter { $0.hasPrefix(name) } == (0..<100).map { "\(name) \($0)" })
        }
        #expect(try application.row("PRAGMA integrity_check") == "ok")
        await broker.close()
    }
    #endif

    @Test("G11: commits that are found together wake their queues in the order of the commits")
    func commitOrder() async throws {
        let fixture = try await StoreFixture()
        for name in ["c", "b", "a"] { try await fixture.store.add("before", in: QueueName(name)) }
        let application = try Application(fixture.file.path)
        let ids = try ["a", "c", "b"].map { name in
            try application.transaction {
                try fixture.store.enqueue([ActionDraft("x", in: QueueName(name))], in: $0)[0]
            }
        }
        let count = fixture.commits.elements.count
        try await fixture.store.readForeignChanges()
        let report = try #require(fixture.commits.elements.dropFirst(count).first)
        var expected: [QueueID] = []
        for name in ["a", "c", "b"] { expected.append(try await fixture.store.queueID(QueueName(name))) }
        #expect(report.queues == expected)
        #expect(report.foreignChanges.map(\.action) == ids)
        await fixture.store.close()
    }

    @Test("Observers are told of it as of every other enqueue, and its receipt tells how it ended")
    func observed() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let events = broker.events()
        try await running(broker) {
            await broker.waitUntilIdle()
            let receipt = try application.transaction { try broker.enqueue(Note("a"), in: $0) }
            try await broker.fileEngine.store.readForeignChanges()
            try await #expect(receipt.settled() == .succeeded)
        }
        await broker.close()
        #expect(await events.lines().contains("enqueued notes 1 note"))
    }

    @Test("Everything that an action can have is stored, under any settings of the connection")
    func settings() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.configure("keyed/*", QueueOptions(sortKey: .integer, maximumDepth: 5))
        let application = try Application(site)
        try application.execute(
            """
            PRAGMA foreign_keys = ON; PRAGMA recursive_triggers = ON; PRAGMA trusted_schema = OFF;
            PRAGMA user_version = 9; PRAGMA cell_size_check = ON;
            CREATE TABLE parts (message INTEGER REFERENCES messages ON DELETE CASCADE);
            """
        )
        application.connection.harden()
        let later = Date(timeIntervalSince1970: 4_000_000_000)
        try application.transaction { connection in
            try application.execute("INSERT INTO messages (id, text) VALUES (7, 'x')")
            try broker.enqueue(
                Note("whole", in: "keyed/1", order: .integer(3)),
                EnqueueOptions(
                    notBefore: later,
                    expiresAt: later + 1,
                    tag: "t",
                    gate: "g",
                    key: "k"
                ),
                in: connection
            )
            try broker.enqueue((0..<20).map { Note("\($0)") }, in: connection)
        }
        let whole = """
            SELECT queue || ' ' || sort_key || ' ' || not_before || ' ' || expires_at || ' ' || tag
                   || ' ' || gate
            FROM sluice_actions WHERE id = 1
            """
        #expect(
            try application.row(whole)
                == "keyed/1 3 2096-10-02T07:06:40.000000Z 2096-10-02T07:06:41.000000Z t g"
        )
        #expect(try application.row("SELECT count(*) FROM sluice_actions") == "21")
        #expect(try application.row("SELECT key || action_id FROM sluice_key_rows") == "k1")
        #expect(try application.row("PRAGMA user_version") == "9")
        // The numbers go on where the application's have ended.
        try await #expect(broker.enqueue(Note("engine's")).id.rawValue == 22)
        await broker.close()
    }

    @Test("Actions go with a row by a trigger of the application's, whether they wait, run or are dead")
    func goesWithRow() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute(goneWithMessage)
        let (started, ended) = (EventLog<String>(), EventLog<String>())
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, _ in
            started.append(note.text)
            guard note.text == "runs" else { return .fail("refused") }
            do { try await untilCancelled() } catch { ended.append(note.text) }
            return .success
        }
        try application.transaction { connection in
            for (id, text) in ["dead", "runs", "waits", "stays"].enumerated() {
                try application.execute("INSERT INTO messages (id, text) VALUES (\(id), '\(text)')")
                let note = Note(text, in: text == "dead" ? "other" : "q")
                try broker.enqueue(note, EnqueueOptions(tag: "message-\(id)"), in: connection)
            }
        }
        try await running(broker) {
            _ = try await started.wait(forCount: 2)
            try await until { broker.statistics.failed == 1 }
            #expect(try application.row("SELECT tag FROM sluice_dead") == "message-0")
            try application.execute("DELETE FROM messages WHERE text IN ('dead', 'waits')")
            #expect(try application.row("SELECT count(*) FROM sluice_dead") == "0")
            #expect(try application.rows("SELECT tag FROM sluice_actions") == ["message-1", "message-3"])
            try application.execute("DELETE FROM messages WHERE text = 'runs'")
            try await #expect(ended.wait(forCount: 1) == ["runs"])
        }
        await broker.close()
    }

    @Test("The connection is given back as it was: its last row, its hooks, and no statement")
    func givenBack() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        let commits = EventLog<Int>()
        sqlite3_commit_hook(
            application.handle,
            { context in
                if let context {
                    Unmanaged<EventLog<Int>>.fromOpaque(context).takeUnretainedValue().append(1)
                }
                return 0
            },
            Unmanaged.passUnretained(commits).toOpaque()
        )
        try application.transaction { connection in
            try application.execute("INSERT INTO messages (id) VALUES (41)")
            try broker.enqueue([Note("a"), Note("b")], EnqueueOptions(key: "k"), in: connection)
            #expect(sqlite3_last_insert_rowid(connection) == 41)
            #expect(thrown { try broker.enqueue(Note("c", in: ""), in: connection) } != nil)
            #expect(sqlite3_get_autocommit(connection) == 0)
        }
        #expect(commits.elements.count == 1)
        // Its own BEGIN and COMMIT are kept by this test's connection.
        var left: [String] = []
        var statement = sqlite3_next_stmt(application.handle, nil)
        while let current = statement {
            left.append(String(cString: sqlite3_sql(current)))
            statement = sqlite3_next_stmt(application.handle, current)
        }
        #expect(Set(left) == ["BEGIN IMMEDIATE", "COMMIT"])
        await broker.close()
    }

    @Test("A file that no broker runs for long has its order written behind by those who enqueue")
    func writeBehind() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let application = try Application(fixture.file.path)
        try application.execute("UPDATE sluice_counters SET value = 200000 WHERE name = 'action'")
        _ = try application.transaction { try fixture.store.enqueue([ActionDraft("a")], in: $0) }
        #expect(try application.row("SELECT value FROM sluice_counters WHERE name = 'ordered'") == "16384")
        await fixture.store.close()
    }

    @Test("G12: what is enqueued so stands in the engine's memory once")
    func memory() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let application = try Application(fixture.file.path)
        func count() async throws -> Int {
            try await store.write(sync: .later) { $0.core.order.lanes.values.map(\.placeCount).reduce(0, +) }
        }
        // Memory follows the file from the first look at a queue on.
        try await store.add("x")
        #expect(try await store.drain() == ["x"])
        let before = try await count()
        _ = try application.transaction { try store.enqueue((0..<3).map { ActionDraft("\($0)") }, in: $0) }
        try await store.readForeignChanges()
        #expect(try await count() == before + 3)
        #expect(try await store.drain() == ["0", "1", "2"])
        await store.close()
    }
}
