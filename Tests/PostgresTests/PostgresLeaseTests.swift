#if PostgreSQL
import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import SluicePostgres

@testable import EngineSupport

/// A worker whose connections to the server fail, in real time: so one after the other.
@Suite(
    "Leases on PostgreSQL",
    .serialized,
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresLeaseTests {
    let site: PostgresSite
    let proxy: SocketProxy

    init() throws {
        site = PostgresSite(try #require(TestServer.shared))
        proxy = try SocketProxy(before: site.server.folder)
    }

    /// A broker with the server's own clock and a short lease.
    func broker(isBehindProxy: Bool = false) async throws -> Broker {
        var own = PostgresOptions()
        (own.schema, own.lease) = (site.schema, .seconds(2))
        own.workerName = isBehindProxy ? "far" : "near"
        let url = site.server.url
        return try await Broker(
            postgres: isBehindProxy ? url.replacing(site.server.folder, with: proxy.folder) : url,
            server: own
        )
    }

    @Test("G3: handlers are cancelled before the lease ends, whatever a call waits for")
    func cutOff() async throws {
        defer { proxy.end() }
        let broker = try await broker(isBehindProxy: true)
        let started = Signal()
        let cancels = EventLog<ContinuousClock.Instant>()
        let attempts = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            attempts.append(attempt.number)
            guard attempts.elements.count == 1 else { return .success }
            started.send()
            // At the call, not when the handler has its next turn.
            try await withTaskCancellationHandler {
                try await untilCancelled()
            } onCancel: {
                cancels.append(.now)
            }
            return .success
        }
        let receipt = try await broker.enqueue(Note("a"))
        let run = Task { try await broker.run() }
        try await started.received()
        let start = ContinuousClock.now
        proxy.set(.hold)
        // Two thirds of two seconds after the last renewal, which came before.
        let cancelled = try await cancels.wait(forCount: 1)[0]
        #expect(start.duration(to: cancelled) < .seconds(2))
        proxy.set(.pass)
        try await #expect(receipt.settled() == .succeeded)
        // Nobody else took the queue over: a stop spends no attempt.
        #expect(attempts.elements == [1, 1])
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
    }

    @Test("G3: what the server has claimed in a call whose answer was lost starts at once")
    func lostAnswer() async throws {
        defer { proxy.end() }
        let (broker, other) = (try await broker(isBehindProxy: true), try await broker())
        let log = EventLog<Int>()
        try broker.route("*", Note.self) { note, attempt in
            if note.text == "the lost one" { log.append(attempt.number) }
            return .success
        }
        let run = Task { try await broker.run() }
        try await #expect(other.enqueue(Note("first")).settled() != .removed)
        proxy.loseAnswer(with: "the lost one")
        let start = ContinuousClock.now
        try await other.enqueue(Note("the lost one"))
        _ = try await log.wait(forCount: 1)
        #expect(proxy.hasLostAnswer && log.elements == [1])
        // Not only when its own lease has ended.
        #expect(start.duration(to: .now) < .seconds(2))
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await other.close()
    }

    @Test("G9: a transaction that stays open after an act holds up its queue alone, and then that goes on")
    func openAct() async throws {
        defer { proxy.end() }
        let broker = try await broker()
        let log = EventLog<String>()
        let mayEnd = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "held 1" { try await mayEnd.received() }
            return .success
        }
        let held = try await broker.enqueue([Note("held 1", in: "held"), Note("held 2", in: "held")])
        let run = Task { try await broker.run() }
        _ = try await log.wait(forCount: 1)
        let operating = PostgresConnection(PostgresAddress(url: site.server.url, schema: site.schema))
        _ = try await operating.call("BEGIN")
        _ = try await operating.call("SELECT @sluice_set_tag($1, 't')", ["\(held[1])"])
        mayEnd.send()
        // For longer than the lease.
        let start = ContinuousClock.now
        var count = 0
        while count < 10 || start.duration(to: .now) < .seconds(3) {
            _ = try await broker.enqueue(Note("free", in: "free")).settled()
            count += 1
        }
        #expect(!log.elements.contains("held 2"))
        let backends = "SELECT count(*) AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        try await #expect(operating.call(backends).first?.integer("count") == 0)
        _ = try await operating.call("COMMIT")
        try await until { log.elements.last == "held 2" }
        await broker.stop(grace: .zero)
        try await run.value
        #expect(log.elements.filter { $0.hasPrefix("held") } == ["held 1", "held 2"])
        await operating.close()
        await broker.close()
    }

    @Test("More outcomes than a call has may wait for a lock; others are settled, and a stop leaves the rest")
    func manyLocked() async throws {
        defer { proxy.end() }
        var (options, own) = (BrokerOptions(), PostgresOptions())
        (own.schema, own.lease) = (site.schema, .seconds(2))
        let count = Outcomes.mostInCall + 20
        options.concurrency = count + 1
        let broker = try await Broker(postgres: site.server.url, options: options, server: own)
        let mayEnd = Signal()
        let log = EventLog<String>()
        try broker.route("held/*", Note.self) { note, _ in
            log.append(note.text)
            try await mayEnd.received()
            return .success
        }
        try broker.route("free", Note.self) { _, _ in .success }
        try await broker.enqueue((0..<count).map { Note("\($0)", in: "held/\($0)") })
        let run = Task { try await broker.run() }
        _ = try await log.wait(forCount: count)
        let operating = PostgresConnection(PostgresAddress(url: site.server.url, schema: site.schema))
        _ = try await operating.call("BEGIN")
        _ = try await operating.call("SELECT queue_id FROM @sluice_lane_rows FOR UPDATE")
        mayEnd.send()
        try await until {
            broker.serverEngine.loop.state.withLock { $0.outcomes.waiting.count { $0.isBusy } } == count
        }
        _ = try await broker.enqueue(Note("a", in: "free")).settled()
        await broker.stop(grace: .zero)
        try await run.value
        try await #expect(broker.actionCount() == count)
        _ = try await operating.call("COMMIT")
        await operating.close()
        await broker.close()
    }

    @Test("G5: a worker that could not reach its server for long tries again before others take it off")
    func backOff() async throws {
        defer { proxy.end() }
        let broker = try await broker()
        let start = ContinuousClock.now
        // As after an hour: else it would be from 2.5 to 5 seconds, and its lease has two.
        await broker.serverEngine.loop.backOff(1_000)
        #expect(start.duration(to: .now) < .seconds(2))
        await broker.close()
    }

    @Test("G14: a read whose answer is lost is repeated")
    func lostRead() async throws {
        defer { proxy.end() }
        let broker = try await broker(isBehindProxy: true)
        try await broker.enqueue(Note("a"))
        proxy.loseAnswer(with: "count")
        try await #expect(broker.actionCount() == 1)
        #expect(proxy.hasLostAnswer)
        // Not one that takes too long: it would go on there five times.
        #expect(!PostgresFailure.lost(PostgresFailure.tooLate).mayRepeatRead)
        await broker.close()
    }

    @Test("G3: a step that arrives after its worker has connected again starts nothing")
    func lateStep() async throws {
        defer { proxy.end() }
        var (options, own) = (BrokerOptions(), PostgresOptions())
        (own.schema, own.lease, own.choreInterval) = (site.schema, .seconds(2), .seconds(60))
        options.concurrency = 1
        let url = site.server.url.replacing(site.server.folder, with: proxy.folder)
        let broker = try await Broker(postgres: url, options: options, server: own)
        let other = try await self.broker()
        let (started, isOver) = (Signal(), Signal())
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "a" {
                started.send()
                try await isOver.received()
            }
            return .success
        }
        let run = Task { try await broker.run() }
        try await #expect(other.enqueue(Note("first")).settled() != .removed)
        func answers(_ sql: String) async throws -> Set<Int64> {
            try await Set(other.serverEngine.calls.call(sql).compactMap { $0.integer("value") })
        }
        let steps = """
            SELECT pid AS value FROM pg_stat_activity \
            WHERE strpos(query, '"\(site.schema)".sluice_step(') > 0 \
            AND pid <> pg_backend_pid()
            """
        let before = try await answers(steps)
        proxy.holdConnections()
        // A step of a worker that may run one more.
        try await until { proxy.heldRequestCount > 0 }
        try await other.enqueue(Note("a"))
        try await started.received()
        try await other.enqueue(Note("b", in: "others"))
        proxy.releaseConnections()
        try await until { try await answers(steps).isDisjoint(with: before) }
        // It has not claimed what its worker would not know of.
        try await #expect(answers("SELECT count(*) AS value FROM @sluice_claim_rows") == [1])
        isOver.send()
        _ = try await log.wait(forCount: 3)
        #expect(log.elements == ["first", "a", "b"])
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await other.close()
    }

    @Test("G14: an enqueue whose commit is not known waits until the server has room to be asked")
    func askedOnFullDisk() async throws {
        defer { proxy.end() }
        let (far, near) = (try await broker(isBehindProxy: true), try await broker())
        let name = site.schema
        // The first two questions are refused, as on a full disk: a question leaves an empty row.
        try site.server.execute(
            """
            CREATE SEQUENCE \(name).questions;
            CREATE FUNCTION \(name).refuse_twice() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN
                IF nextval('\(name).questions') < 3 THEN
                    RAISE EXCEPTION USING ERRCODE = '53100', MESSAGE = 'there is no room';
                END IF;
                RETURN NEW;
            END
            $$;
            CREATE TRIGGER no_room BEFORE INSERT ON \(name).sluice_token_rows
            FOR EACH ROW WHEN (NEW.ids = '{}') EXECUTE FUNCTION \(name).refuse_twice();
            """
        )
        proxy.loseAnswer(with: "refusal")
        let receipt = try await far.enqueue(Note("a"))
        #expect(proxy.hasLostAnswer)
        let asked = try await near.serverEngine.calls.call(
            "SELECT last_value AS value FROM \(name).questions"
        )
        #expect(asked.first?.integer("value") == 3)
        let rows = try await near.serverEngine.calls.call("SELECT id AS value FROM @sluice_action_rows")
        #expect(rows.map { $0.integer("value") } == [receipt.id.rawValue])
        await far.close()
        await near.close()
    }

    @Test("The lease counts from when the server was asked, not from its answer")
    func counted() async throws {
        defer { proxy.end() }
        let place = SystemPlace()
        let lease = WorkerLease(.seconds(60), place)
        let asked = place.now - .seconds(41)
        #expect(lease.isTooLate(from: asked) && !lease.isTooLate(from: asked + .seconds(2)))
        let isLost = Signal()
        lease.begin(1, from: place.now)
        lease.renew(from: asked)
        // In the forty seconds after the answer it would not be.
        let start = ContinuousClock.now
        lease.beginWatch { isLost.send() }
        try await isLost.received()
        #expect(start.duration(to: .now) < .seconds(20))
        lease.endWatch()
    }

    @Test("G11: a worker that cannot listen polls, and does not have itself rung for")
    func polls() async throws {
        proxy.set(.refuse)
        defer { proxy.end() }
        var own = PostgresOptions()
        (own.schema, own.pollInterval) = (site.schema, .milliseconds(50))
        own.listeningURL = site.server.url.replacing(site.server.folder, with: proxy.folder)
        let broker = try await Broker(postgres: site.server.url, server: own)
        let other = try await self.broker()
        try broker.route("*", Note.self) { _, _ in .success }
        let run = Task { try await broker.run() }
        for text in ["a", "b", "c"] {
            try await #expect(other.enqueue(Note(text)).settled() != .removed)
            let sql = "SELECT count(*) AS count FROM @sluice_worker_rows WHERE waits"
            try await #expect(other.serverEngine.calls.call(sql).first?.integer("count") == 0)
        }
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await other.close()
    }

    @Test("G11: a worker that has lost its listening connection listens again")
    func listensAgain() async throws {
        defer { proxy.end() }
        var own = PostgresOptions()
        (own.schema, own.pollInterval) = (site.schema, .seconds(10))
        own.listeningURL = site.server.url.replacing(site.server.folder, with: proxy.folder)
        let broker = try await Broker(postgres: site.server.url, server: own)
        let other = try await self.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        let run = Task { try await broker.run() }
        let sql = "SELECT count(*) AS count FROM @sluice_worker_rows WHERE waits"
        func waits() async throws {
            try await until { try await other.serverEngine.calls.call(sql).first?.integer("count") == 1 }
        }
        try await waits()
        proxy.cut()
        for text in ["a", "b"] {
            try await until {
                let sql = "SELECT count(*) AS count FROM pg_stat_activity WHERE query = $1"
                let listen = #"LISTEN "sluice_\#(site.schema)""#
                return try await other.serverEngine.calls.call(sql, [listen]).first?.integer("count") == 1
            }
            try await waits()
            let start = ContinuousClock.now
            try await other.enqueue(Note(text))
            _ = try await log.wait(forCount: text == "a" ? 1 : 2)
            #expect(start.duration(to: .now) < .seconds(5))
        }
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
        await other.close()
    }
}
#endif
