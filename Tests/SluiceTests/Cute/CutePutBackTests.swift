import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Cute's `retry(_:)`: an action that was taken out is stored again, in front.
@Suite("Cute: back at the front", .watched) struct CutePutBackTests {
    @Test("Cute: what is put back is the first again, and the same action", arguments: QueueStorage.allCases)
    func same(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let gate = EnqueueOptions(tag: "t", gate: "g")
        let id = try await jobs.add(Note("a"), gate).id
        try await jobs.add([Note("b"), Note("c")])
        let taken = try #require(try await jobs.removeNext())
        try await jobs.add(Note("d"))
        try await #expect(jobs.texts() == ["b", "c", "d"])
        try await #expect(jobs.putBack(taken) == id)
        try await #expect(jobs.texts() == ["a", "b", "c", "d"])
        try await #expect(jobs.peek()?.idempotencyKey == taken.idempotencyKey)
        try await #expect(jobs.peek()?.enqueuedAt == taken.enqueuedAt)
        try await #expect(jobs.peek()?.tag == "t")
        try await #expect(broker.status(of: "jobs").because.contains(.gate("g")))

        let keys = EventLog<String>()
        try jobs.route { _, attempt in
            keys.append(attempt.idempotencyKey)
            return .success
        }
        try await broker.openGate("g")
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(keys.elements.count == 4 && keys.elements.first == taken.idempotencyKey)
        try await #expect(broker.settled(id) == .succeeded)
        await broker.close()
    }

    @Test("Cute: several are put back in their order, and a second time they are left as they are")
    func several() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        try await jobs.add(["a", "b", "c", "d"].map { Note($0) })
        let taken = try await jobs.removeNext(3)
        try await #expect(jobs.putBack(taken) == taken.map(\.id))
        try await #expect(jobs.putBack(taken.reversed()) == taken.reversed().map(\.id))
        try await #expect(jobs.putBack([QueuedAction<Note>]()) == [])
        try await #expect(jobs.texts() == ["a", "b", "c", "d"])
        try await #expect(jobs.count() == 4)
    }

    @Test("Cute: it keeps its sort key where that puts it first, and gets the first's or a smaller one else")
    func sortKeys() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        try await jobs.add([Note("p", order: .integer(1)), Note("q", order: .integer(5))])
        let taken = try await jobs.removeNext(2)
        try await jobs.add(Note("r", order: .integer(3)))
        // Its own key is the smallest.
        try await jobs.putBack(taken[0])
        try await #expect(jobs.peek()?.sortKey == .integer(1))
        // The first has a smaller number: a smaller key is needed.
        try await jobs.putBack(taken[1])
        try await #expect(jobs.peek()?.sortKey == .integer(0))
        try await #expect(jobs.texts() == ["q", "p", "r"])
        // The first has a larger number: its key is enough.
        let both = try await jobs.removeNext(2)
        try await jobs.add(Note("s", order: .integer(-7)))
        try await jobs.putBack(both[0])
        try await #expect(jobs.peek()?.sortKey == .integer(-7))
        try await #expect(jobs.texts() == ["q", "s", "r"])
    }

    @Test("Cute: where no key is smaller it is not put back, and neither are those with it")
    func noSmallerKey() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        try await jobs.add([
            Note("p", order: .text("")), Note("q", order: .text("b")), Note("r", order: .text("c")),
        ])
        let taken = try await jobs.removeNext(3)
        try await jobs.putBack(taken[0])
        let refused = await refusal { try await jobs.putBack([taken[1], taken[2]]) }
        #expect(refused == .noSmallerSortKey)
        try await #expect(jobs.texts() == ["p"])
    }

    @Test("Cute: with another type of sort key in the queue it is not put back")
    func otherType() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        try await jobs.add(Note("p", order: .integer(1)))
        let taken = try #require(try await jobs.removeNext())
        try await jobs.add(Note("q"))
        let refused = await refusal { try await jobs.putBack(taken) }
        #expect(refused == .sortKeyMismatch)
        try await #expect(jobs.take(2) == ["q"])
        try await jobs.putBack(taken)
        try await #expect(jobs.texts() == ["p"])
    }

    @Test("Cute: in a queue in order of arrival, one of a later number gets in front too")
    func arrival() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        try await jobs.add(["a", "b", "c"].map { Note($0) })
        let taken = try await jobs.removeNext(2)
        try await jobs.putBack(taken[0])
        try await jobs.putBack(taken[1])
        try await #expect(jobs.texts() == ["b", "a", "c"])
        try await #expect(jobs.peek()?.sortKey == .arrival)
        let again = try #require(try await jobs.removeNext())
        try await jobs.putBack(again)
        try await #expect(jobs.take(3) == ["b", "a", "c"])
    }

    @Test("Cute: in another file it gets a number and a key of that file, if its own is in use there")
    func otherFile() async throws {
        let (one, other) = (try await Site(.memory).broker(), try await Site(.memory).broker())
        let (jobs, others) = (one.queue("jobs", of: Note.self), other.queue("jobs", of: Note.self))
        try await jobs.add([Note("a"), Note("b")])
        try await others.add(Note("c"))
        let taken = try await jobs.removeNext(2)
        let ids = try await others.putBack(taken)
        try await #expect(others.texts() == ["a", "b", "c"])
        #expect(Set(ids).isDisjoint(with: [ActionID(rawValue: 1)]) && Set(ids).count == 2)
        let keys = Set(try await others.removeNext(3).map(\.idempotencyKey))
        #expect(keys.count == 3 && keys.isDisjoint(with: taken.map(\.idempotencyKey)))
        // Numbers that come do not collide with those that were given.
        try await others.add(Note("d"))
        try await #expect(others.take() == ["d"])
    }

    @Test("Cute: a deduplication key is free while its action is out, and taken when that is back")
    func keys() async throws {
        let jobs = try await Site(.memory).broker().queue("jobs", of: Note.self)
        let once = EnqueueOptions(key: DeduplicationKey("k", policy: .refuse))
        try await jobs.add(Note("a"), once)
        let refused = await refusal { try await jobs.add(Note("b"), once) }
        #expect(refused == .duplicateKey)
        let taken = try #require(try await jobs.removeNext())
        try await jobs.putBack(taken)
        let again = await refusal { try await jobs.add(Note("b"), once) }
        #expect(again == .duplicateKey)
        _ = try await jobs.removeNext()
        try await jobs.add(Note("b"), once)
        try await #expect(jobs.texts() == ["b"])
    }

    @Test("Cute: what is put back while the queue's head runs is the next, and a full queue takes it")
    func besideRunning() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.configure("jobs", QueueOptions(maximumDepth: 3))
        let jobs = broker.queue("jobs", of: Note.self)
        let (log, goOn) = (EventLog<String>(), Signal())
        try jobs.route { note, _ in
            log.append(note.text)
            try await goOn.received()
            return .success
        }
        try await jobs.add(["a", "b", "c"].map { Note($0) })
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            let taken = try #require(try await jobs.removeNext())
            #expect(taken.action.text == "b")
            try await jobs.add(Note("d"))
            try await jobs.putBack(taken)
            try await #expect(jobs.texts() == ["b", "c", "d"])
            goOn.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b", "c", "d"])
    }
}
