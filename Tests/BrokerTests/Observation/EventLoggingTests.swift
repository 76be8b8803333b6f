import Logging
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What is logged", .watched)
struct EventLoggingTests {
    private let lines = EventLog<String>()

    private func logged(_ word: String) -> [String] { lines.elements.filter { $0.contains(word) } }

    @Test(
        "What needs a person is a warning with its keys, once for each change of state, without an observer"
    )
    func warnings() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker { $0.logger = .keeping(lines, from: .info) }
        try broker.route("parked", Note.self) { _, _ in .fail("no such room") }
        var skipping = retrying(.fixed(.zero))
        skipping.failure = .all(.skip)
        try broker.route("skipping", Note.self, skipping) { _, _ in .fail("gone") }
        var failing = RouteOptions()
        failing.failure = .all(.failQueue)
        try broker.route("failing", Note.self, failing) { _, _ in .fail("all of it") }
        try broker.route("kinds", Note.self) { _, _ in .success }
        try await broker.enqueue([
            Note("a", in: "parked"), Note("b", in: "parked"), Note("c", in: "skipping"),
        ])
        try await broker.enqueue((1...30).map { Note("\($0)", in: "failing") })
        try await broker.enqueue([Note("d", in: "nowhere")])
        try await broker.enqueue(Photo(album: "kinds", width: 1))
        try await broker.enqueue(raw: [RawAction(queue: "parked/2", kind: "note", payload: "[]")])
        try broker.route("parked/2", Note.self) { _, _ in .success }
        try await running(broker) {
            await broker.waitUntilIdle()
            for _ in 1...3 {
                try await broker.enqueue(Note("more", in: "parked"))
                try await broker.enqueue(Note("more", in: "nowhere"))
                await broker.waitUntilIdle()
            }
        }
        #expect(
            Set(logged("warning queue parked")) == [
                "warning queue parked action=1 attempt=1 cause=failed error=no such room kind=note "
                    + "queue=parked",
                "warning queue parked action=36 attempt=1 cause=undecodable "
                    + "error=\(try await reason(broker)) kind=note queue=parked/2",
            ]
        )
        #expect(logged("queue=skipping").filter { $0.hasPrefix("warning action became a dead") }.count == 1)
        #expect(logged("queue=failing").count == 2, "\(logged("queue=failing"))")
        #expect(logged("count=29").count == 1)
        #expect(logged("no route for the queue").count == 1 && logged("no route for the kind").count == 1)
        #expect(logged("info the broker runs").count == 1 && logged("info the broker has stopped").count == 1)
        #expect(logged("debug").isEmpty && logged("trace").isEmpty)
        await broker.close()
    }

    private func reason(_ broker: Broker) async throws -> String {
        try await broker.status(of: "parked/2").lastError ?? ""
    }

    @Test("Attempts are logged at debug, and nothing at all by default")
    func attempts() async throws {
        for level in [Logger.Level.debug, .warning] {
            let lines = EventLog<String>()
            let broker = try await Site(.memory).broker { $0.logger = .keeping(lines, from: level) }
            try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
                attempt.number == 1 ? .retry : .success
            }
            try await broker.enqueue(Note("a"))
            try await running(broker) { await broker.waitUntilIdle() }
            await broker.close()
            let attempts = lines.elements.filter { $0.contains("debug attempt") }
            #expect(attempts.count == (level == .debug ? 4 : 0), "\(attempts)")
        }
        #expect(Interest(loggingFrom: BrokerOptions().logger.logLevel).logged == nil)
    }

    @Test("A death is counted aloud, with the action and the number of its attempt")
    func crash() async throws {
        let file = try TemporaryFile()
        let clock = ManualClock()
        let store = try await StoreFixture(file: file, clock: clock)
        let action = try await store.store.add("poison")
        _ = try await store.store.take()
        try store.execute("UPDATE sluice_claim_rows SET trial_size = 1")
        await store.store.close()
        try store.killRunner()
        var options = BrokerOptions.on(clock)
        options.logger = .keeping(lines, from: .warning)
        let broker = try await Broker(file: file.path, options: options)
        try broker.routeNotes(to: EventLog<String>())
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(logged("the process died while an action ran alone").count == 1)
        #expect(logged("action=\(action) attempt=1").count == 1, "\(lines.elements)")
        await broker.close()
    }

    @Test("A write lock that another connection keeps is told once, as a warning")
    func locked() async throws {
        let site = try Site(.file)
        let broker = try await site.broker {
            $0.logger = .keeping(lines, from: .warning)
            $0.file.lockTimeout = .milliseconds(1)
        }
        try broker.routeNotes(to: EventLog<String>())
        try await running(broker) {
            await broker.waitUntilIdle()
            let application = try Application(site)
            try application.execute("BEGIN IMMEDIATE")
            _ = try? await broker.enqueue(Note("refused"))
            let queue = QueueID(rawValue: 1)
            broker.fileEngine.scheduler.wake([queue])
            _ = try await lines.wait(forCount: 1)
            site.clock.advance(by: .seconds(1))
            broker.fileEngine.scheduler.wake([queue])
            try application.execute("ROLLBACK")
            try await broker.enqueue(Note("stored"))
            await broker.waitUntilIdle()
        }
        #expect(logged("keeps the write lock").count == 1)
        await broker.close()
    }
}
