import Logging
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Two brokers of this process on one file, which stand for two processes.
@Suite("Two brokers on one file", .watched) struct TwoBrokersTests {
    private let site: Site

    // The views look at the clock of the system, for which no lease must be over.
    init() throws { site = try Site(.file, clock: .farAhead()) }

    private func broker(
        _ pid: Int64,
        _ change: (inout BrokerOptions) -> Void = { _ in }
    ) async throws -> Broker {
        try await site.broker { options in
            options.standFor(process: pid)
            options.file.durability = .everything
            // The system tells one watch of a process of each write, and these two are of one process.
            options.file.watchesWAL = false
            change(&options)
        }
    }

    /// Has the brokers notice what the others have committed.
    private func exchange(_ brokers: Broker...) async throws {
        for broker in brokers { try await broker.fileEngine.store.readForeignChanges() }
    }

    private func count(_ rows: String) throws -> Int {
        let application = try Application(try #require(site.file).path)
        return try application.rows("SELECT count(*) FROM \(rows)").first.flatMap(Int.init) ?? -1
    }

    /// What kills the process that a broker stands for.
    private func kill(_ pid: Int64) throws {
        try site.shell(
            "UPDATE sluice_runner_rows SET process = 'another start-of-the machine' WHERE pid = \(pid)"
        )
    }

    @Test("G15: a queue that another process has a route for is not without one, whoever looks")
    func routesOfOthers() async throws {
        let a = try await broker(1) { $0.concurrency = 1 }
        let (b, reader) = (try await broker(2), try await broker(3))
        let (started, goOn) = (Signal(), Signal())
        try a.route("x/*", Note.self) { _, _ in
            started.send()
            try await goOn.received()
            return .success
        }
        try b.route("y/*", Note.self) { _, _ in .success }
        try await running(a) {
            try await a.enqueue((1...3).map { Note("\($0)", in: QueueName("x/\($0)")) })
            try await started.received()
            try await running(b) {
                // It has met each queue, and has noted that it has no route for them.
                try await until { try count("sluice_queue_rows WHERE blocked_by = 'no route'") == 2 }
                for broker in [b, reader] {
                    let waiting = try await broker.statuses(matching: "x/*").filter { $0.state != .running }
                    #expect(waiting.map(\.because) == Array(repeating: [.owned(by: "process 1")], count: 2))
                }
                #expect(try await a.statuses(matching: "x/*", in: [.noRoute]).isEmpty)
                let view = "sluice_queues WHERE state = 'no route'"
                #expect(try count(view) == 0)
                // A route that is removed counts no more, and one that is added does.
                try a.removeRoutes("x/*")
                try await until { try count(view) == 2 }
                try a.route("x/2", Note.self) { _, _ in .success }
                try await until { try count(view) == 1 }
            }
            goOn.send()
        }
        for broker in [a, b, reader] { await broker.close() }
    }

    @Test("G3, G11: each runs what the other has no permit for, one action of a queue at a time")
    func share() async throws {
        let (a, b) = (try await broker(1) { $0.concurrency = 1 }, try await broker(2) { $0.concurrency = 1 })
        let (started, goOn) = (EventLog<String>(), Signal())
        for (broker, name) in [(a, "a"), (b, "b")] {
            try broker.route("*", Note.self) { note, _ in
                started.append("\(name) \(note.text)")
                try await goOn.received()
                return .success
            }
        }
        try await running(a) {
            try await a.enqueue(Note("1", in: "x"))
            _ = try await started.wait(forCount: 1)
            try await running(b) {
                try await b.enqueue([Note("2", in: "x"), Note("3", in: "y")])
                _ = try await started.wait(forCount: 2)
                #expect(started.elements == ["a 1", "b 3"])
                try await #expect(
                    a.status(of: "y").because.map(\.state) == [.running, .ready]
                )
                try await #expect(a.status(of: "y").because.last == .owned(by: "process 2"))
                try await #expect(a.status(of: "x").because.count == 1)
                try await #expect(b.status(of: "x").because.last == .owned(by: "process 1"))
                goOn.send()
                _ = try await started.wait(forCount: 3)
                #expect(started.elements.last?.hasSuffix(" 2") == true)
                try await until { try await a.actionCount() == 0 }
            }
        }
        await a.close()
        await b.close()
    }

    @Test("G9: of many queues each runs as many as it has permits, and each action runs once")
    func shareMany() async throws {
        let (a, b) = (try await broker(1), try await broker(2))
        let count = BrokerOptions().concurrency
        let (started, goOn) = (EventLog<String>(), Signal())
        for broker in [a, b] {
            try broker.route("*", Note.self) { note, _ in
                started.append(note.text)
                try await goOn.received()
                return .success
            }
        }
        let texts = (1...count * 2).map { "\($0)" }
        try await a.enqueue(texts.map { Note($0, in: QueueName("q/\($0)")) })
        try await running(a) {
            _ = try await started.wait(forCount: count)
            try await running(b) {
                _ = try await started.wait(forCount: count * 2)
                goOn.send()
                try await until { try await a.actionCount() == 0 }
            }
        }
        #expect(started.elements.sorted() == texts.sorted())
        #expect(a.statistics.succeeded == count && b.statistics.succeeded == count)
        await a.close()
        await b.close()
    }

    @Test("G15: a queue that another process runs says so, here and in SQL, until that has died")
    func elsewhere() async throws {
        // The views ask the machine's clock.
        let site = try Site(.file, clock: ManualClock(wallMicroseconds: SystemClock().wallMicroseconds))
        let broker = try await site.broker { $0.standFor(process: 1) }
        try broker.route("*", Note.self) { _, _ in .success }
        try await broker.enqueue(Note("a"))
        try site.shell(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            SELECT 99, 4711, 'machine another start', 0, now_us + 3600000000 FROM sluice_clock;
            INSERT INTO sluice_claim_rows (queue_id,slot,action_id,claim, started_at_us, trial_size, opening)
            SELECT queue_id, 0, 1, 99 << 32, \(site.clock.now.microseconds), 0, 0 FROM sluice_queue_rows
            """
        )
        let runs = WaitReason.running(since: site.clock.now.date, attempt: 1)
        try await #expect(broker.status(of: "notes").because == [runs, .owned(by: "process 4711")])
        try await running(broker) {
            try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
            try await #expect(broker.status(of: "notes").because == [runs, .owned(by: "process 4711")])
        }
        let shown = "SELECT state || ' ' || coalesce(process, 0) FROM sluice_queues"
        #expect(try site.rows(shown) == ["running 4711"])
        #expect(try site.rows("SELECT pid || ' ' || running FROM sluice_runners") == ["4711 1"])
        try site.shell("UPDATE sluice_runner_rows SET process = 'another start-of-the machine'")
        try await #expect(broker.status(of: "notes").because == [.stopped])
        try site.shell("UPDATE sluice_runner_rows SET lease_until_us = 0")
        #expect(try site.rows(shown) == ["stopped 0"])
        await broker.close()
    }

    /// How a broker comes to what the other one had taken and has left.
    enum Leaving: CaseIterable { case byAndBy, stop, death }

    @Test(
        "G11: a queue that the other had taken, and leaves for another one, is asked for again",
        arguments: Leaving.allCases
    )
    func takenAgain(_ leaving: Leaving) async throws {
        let (a, b) = (try await broker(1) { $0.concurrency = 1 }, try await broker(2))
        let (log, goOn, end) = (EventLog<String>(), Signal(), Signal())
        try a.route("*", Note.self) { note, _ in
            log.append("a \(note.text)")
            if note.text == "1" { await goOn.receivedInAnyCase() } else { await end.receivedInAnyCase() }
            return .success
        }
        defer { for signal in [goOn, end] { signal.send() } }
        // It has no route for the other queue.
        try b.route("x", Note.self) { note, _ in
            log.append("b \(note.text)")
            return .success
        }
        try await a.enqueue([Note("1", in: "x"), Note("2", in: "y"), Note("3", in: "x")])
        let run = Task { try await a.run() }
        _ = try await log.wait(forCount: 1)
        try await running(b) {
            // What it has found to claim is claimed behind its look.
            try await until { b.fileEngine.isAtRest(butFor: 0) }
            goOn.send()
            _ = try await log.wait(forCount: 2)
            #expect(log.elements == ["a 1", "a 2"])
            #expect(!b.fileEngine.scheduler.isIdle)
            switch leaving {
            case .byAndBy: site.clock.advance(by: .seconds(1))
            case .stop:
                Task { await a.stop() }
                try await until {
                    try await exchange(b)
                    return log.elements.count == 3
                }
            case .death:
                try kill(1)
                try await b.fileEngine.store.takeOffDead()
            }
            _ = try await log.wait(forCount: 3)
            #expect(log.elements.last == "b 3")
            end.send()
            await a.stop()
            try await run.value
        }
        await a.close()
        await b.close()
    }

    @Test("G3: a broker that stops renews its lease for as long as its handlers take to end")
    func drain() async throws {
        let (a, b) = (try await broker(1), try await broker(2))
        let (started, goOn) = (EventLog<String>(), Signal())
        for (broker, name) in [(a, "a"), (b, "b")] {
            try broker.route("*", Note.self) { note, _ in
                started.append("\(name) \(note.text)")
                await goOn.receivedInAnyCase()
                return .success
            }
        }
        defer { goOn.send() }
        try await a.enqueue(Note("1"))
        let run = Task { try await a.run() }
        _ = try await started.wait(forCount: 1)
        try await running(b) {
            async let stop: Void = a.stop(grace: .seconds(300))
            try await until { !a.fileEngine.isRunning }
            func lease() throws -> String {
                try site.rows("SELECT lease_until_us FROM sluice_runner_rows WHERE pid = 1")[0]
            }
            for _ in 0..<5 {
                let before = try lease()
                try await until { a.fileEngine.scheduler.time(of: .renewLease) != nil }
                site.clock.advance(by: .seconds(10))
                try await until { try lease() != before }
                try await b.fileEngine.store.takeOffDead()
            }
            #expect(started.elements == ["a 1"])
            goOn.send()
            await stop
        }
        try await run.value
        #expect(a.statistics.succeeded == 1 && b.statistics.started == 0)
        await a.close()
        await b.close()
    }

    @Test("G11: a broker that is suspended leaves what waits to the other at once")
    func suspended() async throws {
        let (a, b) = (try await broker(1) { $0.concurrency = 1 }, try await broker(2))
        let (log, goOn) = (EventLog<String>(), Signal())
        try a.route("*", Note.self) { note, _ in
            log.append("a \(note.text)")
            await goOn.receivedInAnyCase()
            return .success
        }
        defer { goOn.send() }
        try await a.enqueue(Note("1", in: "x"))
        let run = Task { try await a.run() }
        _ = try await log.wait(forCount: 1)
        // It has no permit for this one.
        try await a.enqueue(Note("2", in: "y"))
        try b.routeNotes(to: log)
        try await running(b) {
            _ = try await log.wait(forCount: 2)
            try await a.enqueue(Note("3", in: "z"), notBefore: (site.clock.now + .seconds(5)).date)
            await a.file?.suspend()
            try await exchange(b)
            site.clock.advance(by: .seconds(5))
            _ = try await log.wait(forCount: 3)
        }
        goOn.send()
        try await a.file?.resume()
        await a.stop()
        try await run.value
        #expect(a.statistics.succeeded == 1)
        await a.close()
        await b.close()
    }

    @Test("G8: the retry of one that died is made by the other, when it is due")
    func retryOfTheDead() async throws {
        let (a, b) = (try await broker(1), try await broker(2))
        let (log, started, goOn) = (EventLog<String>(), Signal(), Signal())
        try a.route("*", Note.self, retrying(.fixed(.seconds(20)))) { _, _ in
            started.send()
            try await goOn.received()
            throw TestError("no")
        }
        try b.routeNotes(to: log)
        try await a.enqueue(Note("1"))
        let run = Task { try await a.run() }
        try await started.received()
        try await running(b) {
            // It is the other's by now.
            try await until { b.fileEngine.isAtRest(butFor: 0) }
            goOn.send()
            try await until { a.statistics.retried == 1 }
            // Its process dies: it renews nothing and looks at nothing any more.
            await a.fileEngine.store.close()
            try kill(1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(1))
            site.clock.advance(by: .seconds(1))
            try await until { !b.fileEngine.store.runners.hasOthers }
            try await site.clock.waitForSleeper(untilUptime: .seconds(20))
            #expect(log.elements.isEmpty)
            site.clock.advance(by: .seconds(19))
            _ = try await log.wait(forCount: 1)
        }
        await a.stop(grace: .zero)
        await #expect(throws: SluiceError.self) { try await run.value }
        await a.close()
        await b.close()
    }

    @Test(
        "G6: a broker that was taken for dead begins anew; its handlers keep their queues till they return"
    )
    func takenForDead() async throws {
        let lines = EventLog<String>()
        let a = try await broker(1) { $0.logger = .keeping(lines, from: .warning) }
        let b = try await broker(2)
        let (started, goOn) = (EventLog<String>(), Signal())
        for (broker, name) in [(a, "a"), (b, "b")] {
            try broker.route("*", Note.self) { note, attempt in
                started.append("\(name) \(note.text)")
                if name == "a" && note.text == "1" { await goOn.receivedInAnyCase() }
                return .success
            }
        }
        defer { goOn.send() }
        try await running(a) {
            try await a.enqueue([Note("1"), Note("2")])
            _ = try await started.wait(forCount: 1)
            try await running(b) {
                // A freeze: for those who look, its process is gone.
                try kill(1)
                try await b.fileEngine.store.takeOffDead()
                _ = try await started.wait(forCount: 3)
                #expect(started.elements == ["a 1", "b 1", "b 2"])
            }
            #expect(a.statistics.staleCompletions == 0)
            goOn.send()
            try await until { a.statistics.staleCompletions == 1 }
            try await a.enqueue(Note("3"))
            _ = try await started.wait(forCount: 4)
            #expect(started.elements.last == "a 3")
        }
        #expect(a.statistics.succeeded == 1)
        #expect(lines.elements.filter { $0.contains("taken for dead by another process") }.count == 1)
        await a.close()
        await b.close()
    }
}
