import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Waiting until some queues have nothing left to do", .watched)
struct PatternIdleTests {
    @Test("G9: a busy queue outside the pattern does not delay it, and none of its own is missed")
    func busyOthers() async throws {
        let broker = try await Site(.memory).broker()
        let (log, started, goOn) = (EventLog<String>(), Signal(), Signal())
        defer { goOn.send() }
        try broker.route("busy", Note.self) { _, _ in
            started.send()
            await goOn.receivedInAnyCase()
            return .success
        }
        try broker.routeNotes("mine/*", to: log)
        try await broker.enqueue(Note("long", in: "busy"))
        try await running(broker) {
            try await started.received()
            for round in 1...20 {
                try await broker.enqueue((0..<50).map { Note("\($0)", in: "mine/\($0 % 5)") })
                try await broker.waitUntilIdle("mine/*")
                #expect(log.elements.count == 50 * round)
            }
            try await #expect(broker.status(of: "busy").state == .running)
            goOn.send()
        }
        await broker.close()
    }

    @Test("It waits for a retry and for a scheduled action of its queues")
    func later() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (log, started, goOn) = (EventLog<String>(), Signal(), Signal())
        defer { goOn.send() }
        try broker.route("busy", Note.self) { _, _ in
            started.send()
            await goOn.receivedInAnyCase()
            return .success
        }
        try broker.route("mine/*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 && note.text == "retried" ? .retry(after: .seconds(9)) : .success
        }
        try await broker.enqueue(Note("long", in: "busy"))
        try await broker.enqueue(Note("retried", in: "mine/1"))
        try await broker.enqueue(
            Note("scheduled", in: "mine/2"),
            notBefore: (site.clock.now + .seconds(20)).date
        )
        try await running(broker) {
            try await started.received()
            let idle = Task {
                try await broker.waitUntilIdle("mine/*")
                log.append("idle")
            }
            try await until { broker.statistics.retried == 1 }
            site.clock.advance(by: .seconds(9))
            _ = try await log.wait(forCount: 2)
            site.clock.advance(by: .seconds(11))
            try await idle.value
            goOn.send()
        }
        #expect(log.elements == ["retried 1", "retried 2", "scheduled 1", "idle"])
        await broker.close()
    }

    @Test("It ends when a queue of it is parked, is blocked by a gate, or loses its route")
    func obstacles() async throws {
        let broker = try await Site(.memory).broker()
        let goOn = Signal()
        defer { goOn.send() }
        let started = EventLog<String>()
        try broker.route("busy", Note.self) { note, _ in
            started.append(note.text)
            await goOn.receivedInAnyCase()
            return .success
        }
        try broker.route("mine/*", Note.self) { note, _ in
            switch note.text {
            case "parks": .halt("broken")
            case "gated": .retry(whenOpen: "closed")
            default: .retry(after: .seconds(600))
            }
        }
        try await broker.enqueue(["parks", "gated", "waits"].map { Note($0, in: QueueName("mine/\($0)")) })
        try await broker.enqueue(Note("long", in: "busy"))
        try await running(broker) {
            _ = try await started.wait(forCount: 1)
            let idle = Task { try await broker.waitUntilIdle("mine/*") }
            try await until { try await broker.status(of: "mine/waits").state == .retry }
            try #expect(broker.removeRoutes("mine/*"))
            try await idle.value
            goOn.send()
        }
        await broker.close()
    }

    @Test("It returns at once if nothing is left, before a run too, and when the broker stops")
    func ends() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.waitUntilIdle("mine/*")
        let error = await #expect(throws: SluiceError.self) { try await broker.waitUntilIdle("mine*") }
        #expect(error?.code == .invalidPattern)
        let started = Signal()
        try broker.route("mine/*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("a", in: "mine/1"))
        let idle = Task { try await broker.waitUntilIdle("mine/*") }
        try await until { broker.fileEngine.life.withLock { !$0.restWaiters.isEmpty } }
        try await running(broker) { try await started.received() }
        try await idle.value
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("A handler of another queue may wait for it")
    func fromHandler() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.routeNotes("mine/*", to: log)
        try broker.route("waiter", Note.self) { _, attempt in
            try await attempt.broker.waitUntilIdle("mine/*")
            log.append("idle")
            return .success
        }
        try await broker.enqueue([Note("a", in: "mine/1"), Note("b", in: "mine/2")])
        try await broker.enqueue(Note("w", in: "waiter"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements.last == "idle" && log.elements.count == 3)
        await broker.close()
    }

    @Test("A run of another process in one of the queues is waited for")
    func elsewhere() async throws {
        let site = try Site(.file)
        func open(_ pid: Int64) async throws -> Broker {
            try await site.broker { options in
                options.standFor(process: pid)
                options.file.watchesWAL = false
            }
        }
        let (mine, other) = (try await open(1), try await open(2))
        let (started, goOn) = (Signal(), Signal())
        defer { goOn.send() }
        try other.route("b", Note.self) { _, _ in
            started.send()
            await goOn.receivedInAnyCase()
            return .success
        }
        try mine.routeNotes("b", to: EventLog<String>())
        try await other.enqueue(Note("long", in: "b"))
        let ends = EventLog<String>()
        try await running(other) {
            try await started.received()
            try await running(mine) {
                let idle = Task {
                    try await mine.waitUntilIdle("b")
                    ends.append("idle")
                }
                try await until { mine.fileEngine.life.withLock { !$0.restWaiters.isEmpty } }
                ends.append("goes on")
                goOn.send()
                try await until { other.statistics.succeeded == 1 }
                mine.fileEngine.lookForCommits()
                site.clock.advance(by: .seconds(1))
                try await idle.value
            }
        }
        #expect(ends.elements == ["goes on", "idle"])
        for broker in [mine, other] { await broker.close() }
    }
}
