import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What is left to do", .watched) struct RemainingWorkTests {
    /// A broker with one action in a queue, which has been run until it is idle.
    private func broker(_ site: Site, _ options: EnqueueOptions = EnqueueOptions()) async throws -> Broker {
        let broker = try await site.broker()
        try broker.route("retried", Note.self) { _, _ in .retry(after: .seconds(90)) }
        try broker.route("parked", Note.self) { _, _ in .fail("no such room") }
        try broker.route("notes", Note.self) { _, _ in .success }
        return broker
    }

    @Test(
        "Nothing in an empty file, and work at once where something could run",
        arguments: QueueStorage.allCases
    )
    func simple(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await broker(site)
        try await #expect(broker.remainingWork() == .none)
        try await broker.enqueue(Note("a"))
        try await #expect(broker.remainingWork() == .now)
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.remainingWork() == .none)
        await broker.close()
    }

    @Test("A retry and a schedule are work for later, the earliest first; what is ready is work now")
    func later() async throws {
        let site = try Site()
        let broker = try await broker(site)
        try await broker.enqueue(Note("a", in: "retried"))
        try await running(broker) { try await until { broker.statistics.retried == 1 } }
        try await #expect(broker.remainingWork() == .later(.seconds(90)))
        let time = (site.clock.now + .seconds(40)).date
        try await broker.enqueue(Note("b", in: "notes"), EnqueueOptions(notBefore: time))
        try await #expect(broker.remainingWork() == .later(.seconds(40)))
        site.clock.advance(by: .seconds(39))
        try await #expect(broker.remainingWork() == .later(.seconds(1)))
        site.clock.advance(by: .seconds(1))
        try await #expect(broker.remainingWork() == .now)
        await broker.close()
    }

    /// One that will be parked, one without a route, one behind a gate, and one that will be retried.
    private func enqueueOneOfEach(_ broker: Broker) async throws {
        try await broker.enqueue(Note("a", in: "parked"))
        try await broker.enqueue(Note("b", in: "nobody's"))
        try await broker.enqueue(Note("c", in: "notes"), EnqueueOptions(gate: "network"))
        try await broker.enqueue(Note("d", in: "retried"))
    }

    @Test("What time alone does not bring is none: parked, held, at a gate, without a route")
    func none() async throws {
        let site = try Site()
        let broker = try await broker(site)
        try await enqueueOneOfEach(broker)
        _ = try await broker.hold("retried", by: "test", reason: "")
        // Also before a broker has looked at any of them, but for the parked one.
        try await #expect(broker.remainingWork() == .now)
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.remainingWork() == .none)
        _ = try await broker.hold("retried", by: "other", reason: "", for: .seconds(10))
        try await #expect(broker.remainingWork() == .none)
        try await broker.openGate("network")
        try await #expect(broker.remainingWork() == .now)
        await broker.close()
    }

    @Test("A hold that ends by itself leaves work for then")
    func hold() async throws {
        let site = try Site()
        let broker = try await broker(site)
        try await broker.enqueue(Note("a"))
        _ = try await broker.hold("*", by: "test", reason: "", for: .seconds(10))
        try await #expect(broker.remainingWork() == .later(.seconds(10)))
        await broker.close()
    }

    @Test("A gate that opens by itself leaves work for then")
    func closing() async throws {
        let site = try Site()
        let broker = try await broker(site)
        try await broker.enqueue(Note("a"), EnqueueOptions(gate: "network"))
        try await broker.closeGate("network", for: .seconds(10))
        try await #expect(broker.remainingWork() == .later(.seconds(10)))
        site.clock.advance(by: .seconds(10))
        try await #expect(broker.remainingWork() == .now)
        await broker.close()
    }

    @Test("Heads at a rate limit are work for the time of the next start")
    func rate() async throws {
        let site = try Site()
        let broker = try await broker(site)
        let options = RouteOptions(rate: RateLimit(1, per: .seconds(600)))
        try broker.route("limited/*", Note.self, options) { _, _ in .success }
        try await broker.enqueue((0..<3).map { Note("a", in: "limited/\($0)") })
        try await #expect(broker.remainingWork() == .now)
        try await running(broker) { try await until { broker.statistics.succeeded == 1 } }
        try await #expect(broker.remainingWork() == .later(.seconds(600)))
        site.clock.advance(by: .seconds(600))
        try await #expect(broker.remainingWork() == .now)
        await broker.close()
    }

    @Test("What runs here is work now; what another process runs is its own")
    func processes() async throws {
        let site = try Site()
        let first = try await site.broker { $0.standFor(process: 1) }
        let second = try await site.broker { $0.standFor(process: 2) }
        let (started, go) = (Signal(), Signal())
        for broker in [first, second] {
            try broker.route("*", Note.self) { _, _ in
                started.send()
                try await go.received()
                return .success
            }
        }
        try await first.enqueue(Note("a"))
        try await running(first) {
            try await started.received()
            try await #expect(first.remainingWork() == .now)
            #expect(first.fileEngine.workAhead == .now)
            try await #expect(second.remainingWork() == .none)
            let left = try await second.fileEngine.workLeft()
            #expect(left.elsewhereCount == 1 && left.dueCount == 0 && left.count(.parked) == 0)
            go.send()
            await first.waitUntilIdle()
        }
        await first.close()
        await second.close()
    }

    @Test("However many queues wait for what time alone does not bring, what one waits for is found")
    func many() async throws {
        let site = try Site(.memory)
        let broker = try await broker(site)
        try broker.route("gated/*", Note.self) { _, _ in .success }
        try await broker.enqueue((0..<6_000).map { Note("a", in: "nobody's/\($0)") })
        let gated = EnqueueOptions(gate: "network")
        try await broker.enqueue((0..<6_000).map { Note("a", in: "gated/\($0)") }, gated)
        try await #expect(broker.remainingWork() == .none)
        try await #expect(broker.fileEngine.workLeft().count(.gate) == 6_000)
        // It is behind all of them by its name.
        try await broker.enqueue(
            Note("b", in: "notes"),
            EnqueueOptions(notBefore: (site.clock.now + .seconds(40)).date)
        )
        try await #expect(broker.remainingWork() == .later(.seconds(40)))
        // Whoever has no time to read them all takes what it has not read for work.
        try await #expect(broker.fileEngine.workLeft(until: site.clock.uptime).next == .now)
        await broker.close()
    }

    @Test("A head at a closed gate that expires lets the others go: that is work for then, unless it blocks")
    func expiry() async throws {
        let site = try Site()
        let broker = try await broker(site)
        let log = EventLog<String>()
        try broker.route("others", Note.self, RouteOptions(failure: .all(.block))) { _, _ in .success }
        try broker.route("gated", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        let options = EnqueueOptions(
            expiresAt: (site.clock.now + .seconds(20)).date,
            gate: "network"
        )
        try await broker.enqueue(Note("a", in: "others"), options)
        try await #expect(broker.remainingWork() == .none)
        try await broker.enqueue(Note("b", in: "gated"), options)
        try await broker.enqueue(Note("c", in: "gated"))
        try await #expect(broker.remainingWork() == .later(.seconds(20)))
        let left = try await broker.fileEngine.workLeft()
        #expect(left.dueCount == 1 && left.count(.gate) == 1)
        // A hold covers the queue whatever becomes of its head.
        let hold = try await broker.hold("gated", by: "test", reason: "", for: .seconds(30))
        try await #expect(broker.remainingWork() == .later(.seconds(30)))
        _ = try await broker.endHold(hold)
        site.clock.advance(by: .seconds(20))
        try await #expect(broker.remainingWork() == .now)
        try await running(broker) { _ = try await log.wait(forCount: 1) }
        #expect(log.elements == ["c"])
        await broker.close()
    }

    @Test("A retry that its action does not live to see is over when the action is")
    func expiryBeforeRetry() async throws {
        let site = try Site()
        let broker = try await broker(site)
        let end = (site.clock.now + .seconds(30)).date
        try await broker.enqueue(Note("a", in: "retried"), EnqueueOptions(expiresAt: end))
        try await running(broker) { try await until { broker.statistics.retried == 1 } }
        try await #expect(broker.remainingWork() == .later(.seconds(30)))
        await broker.close()
    }

    @Test("Queues are counted by what keeps them, each once, and those without a route not at all")
    func counts() async throws {
        let site = try Site()
        let broker = try await broker(site)
        try await enqueueOneOfEach(broker)
        try await running(broker) {
            try await until {
                try await broker.status(of: "parked").state == .parked && broker.statistics.retried == 1
            }
        }
        var left = try await broker.fileEngine.workLeft()
        #expect(left.count(.parked) == 1 && left.count(.gate) == 1 && left.dueCount == 1)
        #expect(left.next == .later(.seconds(90)))
        _ = try await broker.hold("*", by: "test", reason: "")
        left = try await broker.fileEngine.workLeft()
        // A parked queue stays parked when its hold ends.
        #expect(left.count(.parked) == 1 && left.count(.held) == 2 && left.count(.gate) == 0)
        #expect(left.dueCount == 0 && left.next == .none && left.elsewhereCount == 0)
        await broker.close()
    }
}
