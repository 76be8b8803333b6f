import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Queues whose names read like patterns", .watched) struct PatternNameTests {
    private static let names = ["*", "a/*", "promo*", "a*b"]

    @Test("No way in puts an action under such a name, and the refusal names the character", arguments: names)
    func refused(name: String) async throws {
        let site = try Site()
        let broker = try await site.broker()
        let id = try await broker.enqueue(Note("x", in: "q")).id
        var errors: [SluiceError] = []
        func expect(_ body: () async throws -> Void) async {
            do {
                try await body()
                Issue.record("'\(name)' was taken")
            } catch let error as SluiceError {
                errors.append(error)
            } catch {
                Issue.record(error)
            }
        }
        let queue = QueueName(name)
        await expect { try await broker.enqueue(Note("y", in: queue)) }
        await expect { _ = try await broker.enqueue(raw: [RawAction(queue: queue, kind: "k", payload: "1")]) }
        let transferred = TransferredAction(queue: queue, kind: "k", sortKey: .arrival, payload: "1")
        await expect { _ = try await broker.take([transferred]) }
        await expect { try await broker.move(id, to: queue) }
        #expect(errors.map(\.code) == Array(repeating: .invalidQueueName, count: 4))
        #expect(errors.allSatisfy { $0.message.contains("'*'") })
        for statement in [
            "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('\(name)', 'k', '1')",
            "UPDATE sluice_actions SET queue = '\(name)'",
        ] {
            do {
                try site.shell(statement)
                Issue.record("\(statement) was taken")
            } catch {
                #expect("\(error)".contains("must not contain '*'"), "\(error)")
            }
        }
        #expect(try await broker.statuses().map(\.queue) == ["q"])
        await broker.close()
    }

    @Test("One of an earlier version runs, is shown, and its actions can be moved and removed")
    func earlier() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let ids = try await broker.enqueue(["a", "b", "c"].map { Note($0, in: "promo") })
        try site.shell("UPDATE sluice_queue_rows SET name = 'promo*'")
        await broker.close()
        let later = try await site.broker()
        try await #expect(later.status(of: "promo*").depth == 3)
        try await #expect(later.move(ids[1], to: "promo") == .done)
        try await #expect(later.cancel(ids[2]) == .removed)
        let log = EventLog<String>()
        try later.route("*", Note.self) { note, _ in
            log.append(note.text)
            return .success
        }
        async let running: Void = later.run()
        await later.waitUntilIdle()
        await later.stop()
        try await running
        #expect(log.elements.sorted() == ["a", "b"])
        await later.close()
    }
}
