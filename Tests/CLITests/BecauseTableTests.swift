#if CommandLineTool
import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

/// Produces each reason why a queue does not move in a file, and compares what the library, the `sqlite3`
/// shell and the tool say of it with its section in `Operating.md`.
@Suite("The page of reasons", .serialized, .watched(minutes: 3)) struct BecauseTableTests {
    private struct Note: Action {
        static let kind = "note"
        var room: String
        var queue: QueueName { QueueName(room) }
    }

    private struct Broken: Error {}

    private let place: Workplace
    private let started = EventLog<Void>()
    private let goOn = EventLog<Void>()

    init() throws { place = try Workplace() }

    @Test("It lists every case of WaitReason, in their order")
    func cases() throws {
        let source = try BecauseTable.text(of: "Sources/Sluice/Status/WaitReason.swift")
        let start = try #require(source.range(of: "public enum WaitReason"))
        let body = try #require(source[start.upperBound...].components(separatedBy: "\n}\n").first)
        let cases = body.matches(of: #/\n    case (\w+)/#).map { String($0.1) }
        #expect(cases.count >= 13)
        #expect(try BecauseTable().rows.map(\.name) == cases)
    }

    @Test("Each has its meaning, what to do, and a test that exists")
    func tests() throws {
        let files = try BecauseTable.testFiles()
        for row in try BecauseTable().rows {
            #expect(!row.tests.isEmpty && !row.sql.isEmpty && !row.tool.isEmpty)
            #expect(row.meaning.count > 20 && row.advice.count > 20, "\(row)")
            #expect(!row.meaning.hasPrefix("**"), "\(row)")
            for test in row.tests {
                let parts = test.components(separatedBy: ".")
                try #require(parts.count == 2, "\(test)")
                let found = files.first { $0.lastPathComponent == "\(parts[0]).swift" }
                let file = try #require(found, "\(test)")
                let pieces = try String(contentsOf: file, encoding: .utf8).components(separatedBy: "\n\n")
                let hasTest = pieces.contains {
                    $0.contains("@Test(") && $0.contains("    func \(parts[1])(")
                }
                #expect(hasTest, "\(test)")
            }
        }
    }

    @Test("G15: what a process that runs the queues leaves in the file is shown as the page says")
    func whileRunning() async throws {
        let broker = try await Broker(file: place.path)
        try await running(broker) {
            try await stage(broker)
            for (queue, name) in [
                ("busy/1", "running"), ("parked", "parked"), ("undecodable", "undecodable"),
                ("kinds", "unknownKind"), ("nowhere", "noRoute"), ("held", "held"), ("gated", "gate"),
                ("retry", "retry"), ("later", "scheduled"), ("busy/2", "permit"),
            ] {
                let status = try await broker.status(of: QueueName(queue))
                #expect(status.because.first.map(Self.name) == name)
                _ = try await expect(queue, isShownAs: name)
            }
            let shown = try await expect("closed", isShownAs: "gate")
            #expect(shown == "waiting for gate GATE until TIME")
        }
    }

    @Test("G15: what nobody runs, and what another process runs, is shown as the page says")
    func notHere() async throws {
        try await place.enqueue("q")
        _ = try await expect("q", isShownAs: "stopped")
        _ = try await place.sql(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            SELECT 99, 4711, 'another', 0, now_us + 3600000000 FROM sluice_clock
            """
        )
        let broker = try await Broker(file: place.path)
        try await #expect(broker.status(of: "q").because.first.map(Self.name) == "owned")
        await broker.close()
        #expect(try await expect("q", isShownAs: "owned") == "owned by process PID")
    }

    @Test("G15: what its broker is about to start is shown as the page says, be others running or not")
    func ready() async throws {
        var shown: [String] = []
        for isBusy in [false, true] {
            // The machine's time goes on while this clock stands.
            let clock = ManualClock(wallMicroseconds: SystemClock().wallMicroseconds)
            var options = BrokerOptions()
            options.clock = clock
            let broker = try await Broker(file: place.path, options: options)
            try route(broker)
            try await running(broker) {
                if isBusy {
                    try await broker.enqueue(Note(room: "busy/1"))
                    _ = try await started.wait(forCount: 1)
                }
                let due = clock.now + .milliseconds(1)
                try await broker.enqueue(Note(room: "ready"), notBefore: due.date)
                try await leaseAnHour()
                shown.append(
                    try await whileLocked(broker) {
                        clock.advance(by: .seconds(1))
                        try await #expect(broker.status(of: "ready").because.map(Self.name) == ["ready"])
                        return try await expect("ready", isShownAs: "ready")
                    }
                )
            }
            _ = try await place.sluice("remove", "--all")
        }
        #expect(try BecauseTable().rows.first { $0.name == "ready" }?.tool == shown)
    }

    @Test("G15: what its broker cannot start for another's write lock is shown as the page says")
    func locked() async throws {
        let clock = ManualClock(wallMicroseconds: SystemClock().wallMicroseconds)
        var options = BrokerOptions()
        options.clock = clock
        options.file.lockTimeout = .milliseconds(5)
        let broker = try await Broker(file: place.path, options: options)
        try route(broker)
        try await running(broker) {
            let due = clock.now + .milliseconds(1)
            try await broker.enqueue(Note(room: "ready"), notBefore: due.date)
            try await leaseAnHour()
            // Its start has been written.
            while !broker.fileEngine.isAtRest(butFor: 0) {
                try Task.checkCancellation()
                await Task.yield()
            }
            let other = try Connection(path: place.path, mode: .write)
            other.setBusyTimeout(.seconds(30))
            try other.beginImmediate()
            defer { other.rollback() }
            clock.advance(by: .seconds(1))
            while try await broker.fileEngine.store.health().lockedSince == nil { await Task.yield() }
            try await #expect(broker.status(of: "ready").because.map(Self.name) == ["locked"])
            _ = try await expect("ready", isShownAs: "locked")
        }
    }

    @Test("G15: what its broker cannot start because the file refuses is shown as the page says")
    func refused() async throws {
        let broker = try await Broker(file: place.path)
        try route(broker)
        try await broker.enqueue(Note(room: "ready"))
        _ = try await place.sql(
            """
            CREATE TRIGGER planted BEFORE INSERT ON sluice_claim_rows
            BEGIN SELECT RAISE(ABORT, 'planted'); END
            """
        )
        try await running(broker) {
            while try await broker.status(of: "ready").because.map(Self.name) != ["refused"] {
                await Task.yield()
            }
            _ = try await expect("ready", isShownAs: "refused")
        }
    }
}

extension BecauseTableTests {
    /// The case of a reason: whoever adds one adds it here, and to the page.
    private static func name(of because: WaitReason) -> String {
        switch because {
        case .running: "running"
        case .parked: "parked"
        case .undecodable: "undecodable"
        case .unknownKind: "unknownKind"
        case .noRoute: "noRoute"
        case .held: "held"
        case .gate: "gate"
        case .retry: "retry"
        case .scheduled: "scheduled"
        case .permit: "permit"
        case .locked: "locked"
        case .refused: "refused"
        case .handlersBlocked: "handlersBlocked"
        case .ready: "ready"
        case .owned: "owned"
        case .stopped: "stopped"
        }
    }

    /// Runs a broker while a body is at work, and closes it.
    private func running(_ broker: Broker, _ body: () async throws -> Void) async throws {
        let run = Task { try await broker.run() }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        await broker.stop(grace: .zero)
        let end = await run.result
        await broker.close()
        try result.get()
        try end.get()
    }

    /// Makes the lease of the broker longer than the test, whose clock has it renewed never.
    private func leaseAnHour() async throws {
        _ = try await place.sql(
            """
            UPDATE sluice_runner_rows
            SET lease_until_us = lease_until_us + 3600000000, lease_until_boot_us = NULL
            """
        )
    }

    /// Keeps the broker from writing while a body is at work.
    private func whileLocked<Output>(
        _ broker: Broker,
        _ body: () async throws -> Output
    ) async throws -> Output {
        let (holding, end) = (EventLog<Void>(), DispatchSemaphore(value: 0))
        let lock = Task {
            try await onOwnThread {
                try broker.fileEngine.store.writeBlocking(sync: .later) { _ in
                    holding.append(())
                    end.wait()
                }
            }
        }
        let result: Result<Output, any Error>
        do {
            _ = try await holding.wait(forCount: 1)
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        end.signal()
        try await lock.value
        return try result.get()
    }

    private func route(_ broker: Broker) throws {
        try broker.route("busy/*", Note.self, RouteOptions(concurrency: 1)) { [started, goOn] _, _ in
            started.append(())
            _ = try await goOn.wait(forCount: 1)
            return .success
        }
        try broker.route("parked", Note.self) { _, _ in .fail("no such room") }
        try broker.route("retry", Note.self, RouteOptions(retry: .fixed(.seconds(3_600)))) {
            _,
            _ in
            throw Broken()
        }
        var gated = RouteOptions()
        gated.gates = ["network"]
        try broker.route("gated", Note.self, gated) { _, _ in .success }
        gated.gates = ["server"]
        try broker.route("closed", Note.self, gated) { _, _ in .success }
        for pattern in ["undecodable", "kinds", "held", "later", "ready"] as [QueuePattern] {
            try broker.route(pattern, Note.self) { _, _ in .success }
        }
    }

    /// Brings queues into each state that a running broker can bring them into.
    private func stage(_ broker: Broker) async throws {
        try route(broker)
        try await broker.hold("held", by: "ops", reason: "server moves")
        for room in ["parked", "nowhere", "held", "gated"] {
            try await broker.enqueue(Note(room: room))
        }
        try await broker.enqueue(raw: [
            RawAction(queue: "undecodable", kind: "note", payload: "[]"),
            RawAction(queue: "kinds", kind: "other", payload: "[]"),
        ])
        await broker.waitUntilIdle()
        // From here on, work is due later.
        try await broker.closeGate("server", for: .seconds(3_600))
        try await broker.enqueue(Note(room: "closed"))
        for try await status in broker.statusUpdates(of: "closed") where status.state == .gate { break }
        try await broker.enqueue(Note(room: "later"), notBefore: Date(timeIntervalSinceNow: 3_600))
        try await broker.enqueue(Note(room: "retry"))
        for try await status in broker.statusUpdates(of: "retry") where status.state == .retry { break }
        try await broker.enqueue(Note(room: "busy/1"))
        _ = try await started.wait(forCount: 1)
        try await broker.enqueue(Note(room: "busy/2"))
    }

    /// Compares what SQL and the tool show of a queue with the page.
    ///
    /// - Returns: Which of the page's texts the tool printed.
    private func expect(_ queue: String, isShownAs name: String) async throws -> String {
        let row = try #require(try BecauseTable().rows.first { $0.name == name })
        let sql = try await place.sql(
            "SELECT state || ': ' || because FROM sluice_queues WHERE queue = '\(queue)'"
        )
        #expect(try BecauseTable.pattern(of: sql, among: row.sql) != nil, "\(sql)")
        let lines = try await place.sluice("queues", "--queue", queue).lines
        try #require(lines.count == 2, "\(lines)")
        let column = try #require(lines[0].range(of: "BECAUSE")).lowerBound
        let because = String(lines[1].dropFirst(lines[0].distance(from: lines[0].startIndex, to: column)))
        let pattern = try #require(try BecauseTable.pattern(of: because, among: row.tool), "\(because)")
        // The page of one queue has all reasons, a line each, and the error on another one.
        let page = try await place.sluice("show", queue).lines.filter { $0.contains(#/^(and )?because /#) }
        let reasons = page.map { $0.replacing(#/^(and )?because +/#, with: "") }
        let first = try #require(reasons.first)
        let bare = row.tool.compactMap { $0.components(separatedBy: "; ").first }
        #expect(try BecauseTable.pattern(of: first, among: bare) != nil, "\(page)")
        let object = try #require(try await place.sluice("show", queue, "--json").objects().first)
        #expect(object["reasons"] as? [String] == reasons)
        #expect(object["because"] as? String == first)
        return pattern
    }
}
#endif
