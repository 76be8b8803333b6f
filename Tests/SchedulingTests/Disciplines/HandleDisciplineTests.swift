import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A queue's handle beside its discipline", .watched)
struct HandleDisciplineTests {
    private func claim(_ store: Store, by discipline: QueueDiscipline) async throws -> ClaimedAction {
        while true {
            let result = try await store.claim(by: QueueRules(discipline: discipline))
            if case .unfinished = result { continue }
            guard case .claimed(let action) = result else { throw Unexpected(description: "\(result)") }
            return action
        }
    }

    private func take(_ store: Store, _ count: Int) async throws -> [StoredAction] {
        try await store.takeNext(of: "q", limit: count) { .success($0) }.outputs
    }

    private func texts(_ actions: [StoredAction]) -> [String] {
        actions.map { String($0.payload.dropFirst().dropLast()) }
    }

    @Test("What is put back has its groups again", arguments: QueueStorage.allCases)
    func groups(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let options = retrying(.fixed(.seconds(60)))
        try broker.configure("notes", QueueOptions(discipline: .passOver))
        try broker.route("notes", Note.self, options) { note, attempt in
            log.append(note.text)
            return note.text == "start" && attempt.number == 1 ? .retry : .success
        }
        let notes = broker.queue("notes", of: Note.self)
        try await notes.add(Note("start"), EnqueueOptions(startsGroups: ["g"]))
        try await notes.add(Note("member"), EnqueueOptions(memberOf: ["g"]))
        try await notes.add(Note("free"))
        let taken = try await notes.removeNext(2)
        #expect(taken.map(\.action.text) == ["start", "member"])
        try await notes.putBack(taken)
        try await running(broker) {
            _ = try await log.wait(forCount: 2)
            #expect(log.elements == ["start", "free"])
            site.clock.advance(by: .seconds(60))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["start", "free", "start", "member"])
        await broker.close()
    }

    @Test("A handle and handlers both take the next to start: of a stack, the last")
    func stack() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for number in 0..<21 { try await store.add("\(number)") }
        var taken: [String] = []
        for _ in 0..<7 {
            let running = try await claim(store, by: .lastInFirstOut)
            taken.append(running.text)
            taken += texts(try await take(store, 2))
            try await store.settle(running, .success)
        }
        #expect(taken == (0..<21).reversed().map { "\($0)" })
        #expect(try await store.waitingCount(in: "q") == 0)
    }

    @Test("A stack's contents begin with the last, in pages, of those in the file's order and those in none")
    func contents() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for number in 0..<20 { try await store.add("\(number)") }
        let running = try await claim(store, by: .lastInFirstOut)
        #expect(running.text == "19")
        var (read, start): ([String], HandleStart) = ([], .front)
        while true {
            let page = try await store.waiting(in: "q", from: start, limit: 3)
            guard let last = page.last else { break }
            read += texts(page)
            start = .behind(last.place)
        }
        #expect(read == (0..<19).reversed().map { "\($0)" })
        #expect(texts(try await store.waiting(in: "q", from: .next, limit: 1)) == ["18"])
    }

    @Test("What stands aside is not there for a handle until it is due, whether a broker runs or not")
    func aside() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for text in ["a", "b"] { try await store.add(text) }
        let action = try await claim(store, by: .concurrent(2))
        try await store.settle(action, .retry(after: .seconds(5), error: "e"))
        #expect(try await store.waitingCount(in: "q") == 1)
        #expect(texts(try await store.waiting(in: "q", from: .front, limit: 9)) == ["b"])
        #expect(texts(try await take(store, 9)) == ["b"])
        fixture.clock.advance(by: .seconds(5))
        #expect(try await store.waitingCount(in: "q") == 1)
        #expect(texts(try await take(store, 9)) == ["a"])
    }

    @Test("A handle takes what is behind the mark of a pass, and then what was passed over")
    func mark() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for text in ["a", "b", "c", "d", "e", "f", "g"] { try await store.add(text) }
        let a = try await claim(store, by: .passOver)
        try await store.settle(a, .retry(after: .zero, error: "e"))
        #expect(texts(try await store.waiting(in: "q", from: .next, limit: 1)) == ["b"])
        let taken = try await take(store, 2)
        #expect(texts(taken) == ["b", "c"])
        // In front of all that waits: the pass begins anew.
        #expect(try await store.putBack(taken, to: "q") == taken.map(\.id))
        #expect(texts(try await take(store, 9)) == ["b", "c", "a", "d", "e", "f", "g"])
    }

    @Test(
        "A handle that is behind the mark comes to what was passed over last, and the pass goes on as before"
    )
    func passedOver() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for text in ["a", "b", "c"] { try await store.add(text) }
        let a = try await claim(store, by: .passOver)
        try await store.settle(a, .retry(after: .zero, error: "e"))
        #expect(texts(try await take(store, 1)) == ["b"])
        #expect(try await claim(store, by: .passOver).text == "c")
        #expect(texts(try await take(store, 2)) == ["a"])
    }

    @Test("A look past what runs that is rolled back leaves it running by its discipline")
    func rolledBack() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for number in 0..<8 { try await store.add("\(number)") }
        let running = try await claim(store, by: .passOver)
        #expect(running.text == "0")
        let refused = await refusal {
            try await store.write(sync: .later) { transaction in
                let taking = try transaction.handles.takeNext(of: "q", limit: 1, by: nil) {
                    .success($0.payload)
                }
                throw SluiceError(.invalidOptions, "took \(taking.outputs)")
            }
        }
        #expect(refused == .invalidOptions)
        try await store.settle(running, .retry(after: .zero, error: "e"))
        #expect(try await claim(store, by: .passOver).text == "1")
    }

    @Test("What stands aside is tried when its queue is started, and none is waited for then")
    func start() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        let options = retrying(.fixed(.seconds(60)))
        try broker.configure("*", QueueOptions(discipline: .concurrent(2)))
        try broker.route("*", Note.self, options) { note, attempt in
            log.append("\(attempt.queue) \(attempt.number)")
            return attempt.number == 1 ? .retry : .success
        }
        try await broker.enqueue([Note("a", in: "one"), Note("b", in: "two")])
        try await running(broker) {
            try await until { broker.statistics.retried == 2 }
            try await broker.queue("one", of: Note.self).start()
            try await until { broker.statistics.succeeded == 1 }
            #expect(log.elements.last == "one 2")
            try await #expect(broker.retryNow(queues: ["two"]) == 1)
            await broker.waitUntilIdle()
        }
        #expect(log.elements.count == 4 && log.elements.last == "two 2")
        await broker.close()
    }
}
