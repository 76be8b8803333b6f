import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The front of a queue is the next to start, in every discipline", .watched)
struct NextToStartTests {
    static let disciplines: [QueueDiscipline] = [
        .firstInFirstOut, .lastInFirstOut, .concurrent(2), .passOver,
    ]
    private static let keys: [[SortKey]] = [
        Array(repeating: .arrival, count: 5), (1...5).map { .integer($0) },
        (1...5).map { .real(Double($0)) }, ["a", "b", "c", "d", "e"].map { .text($0) },
    ]

    @Test("What is moved to the front starts next", arguments: disciplines, 0..<5)
    func moved(discipline: QueueDiscipline, index: Int) async throws {
        for keys in Self.keys {
            let fixture = try await StoreFixture()
            let store = fixture.store
            var rules = QueueTable()
            try rules.add("q", QueueOptions(discipline: discipline))
            var ids: [ActionID] = []
            for key in keys { ids.append(try await store.add("\(ids.count)", by: key)) }
            let moved = try await store.moveToFront(ids[index], by: rules)
            #expect(moved == .done)
            let next = try await store.take(by: .by(discipline))
            #expect(next.receipt.action == ids[index], "\(keys)")
        }
    }

    @Test("Who knows only the file moves to the front by the discipline of those who ran the queue last")
    func byTheFile() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await ["a", "b", "c", "d"].asyncMap { try await store.add($0) }
        try await store.settle(try await store.take(by: .by(.lastInFirstOut)), .success)
        _ = try await store.moveToFront(ids[0])
        let a = try await store.take(by: .by(.lastInFirstOut))
        #expect(a.text == "a")
        try await store.settle(a, .success)
        #expect(try await store.skipHead(of: "q", error: "e") == .skipped(ids[2]))
        // It is run in order again, and so it is told.
        try await store.add("e")
        try await store.settle(try await store.take(), .success)
        let last = try await store.add("f")
        _ = try await store.moveToFront(last)
        #expect(try await store.take().text == "f")
    }

    @Test("A pass begins anew when an action that it has gone by is moved to the front")
    func pass() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await ["a", "b", "c", "d"].asyncMap { try await store.add($0) }
        for text in ["a", "b"] {
            let action = try await store.take(by: .by(.passOver))
            #expect(action.text == text)
            try await store.settle(action, .retry(after: .zero, error: "e"))
        }
        _ = try await store.moveToFront(ids[1])
        #expect(try await store.drain(by: .by(.passOver)) == ["b", "a", "c", "d"])
    }

    @Test(
        "G4: a skip means the action that parked the queue, whatever arrives before it",
        arguments: disciplines
    )
    func skipOfWhatParked(discipline: QueueDiscipline) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let failed = try await store.add("failed", by: .integer(5))
        let action = try await store.take(by: .by(discipline))
        try await store.settle(action, .fail(.failed, .block, error: "no such room"))
        let first = try await store.add("first", by: .integer(1))
        let last = try await store.add("last", by: .integer(9))
        #expect(try fixture.row("SELECT because FROM sluice_queues").hasPrefix("parked by action \(failed) "))
        #expect(try fixture.row("SELECT last_error FROM sluice_queues") == "NULL")
        var rules = QueueTable()
        try rules.add("q", QueueOptions(discipline: discipline))
        let skip = try await store.skipHead(of: "q", error: "e", by: rules.saidDiscipline(of: "q"))
        #expect(skip == .skipped(failed))
        #expect(try fixture.rows("SELECT id FROM sluice_dead") == ["\(failed)"])
        #expect(try fixture.row("SELECT state FROM sluice_queues") != "parked")
        let next = try await store.take(by: .by(discipline))
        #expect(next.receipt.action == (discipline == .lastInFirstOut ? last : first))
    }

    @Test("A skip finds what parked a concurrent queue while others run beside it")
    func skipBesideRunning() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for text in ["a", "b", "c"] { try await store.add(text) }
        let rules = QueueRules.by(.concurrent(2))
        let a = try await store.take(by: rules)
        let b = try await store.take(by: rules)
        try await store.settle(a, .fail(.failed, .block, error: "no such room"))
        #expect(try await store.skipHead(of: "q", error: "e") == .skipped(a.receipt.action))
        try await store.settle(b, .success)
        #expect(try await store.drain(by: rules) == ["c"])
    }

    @Test(
        "G15: the status names what parked the queue; the head is the newcomer, without its error"
    )
    func status() async throws {
        let broker = try await Site(.memory).broker()
        try broker.route("notes", Note.self) { _, _ in .fail("no such room") }
        let failed = try await broker.enqueue(Note("b", order: .integer(2))).id
        try await running(broker) { await broker.waitUntilIdle() }
        let first = try await broker.enqueue(Note("a", order: .integer(1))).id
        let status = try await broker.status(of: "notes")
        guard case .parked(failed, .failed, "no such room", _) = status.because.first else {
            throw Unexpected(description: "\(status)")
        }
        #expect(status.head == first && status.lastError == nil)
        try await #expect(broker.skipHead(of: "notes") == .skipped(failed))
        try await #expect(broker.status(of: "notes").because == [.stopped])
        await broker.close()
    }
}

extension Sequence {
    fileprivate func asyncMap<Output>(_ transform: (Element) async throws -> Output) async throws -> [Output]
    {
        var outputs: [Output] = []
        for element in self { outputs.append(try await transform(element)) }
        return outputs
    }
}
