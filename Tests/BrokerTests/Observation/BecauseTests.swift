import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// One test for each reason why a queue does not move: as the library gives it, and as SQL shows it.
///
/// Sections of `Operating.md` point here. The views ask the machine's clock, so the engine's begins there.
@Suite("WaitReason", .watched)
struct BecauseTests {
    private let site: Site
    private let queue: QueueName = "notes"

    init() throws {
        site = try Site(.file, clock: ManualClock(wallMicroseconds: SystemClock().wallMicroseconds))
    }

    private var now: Date { site.clock.now.date }

    /// Compares a queue's status with what is expected, and its first reason with what SQL shows.
    private func check(
        _ broker: Broker,
        _ queue: QueueName = "notes",
        _ expected: WaitReason...,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let status = try await broker.status(of: queue)
        #expect(status.because == expected, sourceLocation: sourceLocation)
        try keepLease()
        let shown = try site.rows(
            "SELECT state || '|' || because FROM sluice_queues WHERE queue = '\(queue)'"
        )
        #expect(
            shown == expected.prefix(1).map { "\($0.state.rawValue)|\($0)" },
            sourceLocation: sourceLocation
        )
    }

    /// Lets a lease that stands outlast the test: the views ask the machine's clock, which goes on while the
    /// broker's, that would renew it, stands.
    private func keepLease() throws {
        try site.shell("UPDATE sluice_runner_rows SET lease_until_us = lease_until_us + 3600000000")
    }

    private func fail(_ broker: Broker, _ outcome: Outcome, _ options: RouteOptions = RouteOptions()) throws {
        try broker.route("*", Note.self, options) { _, _ in outcome }
    }

    @Test("G15: running since, with the attempt")
    func running() async throws {
        let broker = try await site.broker()
        let (started, goOn) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await goOn.received()
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            try await started.received()
            try await check(broker, queue, .running(since: now, attempt: 1))
            goOn.send()
        }
        await broker.close()
    }

    @Test("G15: what runs waits for no gate, whatever is closed; the status has the oldest time")
    func runningBehindGate() async throws {
        let broker = try await site.broker()
        let (started, goOn) = (Signal(), Signal())
        var options = RouteOptions()
        options.gates = ["network"]
        try broker.route("*", Note.self, options) { _, _ in
            started.send()
            try await goOn.received()
            return .success
        }
        try await broker.openGate("network")
        try await broker.enqueue(Note("a"))
        site.clock.advance(by: .seconds(5))
        try await broker.enqueue(Note("b"))
        try await whileRunning(broker) {
            try await started.received()
            try await broker.closeGate("network")
            try await check(broker, queue, .running(since: now, attempt: 1))
            try await #expect(broker.status(of: queue).oldestEnqueuedAt == now.addingTimeInterval(-5))
            goOn.send()
        }
        await broker.close()
    }

    @Test("G15: parked after a failure, with cause and error")
    func parked() async throws {
        let broker = try await site.broker()
        try fail(broker, .fail("no such room"))
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        let parked = WaitReason.parked(by: ids[0], cause: .failed, error: "no such room", since: now)
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            try await check(broker, queue, parked)
        }
        // All that apply, the first as SQL shows it.
        try await check(broker, queue, parked, .stopped)
        await broker.close()
    }

    @Test("G15: undecodable, with what the decoder found")
    func undecodable() async throws {
        let broker = try await site.broker()
        try fail(broker, .success)
        try await broker.enqueue(raw: [RawAction(queue: queue, kind: "note", payload: "[]")])
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            let error = try #require(try await broker.status(of: queue).lastError)
            try await check(broker, queue, .undecodable(error: error, since: now))
        }
        await broker.close()
    }

    @Test("G15: unknown kind")
    func unknownKind() async throws {
        let broker = try await site.broker()
        try fail(broker, .success)
        try await broker.enqueue(raw: [RawAction(queue: queue, kind: "other", payload: "[]")])
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            try await check(broker, queue, .unknownKind)
        }
        try await check(broker, queue, .unknownKind, .stopped)
        await broker.close()
    }

    @Test("G15: no route")
    func noRoute() async throws {
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            try await check(broker, queue, .noRoute)
        }
        try await check(broker, queue, .noRoute, .stopped)
        await broker.close()
    }

    @Test("G15: held, by each of those who hold it, the oldest first")
    func held() async throws {
        let broker = try await site.broker()
        try fail(broker, .success)
        try await broker.hold("*", by: "ops", reason: "server moves")
        try await broker.hold("notes", by: "night", for: .seconds(3_600))
        try await broker.hold("other/*", by: "nobody here")
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            let until = site.clock.now + .seconds(3_600)
            try await check(
                broker,
                queue,
                .held(by: "ops", reason: "server moves", until: nil),
                .held(by: "night", reason: "", until: until.date)
            )
        }
        await broker.close()
    }

    @Test("G15: waiting for each gate that its route asks for")
    func gate() async throws {
        let broker = try await site.broker()
        var options = RouteOptions()
        options.gates = ["network", "account:42"]
        try fail(broker, .success, options)
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            await broker.waitUntilIdle()
            try await check(broker, queue, .gate("network"), .gate("account:42"))
        }
        await broker.close()
    }

    @Test("G15: waiting for a retry until a time, with the last error")
    func retry() async throws {
        let broker = try await site.broker()
        try fail(broker, .retry(after: .seconds(600)))
        try await broker.enqueue(Note("a"))
        let due = site.clock.now + .seconds(600)
        try await whileRunning(broker) {
            try await until { try await broker.status(of: queue).state == .retry }
            try await check(broker, queue, .retry(until: due.date))
            try await #expect(broker.status(of: queue).blockedUntil == due.date)
            try await #expect(broker.status(of: queue).attempt == 1)
        }
        await broker.close()
    }

    @Test("G15: scheduled for a time")
    func scheduled() async throws {
        let broker = try await site.broker()
        try fail(broker, .success)
        let due = site.clock.now + .seconds(600)
        try await broker.enqueue(Note("a"), notBefore: due.date)
        try await whileRunning(broker) {
            try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
            try await check(broker, queue, .scheduled(for: due.date))
        }
        await broker.close()
    }

    @Test("G15: waiting for a permit, and of whom", arguments: [true, false])
    func permit(ofRoute: Bool) async throws {
        let broker = try await site.broker { $0.concurrency = ofRoute ? 64 : 1 }
        let (started, goOn) = (Signal(), Signal())
        try broker.route("*", Note.self, RouteOptions(concurrency: ofRoute ? 1 : nil)) { _, _ in
            started.send()
            try await goOn.received()
            return .success
        }
        try await broker.enqueue([Note("a", in: "busy"), Note("b")])
        try await whileRunning(broker) {
            try await started.received()
            let expected = WaitReason.permit(ofRoute ? .route("*") : .broker)
            // The second claim may still be under way.
            try await until { try await broker.status(of: queue).because == [expected] }
            try await check(broker, queue, expected)
            goOn.send()
        }
        await broker.close()
    }

    @Test("G15: waiting to be alone, behind what runs, after a death of the process")
    func alone() async throws {
        let broker = try await site.broker()
        let (started, goOn) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await goOn.received()
            return .success
        }
        try await broker.enqueue(Note("a", in: "busy"))
        try await whileRunning(broker) {
            try await started.received()
            try await broker.hold(QueuePattern(queue.rawValue), by: "test")
            let id = try await broker.enqueue(Note("b")).id
            try site.shell("INSERT INTO sluice_state_rows (action_id, is_suspect) VALUES (\(id), 1)")
            try await broker.endHolds(matching: "notes")
            let because = WaitReason.permit(.crashTrial(of: nil))
            try await until { try await broker.status(of: queue).because == [because] }
            try await check(broker, queue, because)
            goOn.send()
        }
        await broker.close()
    }

    @Test("G15: ready, where this broker is about to start it and has something to write before")
    func ready() async throws {
        let broker = try await site.broker()
        try fail(broker, .success)
        let due = site.clock.now + .milliseconds(1)
        try await broker.enqueue(Note("a"), notBefore: due.date)
        try await whileRunning(broker) {
            try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
            try keepLease()
            let (writing, end) = (Signal(), DispatchSemaphore(value: 0))
            async let write: Void = onOwnThread {
                try broker.fileEngine.store.writeBlocking(sync: .later) { _ in
                    writing.send()
                    end.wait()
                }
            }
            defer { end.signal() }
            try await writing.received()
            site.clock.advance(by: .seconds(1))
            let status = try await broker.status(of: queue)
            let shown = try site.rows("SELECT state || '|' || because FROM sluice_queues")
            end.signal()
            try await write
            #expect(status.because == [.ready])
            #expect(shown == ["ready|owned by process \(ProcessInfo.processInfo.processIdentifier)"])
        }
        await broker.close()
    }

    @Test("G15: owned by another process, and waiting for a permit of it while it runs others")
    func owned() async throws {
        let broker = try await site.broker()
        try await broker.enqueue([Note("a"), Note("b", in: "busy")])
        try site.shell(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            SELECT 99, 4711, 'another', 0, now_us + 3600000000 FROM sluice_clock
            """
        )
        try await check(broker, queue, .owned(by: "process 4711"))
        try site.shell(
            """
            INSERT INTO sluice_claim_rows (queue_id,slot,action_id,claim, started_at_us, trial_size, opening)
            SELECT queue_id, 0, 2, 99 << 32, \(site.clock.now.microseconds), 0, 0
            FROM sluice_queue_rows WHERE name = 'busy'
            """
        )
        try await check(broker, queue, .permit(.otherProcess), .owned(by: "process 4711"))
        try await check(broker, "busy", .running(since: now, attempt: 1), .owned(by: "process 4711"))
        // Its lease ends: what it left running is no run.
        try site.shell("UPDATE sluice_runner_rows SET lease_until_us = 0")
        try await check(broker, "busy", .stopped)
        await broker.close()
    }

    @Test("G15: broker stopped")
    func stopped() async throws {
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        try await check(broker, queue, .stopped)
        await broker.close()
    }

    @Test("G15: a queue without actions is empty, and has no row in SQL")
    func empty() async throws {
        let broker = try await site.broker()
        try await check(broker, "never named")
        let status = try await broker.status(of: "never named")
        #expect(status.state == .empty && status.depth == 0)
        #expect("\(status)" == "never named: empty")
        await broker.close()
    }

    @Test("G15: several reasons at once are all given, in the order of the contract")
    func several() async throws {
        let broker = try await site.broker()
        var options = RouteOptions()
        options.gates = ["network"]
        try fail(broker, .retry(after: .seconds(600)), options)
        try await broker.openGate("network", isPersistent: true)
        try await broker.enqueue(Note("a"))
        let due = site.clock.now + .seconds(600)
        try await whileRunning(broker) {
            try await until { try await broker.status(of: queue).state == .retry }
            try await broker.closeGate("network")
            try await broker.hold("notes", by: "ops")
            let reasons: [WaitReason] = [
                .held(by: "ops", reason: "", until: nil), .gate("network"), .retry(until: due.date),
            ]
            try await check(broker, queue, reasons[0], reasons[1], reasons[2])
        }
        await broker.close()
    }

    @Test("G15: waiting for the write lock of another connection, with its process")
    func locked() async throws {
        let broker = try await site.broker { $0.file.lockTimeout = .milliseconds(5) }
        try fail(broker, .retry(after: .seconds(100_000)))
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            try await until { broker.statistics.retried == 1 }
            let other = try Connection(path: #require(site.file).path, mode: .write)
            other.setBusyTimeout(patience)
            try other.beginImmediate()
            site.clock.advance(by: .seconds(100_000))
            try await until { try await broker.fileEngine.store.health().lockedSince != nil }
            #if os(Linux)
            let processes = [Int(getpid())]
            #else
            let processes: [Int] = []
            #endif
            let status = try await broker.status(of: queue)
            #expect(status.because == [.locked(since: now, by: processes)])
            #expect(status.state == .ready && status.isUnchanged)
            other.rollback()
            try await until {
                site.clock.advance(by: .seconds(1))
                return broker.statistics.retried == 2
            }
            try await #expect(broker.status(of: queue).state == .retry)
        }
        await broker.close()
    }

    @Test(
        "The time of a reason is written as SQLite writes it",
        arguments: [
            0, -1, 1_767_225_600_000_000, 1_709_164_800_123_456, 4_102_444_799_999_999,
            -62_167_219_200_000_000, 951_782_400_000_000, 253_402_300_799_999_999,
        ]
    )
    func iso(_ microseconds: Int64) throws {
        let connection = try Connection(path: ":memory:", mode: .write)
        let expected = try connection.prepare(
            """
            SELECT strftime('%Y-%m-%dT%H:%M:%S',
                            (?1 - (?1 % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
                   || printf('.%06dZ', (?1 % 1000000 + 1000000) % 1000000)
            """
        ).bind(1, microseconds).first { $0.text(0) }
        #expect(Timestamp(microseconds: microseconds).iso8601 == expected)
    }
}
