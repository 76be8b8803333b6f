#if PostgreSQL
import CSluicePostgres
import Foundation
import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

/// What only an engine on a server has to do.
@Suite(
    "Queues on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresTests {
    private func site() throws -> PostgresSite { PostgresSite(try #require(TestServer.shared)) }

    /// A connection as an application has it, whose path is that of the queues.
    private func connection(_ site: PostgresSite) -> PostgresConnection {
        PostgresConnection(PostgresAddress(url: site.server.url, schema: site.schema))
    }

    @Test("G1, G10: what one broker enqueues, another one runs, and what SQL enqueues too")
    func fleet() async throws {
        let site = try site()
        let (here, there) = (try await site.broker(), try await site.broker())
        let log = EventLog<String>()
        try there.route("*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        try await here.enqueue(Note("a"))
        let run = Task { try await there.run() }
        _ = try await log.wait(forCount: 1)
        let sql = connection(site)
        _ = try await sql.call(
            "SELECT set_config('sluice.test_now', $1, false)",
            ["\(site.clock.wallMicroseconds)"]
        )
        _ = try await sql.call(#"SELECT @sluice_enqueue('notes', 'note', '{"text": "b", "queue": "notes"}')"#)
        // The doorbell wakes the worker, though no time passes.
        _ = try await log.wait(forCount: 2)
        #expect(log.elements == ["a", "b"])
        await there.stop(grace: .zero)
        try await run.value
        try await #expect(here.actionCount() == 0)
        await sql.close()
        await here.close()
        await there.close()
    }

    @Test("G5: an attempt is settled in a transaction of the application, or not at all with it")
    func settledByApplication() async throws {
        let site = try site()
        let broker = try await site.broker()
        let url = site.server.url
        let numbers = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            numbers.append(attempt.number)
            let application = try #require(PQconnectdb(url))
            defer { PQfinish(application) }
            #expect(throws: SluiceError.self) { try attempt.succeed(in: application) }
            PQclear(PQexec(application, "BEGIN"))
            try attempt.succeed(in: application)
            if attempt.number == 1 {
                PQclear(PQexec(application, "ROLLBACK"))
                return .retry(after: .zero)
            }
            PQclear(PQexec(application, "COMMIT"))
            return .fail("without effect")
        }
        let receipt = try await broker.enqueue(Note("a"))
        let run = Task { try await broker.run() }
        try await #expect(receipt.settled() == .succeeded)
        #expect(numbers.elements == [1, 2])
        await broker.stop(grace: .zero)
        try await run.value
        try await #expect(broker.deadLetters().isEmpty)
        await broker.close()
    }

    @Test("G14: an enqueue whose connection is cut at the commit is stored once, or an error")
    func cutCommits() async throws {
        let site = try site()
        let broker = try await site.broker { _, server in server.setsServerClock = false }
        let other = connection(site)
        let stored = EventLog<ActionID>()
        let cutter = Task {
            for count in 1...20 {
                _ = try await stored.wait(forCount: 5 * count)
                _ = try await other.call(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                    WHERE pid <> pg_backend_pid() AND query LIKE $1
                    """,
                    ["%\(site.schema)%sluice_enqueue_many%"]
                )
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for caller in 0..<8 {
                group.addTask {
                    for number in 0..<25 {
                        let note = Note("\(caller) \(number)", in: QueueName("q/\(caller)"))
                        stored.append(try await broker.enqueue(note).id)
                    }
                }
            }
            try await group.waitForAll()
        }
        try await cutter.value
        let actions = try await broker.actionSummaries(limit: 1_000)
        #expect(Set(actions.map(\.id)) == Set(stored.elements) && actions.count == 200)
        for caller in 0..<8 {
            let own = actions.filter { $0.queue == QueueName("q/\(caller)") }
            #expect(own.map(\.id) == own.map(\.id).sorted())
        }
        await other.close()
        await broker.close()
    }

    @Test("G11: after a vacuum, which frees earlier places, an arrival is found as soon as before")
    func vacuumedArrivals() async throws {
        let site = try site()
        let broker = try await site.broker { _, server in
            server.setsServerClock = false
            // They look at all arrivals.
            server.choreInterval = .seconds(600)
        }
        let other = try await site.broker { _, server in server.setsServerClock = false }
        let count = EventLog<Int>()
        try broker.route("*", Note.self) { _, _ in
            count.append(0)
            return .success
        }
        let run = Task { try await broker.run() }
        // More than a block of the table, in a call each; then the last ones are seen in a later block.
        for number in 0..<300 { try await other.enqueue(Note("a", in: QueueName("q/\(number)"))) }
        _ = try await count.wait(forCount: 300)
        // Until one block at most is left, which the next arrival takes: snapshots of other tests
        // keep rows.
        try await until {
            _ = try await other.serverEngine.calls.call("VACUUM @sluice_arrival_rows")
            let rows = try await other.serverEngine.calls.call(
                "SELECT pg_relation_size('@sluice_arrival_rows') AS size"
            )
            return rows.first?.integer("size") ?? .max <= 8_192
        }
        try await other.enqueue(Note("b"))
        // Without the guard it waits in vain.
        #expect(try await count.wait(forCount: 301).count == 301)
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await other.close()
    }

    @Test("A schema of a newer version is refused, and one of the same is not changed")
    func versions() async throws {
        let site = try site()
        let (first, second) = (try await site.broker(), try await site.broker())
        await first.close()
        await second.close()
        let sql = connection(site)
        _ = try await sql.call("INSERT INTO @sluice_migrations VALUES (99, now())")
        let error = await #expect(throws: SluiceError.self) {
            try await site.broker { $1.setsServerClock = false }
        }
        #expect(error?.code == .newerSchema)
        await sql.close()
    }

    @Test("Brokers that open a new schema at the same time make it once")
    func racingMigrations() async throws {
        let site = try site()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<6 {
                group.addTask {
                    let broker = try await site.broker { _, server in server.setsServerClock = false }
                    await broker.close()
                }
            }
            try await group.waitForAll()
        }
        let sql = connection(site)
        let rows = try await sql.call("SELECT count(*) AS count FROM @sluice_migrations")
        #expect(rows.first?.integer("count") == 5)
        await sql.close()
    }

    @Test("G13: a failure is described without the server's words about values")
    func descriptions() {
        for state in ["22P02", "23505"] {
            let failure = PostgresFailure.refused(state: state, message: "secret", detail: "secret")
            #expect(!"\(failure)".contains("secret") && "\(failure)".contains(state))
        }
    }

    @Test("A stop whose grace period was not needed does not stop the next run")
    func earlyStop() async throws {
        let site = try site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        for text in ["a", "b"] {
            let run = Task { try await broker.run() }
            try await broker.enqueue(Note(text))
            _ = try await log.wait(forCount: text == "a" ? 1 : 2)
            if text == "b" {
                site.clock.advance(by: .seconds(9))
                try await broker.enqueue(Note("c"))
                _ = try await log.wait(forCount: 3)
            }
            await broker.stop(grace: .seconds(9))
            try await run.value
        }
        #expect(log.elements == ["a", "b", "c"])
        await broker.close()
    }

    @Test("A handler that would wait for its own queue gets an error, and what has ended is told")
    func waitsForItself() async throws {
        let broker = try await site().broker()
        let results = EventLog<String>()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, attempt in
            guard note.text != "dead" else { return .fail("no") }
            for id in [attempt.id.rawValue - 1, attempt.id.rawValue, attempt.id.rawValue + 1] {
                do {
                    results.append("\(try await attempt.broker.settled(ActionID(rawValue: id)))")
                } catch let error as SluiceError {
                    results.append("\(error.code)")
                }
            }
            return .success
        }
        try await broker.enqueue([Note("dead"), Note("asks"), Note("last")])
        let run = Task { try await broker.run() }
        _ = try await results.wait(forCount: 3)
        #expect(results.elements.first?.contains("deadLettered") == true)
        #expect(results.elements[1...2] == ["waitsForItself", "waitsForItself"])
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
    }

    @Test("G9: enqueues that block every thread of the pool are stored all the same")
    func blocking() async throws {
        let broker = try await site().broker()
        let callers = ProcessInfo.processInfo.activeProcessorCount * 4
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<callers {
                group.addTask { try broker.enqueueBlocking(Note("\(number)")) }
            }
            try await group.waitForAll()
        }
        #expect(try await broker.actionCount() == callers)
        await broker.close()
    }

    @Test("stop, close and both forms of waitUntilIdle trap in a handler of their broker, with a sentence")
    func traps() async throws {
        let stop = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await PostgresTests.trap { await $0.stop() }
        }
        let close = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await PostgresTests.trap { await $0.close() }
        }
        let idle = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await PostgresTests.trap { await $0.waitUntilIdle() }
        }
        let idleQueues = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            try await PostgresTests.trap { do { try await $0.waitUntilIdle("notes") } catch {} }
        }
        for (result, call) in [
            (stop, "stop(grace:)"), (close, "close(grace:)"), (idle, "waitUntilIdle()"),
            (idleQueues, "waitUntilIdle(_:)"),
        ] {
            let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
            #expect(said.contains("\(call) was called by a handler of its own broker"), "\(said)")
        }
    }

    /// Runs in a process of its own, on a server of its own.
    private static func trap(_ wait: @escaping @Sendable (Broker) async -> Void) async throws {
        let server = try TestServer(["fsync=off"])
        defer { withExtendedLifetime(server) {} }
        let broker = try await Broker(postgres: server.url)
        try broker.route("*", Note.self) { _, attempt in
            await wait(attempt.broker)
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await broker.run()
    }

    @Test("A queue that is alone costs one call of the server an action")
    func calls() async throws {
        let site = try site()
        var own = PostgresOptions()
        // However long a handler takes on a busy machine: a call that finds nothing is followed by polls, as
        // when the worker has begun to listen.
        (own.schema, own.linger, own.choreInterval) = (site.schema, .seconds(60), .seconds(60))
        own.listens = false
        let url = "\(site.server.url)&application_name=\(site.schema)&options=-c%20track_functions%3Dall"
        let broker = try await Broker(postgres: url, server: own)
        try broker.route("*", Note.self) { _, _ in
            // Until the worker waits, so that nothing it does besides falls together with the outcome.
            while broker.serverEngine.loop.state.withLock({ $0.sleeper == nil }) { await Task.yield() }
            return .success
        }
        try await broker.enqueue((1...30).map { Note("\($0)") })
        let run = Task { try await broker.run() }
        await broker.waitUntilIdle()
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        let sql = connection(site)
        // A connection that has ended has told what it counted.
        let ends = "SELECT count(*) AS count FROM pg_stat_activity WHERE application_name = $1"
        while try await sql.call(ends, [site.schema]).first?.integer("count") != 0 { await Task.yield() }
        let rows = try await sql.call(
            "SELECT calls FROM pg_stat_user_functions WHERE schemaname = $1 AND funcname = 'sluice_step'",
            [site.schema]
        )
        let count = try #require(rows.first?.integer("calls"))
        #expect((30...35).contains(count), "30 actions took \(count) calls")
        await sql.close()
    }

    @Test("Calls go on after the server has ended idle connections")
    func idleConnections() async throws {
        let site = try site()
        let url = "\(site.server.url)&application_name=\(site.schema)"
        var own = PostgresOptions()
        own.schema = site.schema
        let broker = try await Broker(postgres: url, server: own)
        let id = try await broker.enqueue(Note("a")).id
        let sql = connection(site)
        func endAll() async throws {
            _ = try await sql.call(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = $1",
                [site.schema]
            )
        }
        try await endAll()
        try await #expect(broker.actionCount() == 1)
        try await endAll()
        try await #expect(broker.cancel(id) == .removed)
        try await endAll()
        try await broker.enqueue(Note("b"))
        await sql.close()
        await broker.close()
    }

    @Test("What the engine does not have is an error that says so")
    func unsupported() async throws {
        let broker = try await site().broker()
        func code(_ body: () async throws -> Void) async -> SluiceError.Code? {
            do { try await body() } catch { return (error as? SluiceError)?.code }
            return nil
        }
        await #expect(
            code { try broker.configure("a", QueueOptions(discipline: .lastInFirstOut)) } == .unsupported
        )
        let codes = [
            await code { try broker.route(where: { _ in true }, Note.self) { _, _ in .success } },
            await code { try await broker.enqueue(Note("a"), EnqueueOptions(memberOf: ["g"])) },
        ]
        #expect(codes == [.unsupported, .unsupported])
        await broker.close()
    }

    @Test("An address at which nobody listens is an error that names it, without a password")
    func unreachable() async throws {
        let error = await #expect(throws: SluiceError.self) {
            _ = try await Broker(postgres: "postgresql://me:secret@127.0.0.1:1/nothing")
        }
        #expect(error?.code == .cannotOpen)
        #expect(error?.message.contains("127.0.0.1") == true && error?.message.contains("secret") == false)
    }
}
#endif
