import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Restarts and wall clocks", .watched) struct RestartTests {
    /// A broker whose notes are retried after a hundred seconds, once.
    private func open(_ site: Site, _ log: EventLog<String>) async throws -> Broker {
        let broker = try await site.broker()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 ? .retry(after: .seconds(100)) : .success
        }
        return broker
    }

    /// Moves the clock in steps until a second attempt has begun, and tells by how much.
    ///
    /// What the engine has begun it ends within a step: the result is exact to some steps.
    private func advance(_ site: Site, _ broker: Broker, _ log: EventLog<String>) async throws -> Duration {
        let start = site.clock.uptime
        while log.elements.count < 2 {
            site.clock.advance(by: .milliseconds(500))
            try await until { log.elements.count >= 2 || broker.fileEngine.isAtRest(butFor: 0) }
            try await broker.file?.flush()
        }
        return site.clock.uptime - start
    }

    @Test(
        "G8: every queue with work resumes at the start, without being named",
        arguments: QueueStorage.allCases
    )
    func resumes(_ place: QueueStorage) async throws {
        let site = try Site(place)
        var broker = try await site.broker()
        try await broker.enqueue((0..<2_500).map { Note("\($0)", in: "q/\($0)") })
        if place == .file {
            await broker.close()
            broker = try await site.broker()
        }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let running = broker
        try await EngineSupport.running(running) { await running.waitUntilIdle() }
        #expect(Set(log.elements) == Set((0..<2_500).map { "\($0)" }))
        #expect(log.elements.count == 2_500)
        await broker.close()
    }

    @Test("G8: a wall clock that jumps while the broker runs makes no retry wait longer", arguments: [1, -1])
    func jumpWhileRunning(_ hours: Int) async throws {
        let site = try Site(.memory)
        let log = EventLog<String>()
        let broker = try await open(site, log)
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            site.clock.advance(by: .seconds(30))
            site.clock.jumpWall(by: .seconds(3_600 * hours))
            // An arrival makes the engine look at the head again: the wait must not begin anew.
            try await broker.enqueue(Note("b"))
            let rest = try await advance(site, broker, log)
            // Set forward, the retry counts as due; set back, it waits as long as was asked, and no longer.
            if hours < 0 { #expect(rest >= .seconds(70)) }
            #expect(rest < .seconds(100))
        }
        #expect(log.elements.prefix(2) == ["a 1", "a 2"])
    }

    @Test(
        "G8: a wall clock that jumped between two runs makes a retry wait at most the delay that was asked",
        arguments: [1, -1, -100_000]
    )
    func jumpBetweenRuns(_ hours: Int) async throws {
        let site = try Site()
        let log = EventLog<String>()
        let first = try await open(site, log)
        try await first.enqueue(Note("a"))
        try await running(first) { try await until { first.statistics.retried == 1 } }
        await first.close()
        site.clock.jumpWall(by: .seconds(3_600 * hours))

        let second = try await open(site, log)
        try await running(second) {
            let rest = try await advance(site, second, log)
            if hours > 0 {
                #expect(rest < .seconds(100))
            } else {
                #expect(rest >= .seconds(100))
                #expect(rest < .seconds(1_000))
            }
            await second.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 2"])
        await second.close()
    }

    @Test("G8: time that passes between two runs counts towards the wait")
    func timeBetweenRuns() async throws {
        let site = try Site()
        let log = EventLog<String>()
        let first = try await open(site, log)
        try await first.enqueue([Note("a", in: "1")])
        try await running(first) { try await until { first.statistics.retried == 1 } }
        await first.close()
        site.clock.advance(by: .seconds(100))
        let second = try await open(site, log)
        try await running(second) { await second.waitUntilIdle() }
        #expect(log.elements == ["a 1", "a 2"])
        await second.close()
    }

    @Test("Attempts, errors and their numbers go on after a restart")
    func attemptsGoOn() async throws {
        let site = try Site()
        let log = EventLog<String>()
        for round in 1...3 {
            let broker = try await site.broker()
            try broker.route("*", Note.self, retrying(.fixed(.seconds(1)))) { _, attempt in
                log.append("\(attempt.number) \(attempt.lastError ?? "-")")
                throw TestError("round \(round)")
            }
            if round == 1 { try await broker.enqueue(Note("a")) }
            try await running(broker) { try await until { broker.statistics.retried == 1 } }
            await broker.close()
            site.clock.advance(by: .seconds(1))
        }
        #expect(log.elements == ["1 -", "2 round 1", "3 round 2"])
    }
}

@Suite("Independence of queues", .watched(minutes: 3)) struct IndependenceTests {
    @Test("G9: a queue whose handler hangs delays no other", arguments: QueueStorage.allCases)
    func slowQueue(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.concurrency = 2 }
        let log = EventLog<String>()
        let go = Signal()
        try broker.routeNotes(to: log)
        try broker.route("slow", Note.self) { _, _ in
            try await go.received()
            return .success
        }
        try await broker.enqueue([Note("x", in: "slow"), Note("y", in: "slow")])
        try await broker.enqueue((0..<300).map { Note("\($0)", in: "q/\($0 % 30)") })
        try await running(broker) {
            _ = try await log.wait(forCount: 300)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 302)
        await broker.close()
    }

    @Test(
        "G9: a route's cap bounds its handlers and leaves permits to others; all of its queues get their turn"
    )
    func cappedRoute() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.concurrency = 4 }
        let (log, capped) = (EventLog<String>(), EventLog<String>())
        let go = Signal()
        try broker.routeNotes(to: log)
        try broker.route("capped/*", Note.self, RouteOptions(concurrency: 2)) { note, _ in
            capped.append(note.text)
            try await go.received()
            return .success
        }
        try await broker.enqueue((0..<50).map { Note("\($0)", in: "capped/\($0)") })
        try await broker.enqueue((0..<100).map { Note("\($0)", in: "free/\($0)") })
        try await running(broker) {
            _ = try await log.wait(forCount: 100)
            _ = try await capped.wait(forCount: 2)
            #expect(capped.elements.count == 2)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(Set(capped.elements).count == 50)
        #expect(broker.statistics.succeeded == 150)
    }

    @Test(
        "G9: 10,000 queues that wait for a retry hold no permit, and at their time all are retried"
    )
    func manyWaiting() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.concurrency = 4 }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try broker.route("waiting/*", Note.self) { _, attempt in
            attempt.number == 1 ? .retry(after: .seconds(3_000)) : .success
        }
        try await broker.enqueue((0..<10_000).map { Note("w", in: "waiting/\($0)") })
        try await running(broker) {
            try await until { broker.statistics.retried == 10_000 }
            try await broker.enqueue((0..<100).map { Note("\($0)", in: "free/\($0)") })
            _ = try await log.wait(forCount: 100)
            #expect(broker.statistics.started == 10_100)
            site.clock.advance(by: .seconds(3_000))
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 10_100)
        try await #expect(broker.actionCount() == 0)
    }

    @Test("No more handlers run at once than the broker's options allow, and that many do")
    func concurrency() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.concurrency = 5 }
        let started = Signal()
        let go = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await go.received()
            return .success
        }
        try await broker.enqueue((0..<20).map { Note("\($0)", in: "\($0)") })
        try await running(broker) {
            try await started.received(5)
            try await broker.enqueue(Note("more", in: "more"))
            #expect(started.elements.count == 5)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 21)
    }
}
