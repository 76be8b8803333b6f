import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Rate limits of routes", .watched) struct RateLimitTests {
    private let site: Site
    private let log = EventLog<String>()

    init() throws { site = try Site(.memory) }

    private func route(_ broker: Broker, _ pattern: QueuePattern, _ rate: RateLimit?) throws {
        try broker.route(pattern, Note.self, RouteOptions(rate: rate)) { [log] note, _ in
            log.append(note.text)
            return .success
        }
    }

    /// Waits until nothing can be done at this time, and expects so many starts.
    private func expect(_ count: Int, _ broker: Broker) async throws {
        _ = try await log.wait(forCount: count)
        try await until { broker.fileEngine.isAtRest(butFor: 0) }
        #expect(log.elements.count == count)
    }

    @Test("Actions start evenly, in the order in which their queues came to the limit, after a burst")
    func spaced() async throws {
        let broker = try await site.broker()
        try route(broker, "*", RateLimit(6, per: .seconds(60), burst: 2))
        try await broker.enqueue((0..<5).map { Note("\($0)", in: "q/\($0)") })
        try await running(broker) {
            try await expect(2, broker)
            site.clock.advance(by: .milliseconds(9_999))
            try await expect(2, broker)
            site.clock.advance(by: .milliseconds(1))
            try await expect(3, broker)
            site.clock.advance(by: .seconds(10))
            try await expect(4, broker)
            site.clock.advance(by: .seconds(10))
            try await expect(5, broker)
        }
        #expect(Set(log.elements).count == 5)
        await broker.close()
    }

    @Test("Each start of an attempt counts: a retry, and each slot of a queue")
    func retries() async throws {
        let broker = try await site.broker()
        try broker.configure("wide", QueueOptions(discipline: .concurrent(5)))
        let options = RouteOptions(rate: RateLimit(1, per: .seconds(10)))
        try broker.route("*", Note.self, options) { [log] note, attempt in
            log.append(note.text)
            return attempt.number == 1 ? .retry(after: .zero) : .success
        }
        try await broker.enqueue([Note("a", in: "wide"), Note("b", in: "wide")])
        try await running(broker) {
            for count in 1...4 {
                try await expect(count, broker)
                site.clock.advance(by: .seconds(10))
            }
        }
        #expect(log.elements.sorted() == ["a", "a", "b", "b"])
        await broker.close()
    }

    @Test("G9: a route at its limit keeps no permit, and another route is not delayed")
    func independence() async throws {
        let broker = try await site.broker { $0.concurrency = 2 }
        try route(broker, "slow/*", RateLimit(1, per: .seconds(3_600)))
        try route(broker, "fast", nil)
        try await broker.enqueue((0..<500).map { Note("slow", in: "slow/\($0)") })
        try await running(broker) {
            try await expect(1, broker)
            try await broker.enqueue((0..<50).map { Note("fast \($0)", in: "fast") })
            try await expect(51, broker)
        }
        await broker.close()
    }

    @Test("Routes with the same name share a limit")
    func shared() async throws {
        let broker = try await site.broker()
        for pattern in ["a", "b"] as [QueuePattern] {
            try route(broker, pattern, RateLimit(1, per: .seconds(10), name: "server"))
        }
        try route(broker, "c", RateLimit(1, per: .seconds(10)))
        try await broker.enqueue(["a", "b", "c"].map { Note($0, in: QueueName($0)) })
        try await running(broker) {
            try await expect(2, broker)
            #expect(log.elements.contains("c"))
            site.clock.advance(by: .seconds(10))
            try await expect(3, broker)
        }
        await broker.close()
    }

    @Test("G15: the because names the limit and the time of the next start")
    func because() async throws {
        let broker = try await site.broker()
        try route(broker, "*", RateLimit(1, per: .seconds(10), name: "server"))
        try await broker.enqueue((0..<3).map { Note("\($0)", in: "q/\($0)") })
        try await running(broker) {
            try await expect(1, broker)
            let next = (site.clock.now + .seconds(10)).date
            let statuses = try await broker.statuses()
            #expect(statuses.count == 2)
            for status in statuses {
                #expect(status.because == [.permit(.rate("server", until: next))])
                #expect(status.blockedUntil == next && status.state == .ready)
                let text = "waiting for the rate limit server until \(Timestamp(next).iso8601)"
                #expect(status.because.first?.description == text)
            }
            // It is the time in the file: a status that is read again is the same.
            site.clock.jumpWall(by: .seconds(1))
            try await #expect(broker.statuses().map(\.because) == statuses.map(\.because))
        }
        await broker.close()
    }

    @Test(
        "A limit that means nothing is refused",
        arguments: [
            RateLimit(0, per: .seconds(1)), RateLimit(1, per: .zero),
            RateLimit(1, per: .seconds(1), burst: 0), RateLimit(1, per: .seconds(1), burst: .max),
            RateLimit(1, per: .seconds(1), name: ""), RateLimit(1, per: .seconds(1), name: "a\0b"),
            RateLimit(1, per: .seconds(1), name: String(repeating: "x", count: 256)),
        ]
    )
    func refused(_ limit: RateLimit) async throws {
        let broker = try await site.broker()
        let error = #expect(throws: SluiceError.self) { try route(broker, "*", limit) }
        #expect(error?.code == .invalidOptions)
        await broker.close()
    }

    @Test("The interval is rounded up, so that no more than the limit start in its time")
    func interval() {
        #expect(RateLimit(3, per: .seconds(1)).interval == .microseconds(333_334))
        #expect(RateLimit(4, per: .seconds(1)).interval == .milliseconds(250))
        #expect(RateLimit(.max, per: .nanoseconds(1)).interval == .microseconds(1))
    }
}
