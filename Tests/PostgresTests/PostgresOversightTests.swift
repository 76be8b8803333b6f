#if PostgreSQL
import Logging
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import SluicePostgres

@Suite(
    "What somebody has probably forgotten on a server",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresOversightTests {
    private let lines = EventLog<String>()

    private func broker(_ site: PostgresSite) async throws -> Broker {
        try await site.broker { [lines] options, _ in options.logger = .keeping(lines, from: .warning) }
    }

    private func count(_ text: String) -> Int { lines.elements.filter { $0.contains(text) }.count }

    @Test("A route that meets no queue, queues without a route and a gate nobody opens are warned of once")
    func warned() async throws {
        let site = PostgresSite(try #require(TestServer.shared))
        let broker = try await broker(site)
        try broker.route("mial/*", Note.self) { _, _ in .success }
        try broker.route("gated", Note.self) { _, _ in .success }
        for number in 0..<20 { try await broker.enqueue(Note("a", in: QueueName("mail/\(number)"))) }
        try await broker.enqueue(Note("b", in: "gated"), EnqueueOptions(gate: "netwrok"))
        let run = Task { try await broker.run() }
        try await until {
            site.clock.advance(by: .seconds(1))
            return count("a gate that nobody has opened") > 0 && count("no queue matches a route") > 0
        }
        // Two looks more.
        let end = site.clock.now + Oversights.delay * 3
        var seen = 0
        try await until {
            site.clock.advance(by: .seconds(1))
            seen += 1
            try await broker.enqueue(Note("d", in: "gated"), EnqueueOptions(gate: "netwrok"))
            return site.clock.now > end && seen > 5
        }
        #expect(count("no route for the queue") == 1, "\(lines.elements)")
        #expect(count("no route for other queues") == 1 && count("count=19") == 1, "\(lines.elements)")
        #expect(count("no queue matches a route") == 1 && count("pattern=mial/*") == 1, "\(lines.elements)")
        #expect(count("a gate that nobody has opened") == 1, "\(lines.elements)")
        #expect(count("gate=netwrok") == 1, "\(lines.elements)")
        await broker.stop(grace: .zero)
        try await run.value
        await broker.close()
    }

    @Test("A gate that only queues of other programs wait for is not")
    func others() async throws {
        let site = PostgresSite(try #require(TestServer.shared))
        let broker = try await broker(site)
        let other = try await site.broker { options, _ in
            options.logger = .keeping(EventLog(), from: .warning)
        }
        try broker.route("gated", Note.self) { _, _ in .success }
        try other.route("other", Note.self) { _, _ in .success }
        try await broker.enqueue(Note("a", in: "other"), EnqueueOptions(gate: "of others"))
        try await broker.enqueue(Note("b", in: "gated"), EnqueueOptions(gate: "netwrok"))
        let runs = [broker, other].map { broker in Task { try await broker.run() } }
        try await until {
            try await other.status(of: "other").because.contains(.gate("of others", until: nil))
        }
        try await until {
            site.clock.advance(by: .seconds(1))
            return count("gate=netwrok") > 0
        }
        #expect(count("of others") == 0 && count("count=") == 0, "\(lines.elements)")
        for broker in [broker, other] { await broker.stop(grace: .zero) }
        for run in runs { try await run.value }
        for broker in [broker, other] { await broker.close() }
    }

    @Test("What one look has shown and the next has not is not told of")
    func inTime() {
        var looks = OversightLooks()
        let delay = Oversights.delay
        let dues = [.zero, delay - .milliseconds(1), delay, delay].map { looks.isDue(at: $0) }
        #expect(dues == [false, false, true, false])
        let (first, second) = (looks.take([.gate("a"), .queue("q")]), looks.take([.queue("q")]))
        #expect(first.isEmpty && second == [.queue("q")] && !looks.namesQueues)
        let (third, fourth) = (looks.take([.gate("a")]), looks.take([.gate("a"), .queue("q")]))
        #expect(third.isEmpty && fourth == [.gate("a")])
        let fifth = looks.take([.gate("a"), .queue("q")])
        #expect(fifth.isEmpty)
    }
}
#endif
