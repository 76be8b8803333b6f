import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A newer version that migrates a file in use", .watched(minutes: 5)) struct NewerSchemaTests {
    /// Does what a newer version does when it opens the file, whose new step notes every row that comes
    /// later.
    private static func migrate(_ path: String) throws {
        let number = Migration.all.count + 1
        let step = Migration(
            number: number,
            name: "later",
            sql: """
                CREATE TABLE sluice_later (action_id INTEGER);
                CREATE TRIGGER sluice_later_insert AFTER INSERT ON sluice_action_rows
                BEGIN INSERT INTO sluice_later VALUES (NEW.id); END;
                """
        )
        let connection = try Connection(path: path, mode: .write)
        connection.setBusyTimeout(patience)
        try Migrator(migrations: Migration.all + [step]).migrate(connection, now: Timestamp(microseconds: 1))
        connection.close()
    }

    @Test("A broker that runs stops with the error, and every call throws it")
    func stops() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        let (started, cancelled) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            do { try await untilCancelled() } catch { cancelled.send() }
            return .success
        }
        try await broker.enqueue(Note("a"))
        let run = Task { try await broker.run() }
        try await started.received()
        try Self.migrate(path)
        #expect(await refusal { try await broker.enqueue(Note("b")) } == .newerSchema)
        let error = await #expect(throws: SluiceError.self) { try await run.value }
        #expect(error?.code == .newerSchema)
        #expect(error?.message.contains("later") == true && error?.message.contains("update") == true)
        #expect(cancelled.elements.count == 1)
        #expect(await refusal { try broker.enqueueBlocking(Note("b")) } == .newerSchema)
        #expect(await refusal { try await broker.status(of: "notes") } == .newerSchema)
        #expect(await refusal { try await broker.file?.backup(to: path + ".copy") } == .newerSchema)
        #expect(await refusal { try await broker.run() } == .newerSchema)
        await broker.close()
        #expect(await refusal { try await site.broker() } == .newerSchema)
        // What the older one has left is whole, its claim among it, for the newer one to take over.
        let connection = try Connection(path: path, mode: .write)
        #expect(try connection.pragma("integrity_check") == "ok")
        #expect(try connection.prepare("SELECT 1 FROM sluice_claim_rows").hasRow())
        #expect(try !connection.prepare("SELECT 1 FROM sluice_later").hasRow())
    }

    @Test(
        "No write of the older version lands behind the newer one's step, and none that it told is missing",
        arguments: 0..<10
    )
    func race(_ round: Int) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let stored = EventLog<Int64>()
        let writers = (0..<4).map { writer in
            Task { () -> SluiceError.Code? in
                for number in 0... {
                    do {
                        let id = try await store.add("\(writer) \(number)")
                        stored.append(id.rawValue)
                    } catch {
                        return (error as? SluiceError)?.code
                    }
                }
                return nil
            }
        }
        _ = try await stored.wait(forCount: 20 * (round + 1))
        try Self.migrate(fixture.file.path)
        for writer in writers { #expect(await writer.value == .newerSchema) }
        #expect(try fixture.rows("SELECT action_id FROM sluice_later") == [])
        let found = Set(try fixture.rows("SELECT id FROM sluice_action_rows").compactMap { Int64($0) })
        #expect(found == Set(stored.elements))
    }

    /// Enqueues in transactions of the application's until that is refused, and tells why it was.
    private static func enqueue(
        in store: Store,
        _ path: String,
        noting stored: EventLog<Int64>
    ) async throws -> SluiceError.Code? {
        let application = try Application(path)
        while true {
            // Others want its thread.
            await Task.yield()
            do {
                let ids = try application.transaction { try store.enqueue([ActionDraft("x")], in: $0) }
                stored.append(ids[0].rawValue)
            } catch let error as SluiceError {
                return error.code
            }
        }
    }

    @Test("Nor does one in a transaction of the application's", arguments: 0..<5)
    func joined(_ round: Int) async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let (store, path, stored) = (fixture.store, fixture.file.path, EventLog<Int64>())
        let writers = (0..<2).map { _ in Task { try await Self.enqueue(in: store, path, noting: stored) } }
        _ = try await stored.wait(forCount: 10 * (round + 1))
        try Self.migrate(path)
        for writer in writers { try await #expect(writer.value == .newerSchema) }
        #expect(try fixture.rows("SELECT action_id FROM sluice_later") == [])
        let found = Set(try fixture.rows("SELECT id FROM sluice_action_rows").compactMap { Int64($0) })
        #expect(found == Set(stored.elements))
        // The store is told too.
        #expect(await refusal { try await store.add("y") } == .newerSchema)
        await store.close()
    }

    @Test("An attempt is not settled in a transaction of the application's either")
    func joinedSettling() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        let action = try await fixture.store.take()
        let application = try Application(fixture.file.path)
        try Self.migrate(fixture.file.path)
        let error = try application.transaction { connection in
            thrown { try Attempt(action, of: fixture.store).succeed(in: connection) }
        }
        #expect(error?.code == .newerSchema)
        #expect(try fixture.rows("SELECT id FROM sluice_action_rows") == ["1"])
        await fixture.store.close()
    }

    @Test("A broker that only reads finds it too")
    func reading() async throws {
        let site = try Site()
        try await site.broker().close()
        let broker = try await site.broker { $0.file.role = .readOnly }
        try await #expect(broker.actionCount() == 0)
        try Self.migrate(try #require(site.file).path)
        for _ in 0..<2 { #expect(await refusal { try await broker.actionCount() } == .newerSchema) }
        await broker.close()
    }

    @Test("Tables of the application's own may come and go")
    func ownTables() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await running(broker) {
            for count in 1...3 {
                try site.shell("CREATE TABLE own\(count) (a); CREATE INDEX own_a\(count) ON own\(count) (a)")
                try await broker.enqueue(Note("\(count)"))
                _ = try await log.wait(forCount: count)
                _ = try await broker.status(of: "notes")
            }
        }
        #expect(log.elements == ["1", "2", "3"])
        await broker.close()
    }
}
