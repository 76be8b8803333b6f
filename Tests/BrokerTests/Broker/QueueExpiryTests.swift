import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A default expiry of queues", .watched) struct QueueExpiryTests {
    /// The seconds from now to each action's expiry, by number; `nil` for none.
    private func ends(_ broker: Broker, _ site: Site) async throws -> [Int64?] {
        let now = site.clock.wallMicroseconds
        return try await broker.fileEngine.store.read {
            try $0.prepare("SELECT expires_at_us FROM sluice_action_rows ORDER BY id").all { row in
                row.optionalInt64(0).map { ($0 - now) / 1_000_000 }
            }
        }
    }

    @Test("The most specific pattern that sets one counts, and an expiry of the action or the call wins")
    func rules() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.configure("feed/*", QueueOptions(expiresAfter: .seconds(100)))
        try broker.configure("feed/quick/*", QueueOptions(expiresAfter: .seconds(5)))
        try broker.configure("feed/small", QueueOptions(maximumDepth: 10))
        for queue in ["feed/a", "feed/quick/a", "feed/small", "other"] as [QueueName] {
            try await broker.enqueue(Note("a", in: queue))
        }
        let now = site.clock.now
        let own = EnqueueOptions(expiresAt: (now + .seconds(7)).date, tag: "t")
        try await broker.enqueue(Note("own", in: "feed/a"), own)
        try await broker.enqueue(Note("later", in: "feed/a"), notBefore: (now + .seconds(20)).date)
        try await broker.enqueue(Note("past", in: "feed/a"), notBefore: (now + .seconds(-20)).date)
        try await #expect(ends(broker, site) == [100, 5, 100, nil, 7, 120, 100])
        try await broker.enqueue(Note("tagged", in: "feed/a"), EnqueueOptions(tag: "kept"))
        try await #expect(broker.actions(tag: "kept").count == 1)
        await broker.close()
    }

    @Test("Every form of an enqueue has it; an INSERT by SQL and a move have not")
    func forms() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try broker.configure("feed/*", QueueOptions(expiresAfter: .seconds(100)))
        let note = Note("a", in: "feed/a")
        try broker.route("settling", Note.self) { _, _ in
            .success { try $0.enqueue(note) }
        }
        try await broker.enqueue(Note("a", in: "settling"))
        try await running(broker) { await broker.waitUntilIdle() }
        try await broker.enqueue([note, note])
        try await broker.enqueue(contentsOf: [note])
        try await broker.enqueue(raw: [RawAction(queue: "feed/a", kind: "note", payload: "{}")])
        try broker.enqueueBlocking(note)
        broker.submit(note)
        try await broker.file?.flush()
        try await broker.queue("feed/a", of: Note.self).add(note)
        try application.transaction { _ = try broker.enqueue(note, in: $0) }
        try await #expect(ends(broker, site) == Array(repeating: 100, count: 9))
        try application.execute(
            "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('feed/a', 'note', '{}')"
        )
        let moved = try await broker.enqueue(Note("moved", in: "other")).id
        try await #expect(broker.move(moved, to: "feed/a") == .done)
        try await #expect(ends(broker, site).suffix(2) == [nil, nil])
        await broker.close()
    }

    @Test("An action that has expired by it becomes a dead letter, without an attempt")
    func expires() async throws {
        let test = try await TestBroker { broker in
            try broker.configure("*", QueueOptions(expiresAfter: .seconds(60)))
            try broker.route("*", Note.self, RouteOptions(gates: ["network"])) { _, _ in .success }
        }
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.drain(for: .seconds(59))
        try await #expect(test.broker.actionCount() == 1)
        try await test.drain(for: .seconds(2))
        try await #expect(test.settled(id) == .deadLettered(.expired))
        try await #expect(test.broker.deadLetters().map(\.attempts) == [0])
        try await test.close()
    }

    @Test("One that is not positive is refused", arguments: [Duration.zero, .seconds(-1)])
    func refused(_ age: Duration) async throws {
        let broker = try await Site(.memory).broker()
        #expect(
            await refusal { try broker.configure("*", QueueOptions(expiresAfter: age)) } == .invalidOptions
        )
        await broker.close()
    }
}
