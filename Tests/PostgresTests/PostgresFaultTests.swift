#if PostgreSQL
import CSluicePostgres
import Foundation
import Logging
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import SluicePostgres

@testable import EngineSupport

/// What one bad value, one slow connection or one wrong server must not do to all others.
@Suite(
    "Faults of others on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresFaultTests {
    private func site() throws -> PostgresSite { PostgresSite(try #require(TestServer.shared)) }

    private func connection(_ site: PostgresSite) -> PostgresConnection {
        PostgresConnection(PostgresAddress(url: site.server.url, schema: site.schema))
    }

    /// A broker that runs on the server's own clock.
    private func broker(
        _ site: PostgresSite,
        url: String? = nil,
        _ change: (inout BrokerOptions, inout PostgresOptions) -> Void = { _, _ in }
    ) async throws -> Broker {
        var (options, own) = (BrokerOptions(), PostgresOptions())
        own.schema = site.schema
        change(&options, &own)
        return try await Broker(postgres: url ?? site.server.url, options: options, server: own)
    }

    @Test("G9: a NUL in a reason is written without it, and stops nobody")
    func reasonWithNUL() async throws {
        let site = try site()
        let broker = try await broker(site)
        try broker.route("bad", Note.self) { _, _ in .fail("a\0b") }
        try broker.route("good/*", Note.self) { _, _ in .success }
        try await broker.enqueue(Note("x", in: "bad"))
        let actions = try await broker.enqueue((0..<20).map { Note("x", in: QueueName("good/\($0)")) })
        let run = Task { try await broker.run() }
        for action in actions { try await #expect(broker.settled(action) == .succeeded) }
        await broker.waitUntilIdle()
        let status = try await broker.status(of: "bad")
        #expect(status.lastError == "a\u{FFFD}b")
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
    }

    @Test("G9: an outcome that the server refuses for its data ends its own attempt, and no other")
    func refusedOutcome() async throws {
        let site = try site()
        let lines = EventLog<String>()
        let broker = try await broker(site) { options, _ in options.logger = .keeping(lines, from: .warning) }
        let sql = connection(site)
        _ = try await sql.call(
            "ALTER TABLE @sluice_attempt_rows ADD CHECK (error NOT LIKE 'refused%')"
        )
        let gate = Signal()
        try broker.route("*", Note.self) { note, _ in
            try await gate.received()
            return note.text == "bad" ? .fail("refused") : .success
        }
        let bad = try await broker.enqueue(Note("bad", in: "q/7"))
        let others = try await broker.enqueue(
            (0..<40).filter { $0 != 7 }.map { Note("x", in: QueueName("q/\($0)")) }
        )
        let run = Task { try await broker.run() }
        gate.send()
        for action in others { try await #expect(broker.settled(action) == .succeeded) }
        await broker.waitUntilIdle()
        let status = try await broker.status(of: "q/7")
        #expect(status.lastError?.contains("the server refuses the outcome") == true, "\(status)")
        let attempts = try await broker.failedAttempts(of: bad.id)
        #expect(attempts.count == 1)
        #expect(lines.elements.contains { $0.contains("the server refuses the outcome of an attempt") })
        #expect(lines.elements.contains { $0.contains("queue parked") })
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await sql.close()
    }

    @Test("G14: a text with a NUL is refused with the reason, and costs its neighbours nothing")
    func enqueuedNUL() async throws {
        let broker = try await broker(try site())
        let error = await #expect(throws: SluiceError.self) {
            try await broker.enqueue(Note("x"), EnqueueOptions(tag: "a\0b"))
        }
        #expect(error?.description.contains("NUL") == true, "\(String(describing: error))")
        try await broker.enqueue(Note("x"))
        await broker.close()
    }

    @Test("G11: a worker that was led to a server that only reads leaves it")
    func readOnlyServer() async throws {
        let site = try site()
        let sql = connection(site)
        let role = "reader_\(UInt32.random(in: 0 ... .max))"
        _ = try await sql.call("CREATE ROLE \(role) SUPERUSER LOGIN")
        let url = site.server.url.replacing("user=postgres", with: "user=\(role)")
        let lines = EventLog<String>()
        let broker = try await broker(site, url: url) { options, _ in
            options.logger = .keeping(lines, from: .warning)
        }
        let log = EventLog<Int>()
        try broker.route("*", Note.self) { _, _ in
            log.append(1)
            return .success
        }
        let run = Task { try await broker.run() }
        try await broker.enqueue(Note("a"))
        _ = try await log.wait(forCount: 1)
        // Its next connections are to a standby, as it were.
        _ = try await sql.call("ALTER ROLE \(role) SET default_transaction_read_only = on")
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE usename = $1"
        _ = try await sql.call(end, [role])
        await #expect(throws: SluiceError.self) { try await broker.openGate("g") }
        // An enqueue waits for the primary, and says so.
        let waiting = Task { try await broker.enqueue(Note("b")) }
        #expect(await lines.waits(for: "warning an enqueue waits for the server"))
        _ = try await sql.call("ALTER ROLE \(role) RESET default_transaction_read_only")
        _ = try await waiting.value
        _ = try await log.wait(forCount: 2)
        try await broker.openGate("g")
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await sql.close()
    }

    @Test("G15: a broker whose calls fail says so in the statuses, the log and its health")
    func failingCalls() async throws {
        let site = try site()
        let lines = EventLog<String>()
        let broker = try await broker(site) { options, _ in options.logger = .keeping(lines, from: .notice) }
        try broker.route("*", Note.self) { _, _ in .success }
        let receipt = try await broker.enqueue(Note("a"))
        let sql = connection(site)
        // As of a table without a key.
        _ = try await sql.call("ALTER TABLE @sluice_route_rows REPLICA IDENTITY NOTHING")
        _ = try await sql.call("CREATE PUBLICATION \(site.schema) FOR TABLE @sluice_route_rows")
        let run = Task { try await broker.run() }
        #expect(await lines.waits(for: "warning a call of the server failed"))
        let status = try await broker.status(of: "notes")
        guard case .refused(let error, _) = status.because.first else {
            Issue.record("\(status)")
            return
        }
        #expect(error.contains("55000"))
        // Another process, and whoever looks by SQL, is told too.
        let looker = try await self.broker(site)
        guard case .refused(error, _) = try await looker.status(of: "notes").because.first else {
            Issue.record("\(try await looker.status(of: "notes"))")
            return
        }
        let because = "SELECT because FROM @sluice_queues WHERE queue = 'notes'"
        let told = try await sql.call(because, []).first?.text("because") ?? ""
        #expect(told.hasPrefix("refused since ") && told.hasSuffix(": \(error)"), "\(told)")
        try await #expect(broker.serverEngine.health().refusal?.contains("55000") == true)
        _ = try await sql.call("DROP PUBLICATION \(site.schema)")
        try await #expect(receipt.settled() == .succeeded)
        #expect(await lines.waits(for: "calls of the server succeed again"))
        try await #expect(broker.serverEngine.health().refusal == nil)
        await looker.close()
        try await #expect(broker.serverEngine.health().contradictions == [])
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await sql.close()
    }

    @Test("G14: what a caller has given up is not done later")
    func givenUp() async throws {
        let site = try site()
        let sql = connection(site)
        let place = "done_\(UInt32.random(in: 0 ... .max))"
        _ = try await sql.call("CREATE TABLE \(place) (number int)")
        let slow = connection(site)
        let statement = "INSERT INTO \(place) SELECT 1 FROM (SELECT pg_sleep(600)) AS s"
        await #expect(throws: PostgresFailure.lost(PostgresFailure.tooLate)) {
            _ = try await slow.call(statement, [], within: .milliseconds(200))
        }
        let running =
            "SELECT count(*) AS count FROM pg_stat_activity WHERE query LIKE $1 AND state = 'active'"
        try await until {
            try await sql.call(running, ["INSERT INTO \(place)%"]).first?.integer("count") == 0
        }
        try await #expect(sql.call("SELECT count(*) AS count FROM \(place)").first?.integer("count") == 0)
        _ = try await sql.call("DROP TABLE \(place)")
        await slow.close()
        await sql.close()
    }

    @Test(
        "G14: an act whose answer is lost says that it may have been done"
    )
    func lostAnswers() {
        let failure = PostgresFailure.lost("reset by peer")
        let (act, look) = (failure.error(doing: "moving", isChange: true), failure.error(doing: "looking"))
        #expect(act.code == .connectionLost && act.message.contains("may have been done or not"))
        #expect(look.code == .connectionLost && !look.message.contains("done"))
    }

    @Test("What needs a person has a line in the log, as on a file")
    func lines() async throws {
        let site = try site()
        let lines = EventLog<String>()
        let broker = try await broker(site) { options, _ in options.logger = .keeping(lines, from: .notice) }
        let (started, edited) = (Signal(), Signal())
        try broker.route("park", Note.self) { _, _ in .fail("p") }
        try broker.route(
            "bury",
            Note.self,
            RouteOptions(failure: FailurePolicies(failed: .skip, expired: .skip))
        ) { _, _ in .fail("b") }
        try broker.route("edit", Note.self) { _, _ in
            started.send()
            try await edited.received()
            return .success
        }
        try await broker.enqueue(Note("x", in: "park"))
        try broker.route("whole", Note.self, RouteOptions(failure: FailurePolicies(failed: .failQueue))) {
            _,
            _ in
            .fail("w")
        }
        for _ in 0..<3 { try await broker.enqueue(Note("x", in: "whole")) }
        // Nothing but the sweep comes to it.
        let past = Date(timeIntervalSinceNow: -60)
        try await broker.enqueue(Note("x", in: "elsewhere"), EnqueueOptions(expiresAt: past))
        try await broker.enqueue(Note("x", in: "bury"))
        let receipt = try await broker.enqueue(Note("x", in: "edit"))
        let sql = connection(site)
        _ = try await sql.call("SELECT @sluice_enqueue('park/1', 'k', '{}')")
        _ = try await sql.call("SELECT @sluice_enqueue('bury', 'unknown', '{}')")
        let run = Task { try await broker.run() }
        try await started.received()
        _ = try await sql.call("SELECT @sluice_edit($1, NULL, '1', NULL)", ["\(receipt.id.rawValue)"])
        edited.send()
        for text in [
            "warning queue parked action=1", "warning action became a dead letter",
            "warning an attempt succeeded that had not seen an edit", "warning no route for the kind",
            "warning dead letters made of a whole queue cause=behind count=2",
            "notice action became a dead letter action=5 cause=expired",
        ] {
            #expect(await lines.waits(for: text), "\(text): \(lines.elements)")
        }
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await sql.close()
    }

    @Test("A worker whose clock is ahead of the server's waits as long as others")
    func clockAhead() async throws {
        let site = try site()
        let url = site.server.url + "&options=-c%20track_functions%3Dpl"
        let broker = try await broker(site, url: url) { options, own in
            options.clock = AheadClock()
            own.choreInterval = .seconds(600)
        }
        let starts = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            starts.append(attempt.number)
            return attempt.number == 1 ? .retry(after: .seconds(2)) : .success
        }
        let receipt = try await broker.enqueue(Note("x"))
        let run = Task { try await broker.run() }
        try await #expect(receipt.settled() == .succeeded)
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        let sql = connection(site)
        let count = try await sql.call(
            "SELECT sum(calls)::bigint AS count FROM pg_stat_user_functions "
                + "WHERE schemaname = $1 AND funcname = 'sluice_step'",
            [site.schema]
        )
        #expect((count.first?.integer("count") ?? 0) < 100, "\(count.map { $0["count"] ?? "" })")
        await sql.close()
    }

    @Test("G14: nothing of a transaction runs on another connection when its own is lost")
    func lostTransaction() async throws {
        let site = try site()
        let (server, connection) = (site.server, connection(site))
        let table = "stray_\(UInt32.random(in: 0 ... .max))"
        await #expect(throws: PostgresFailure.self) {
            try await connection.transaction { transaction throws(PostgresFailure) in
                let backend = try transaction.call("SELECT pg_backend_pid() AS pid").first?["pid"] ?? ""
                do {
                    try server.execute("SELECT pg_terminate_backend(\(backend), 60000)")
                } catch { throw .unsuitable("\(error)") }
                _ = try transaction.call("CREATE TABLE public.\(table) ()")
            }
        }
        // The next call has a connection of its own again.
        let found = try await connection.call("SELECT to_regclass($1) IS NULL AS none", ["public.\(table)"])
        #expect(found.first?.flag("none") == true)
        await connection.close()
    }

    @Test("Errors say who refuses, and our own have no number")
    func texts() async throws {
        let site = try site()
        let address = PostgresAddress(
            url: site.server.url.replacing("/postgres?", with: "/nowhere?"),
            schema: site.schema
        )
        let connection = PostgresConnection(address)
        let refused = await #expect(throws: PostgresFailure.self) { try await connection.call("SELECT 1") }
        let text = refused?.error(doing: "opening").description ?? ""
        #expect(text.contains("refuses the connection") && !text.contains("cannot be reached"), "\(text)")
        await connection.close()
        for (reason, headline) in [
            (
                "invalid integer value \"x\" for connection option \"connect_timeout\"",
                "the address cannot be used"
            ),
            ("the address is no connection string", "the address cannot be used"),
            ("session is read-only", "the server is of the wrong kind"),
            ("Connection refused", "the server cannot be reached"),
        ] {
            let words = PostgresFailure.cannotConnect(reason).error(doing: "t").description
            #expect(words.hasPrefix("t: \(headline): "), "\(words)")
        }
        let prepared = PostgresFailure.refused(state: "55P03", message: "m", detail: "databaseLocked ")
        #expect(prepared.error(doing: "t").description.contains("a lock: a prepared one"))
        let own = PostgresFailure.refused(state: "SL003", message: "m", detail: "invalidOptions")
        #expect(!own.error(doing: "t").description.contains("SQLSTATE"))
    }
}

/// A clock that is an hour ahead.
private struct AheadClock: BrokerClock {
    private let real = SystemClock()
    var wallMicroseconds: Int64 { real.wallMicroseconds + 3_600_000_000 }
    var uptime: Duration { real.uptime }
    func sleep(untilUptime deadline: Duration) async throws { try await real.sleep(untilUptime: deadline) }
}

extension EventLog where Element == String {
    /// Whether a line with this text comes.
    fileprivate func waits(for text: String) async -> Bool {
        for count in 1... {
            if elements.contains(where: { $0.contains(text) }) { return true }
            do { _ = try await wait(forCount: max(count, elements.count + 1)) } catch { return false }
        }
        return false
    }
}
#endif
