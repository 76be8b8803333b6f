import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Deduplication keys", .watched) struct KeyTests {
    private func key(
        _ policy: DeduplicationKey.Policy = .keepFirst,
        retention: Duration = .zero
    ) -> EnqueueOptions {
        EnqueueOptions(key: DeduplicationKey("k", policy: policy, retention: retention))
    }

    @Test("The first is kept while it waits, and its number returned", arguments: QueueStorage.allCases)
    func keepFirst(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let first = try await broker.enqueue(Note("a"), key()).id
        try await #expect(broker.enqueue(Note("b"), key()).id == first)
        // Another queue, and another key, are another matter.
        try await #expect(broker.enqueue(Note("c", in: "other"), key()).id != first)
        try await #expect(broker.enqueue(Note("d"), EnqueueOptions(key: "other")).id != first)
        try await #expect(broker.actionCount() == 3)
        try broker.routeNotes(to: log)
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(Set(log.elements) == ["a", "c", "d"])
        // Without a retention it is free again.
        try await #expect(broker.enqueue(Note("e"), key()).id != first)
        await broker.close()
    }

    @Test("A key is refused while it is taken, with nothing stored", arguments: QueueStorage.allCases)
    func refuse(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"), key())
        #expect(await refusal { try await broker.enqueue(Note("b"), key(.refuse)) } == .duplicateKey)
        // Of several the first is new, the second is not: none is stored.
        let fresh = EnqueueOptions(key: DeduplicationKey("new", policy: .refuse))
        #expect(await refusal { try await broker.enqueue([Note("c"), Note("d")], fresh) } == .duplicateKey)
        try await #expect(broker.actionCount() == 1)
        try await broker.enqueue(Note("e"), fresh)
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }

    @Test("One that waits is replaced at its place; one that runs has its successor behind it")
    func replace() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "a2" { try await go.received() }
            return .success
        }
        let ids = try await broker.enqueue(
            [Note("a"), Note("b")],
            options: { note in
                note.text == "a" ? key() : EnqueueOptions()
            }
        )
        var change = key(.replace)
        change.tag = "new"
        try await #expect(broker.enqueue(Note("a2"), change).id == ids[0])
        #expect(try site.rows("SELECT tag FROM sluice_actions ORDER BY id") == ["new", "NULL"])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            let behind = try await broker.enqueue(Note("a3"), key(.replace)).id
            #expect(behind > ids[1])
            // The new one has the key now, and it waits.
            try await #expect(broker.enqueue(Note("a4"), key(.replace)).id == behind)
            try await #expect(broker.enqueue(Note("a5"), key()).id == behind)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a2", "b", "a4"])
        await broker.close()
    }

    @Test("A replacement is what an undecodable head waits for, and keeps its attempts")
    func replaceParked() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return .success
        }
        let bad = RawAction(queue: "notes", kind: "note", payload: "{}")
        let id = try await broker.enqueue(raw: [bad], key())[0]
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .undecodable }
            try await #expect(broker.enqueue(Note("good"), key(.replace)).id == id)
            _ = try await log.wait(forCount: 1)
        }
        #expect(log.elements == ["good 1"])
        await broker.close()
    }

    @Test("A replacement of an action that is cancelled while it runs is not lost with it")
    func replaceCancelled() async throws {
        let site = try Site()
        var broker = try await site.broker()
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            await go.receivedInAnyCase()
            throw CancellationError()
        }
        let id = try await broker.enqueue(Note("a"), key()).id
        try await running(broker) { [broker] in
            _ = try await log.wait(forCount: 1)
            let stop = Task { await broker.stop(grace: .zero) }
            try await #expect(broker.cancel(id) == .signalled)
            go.send()
            await stop.value
        }
        let second = try await broker.enqueue(Note("b"), key(.replace)).id
        #expect(second != id)
        await broker.close()
        broker = try await site.broker()
        let after = EventLog<String>()
        try broker.routeNotes(to: after)
        try await running(broker) { [broker] in await broker.waitUntilIdle() }
        #expect(after.elements == ["b"])
        await broker.close()
    }

    @Test("A key stays taken for its time after a success, over a restart and jumps of the clock")
    func retention() async throws {
        let site = try Site()
        var broker = try await site.broker()
        try broker.routeNotes(to: EventLog<String>())
        let options = key(retention: .seconds(100))
        let id = try await broker.enqueue(Note("a"), options).id
        try await running(broker) { [broker] in await broker.waitUntilIdle() }
        await broker.close()
        broker = try await site.broker()
        site.clock.advance(by: .seconds(99))
        try await #expect(broker.enqueue(Note("b"), options).id == id)
        #expect(await refusal { try await broker.enqueue(Note("b"), key(.refuse)) } == .duplicateKey)
        // Ten years back: it is kept for no more than its time, counted from when that is seen.
        site.clock.jumpWall(by: .seconds(-10 * 365 * 86_400))
        try await #expect(broker.enqueue(Note("b"), options).id == id)
        site.clock.advance(by: .seconds(101))
        try await #expect(broker.enqueue(Note("c"), options).id != id)
        await broker.close()
    }

    @Test("A dead letter holds its key for its time, and takes it back when it is put back")
    func deadLetter() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("no") }
        let options = key(retention: .seconds(100))
        let id = try await broker.enqueue(Note("a"), options).id
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.deadLetters().map(\.id) == [id])
        try await #expect(broker.enqueue(Note("b"), options).id == id)
        try await #expect(broker.requeue(id))
        site.clock.advance(by: .seconds(200))
        try await #expect(broker.enqueue(Note("b"), options).id == id)
        try await #expect(broker.cancel(id) == .removed)
        site.clock.advance(by: .seconds(101))
        try await #expect(broker.enqueue(Note("b"), options).id != id)
        await broker.close()
    }

    @Test("A key goes along when its action moves")
    func moves() async throws {
        let broker = try await Site(.memory).broker()
        let id = try await broker.enqueue(Note("a"), key()).id
        try await #expect(broker.move(id, to: "other") == .done)
        try await #expect(broker.enqueue(Note("b", in: "other"), key()).id == id)
        try await #expect(broker.enqueue(Note("c"), key()).id != id)
        await broker.close()
    }

    @Test("Ended keys are swept while the broker runs, and those of waiting actions are not")
    func sweep() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        try broker.routeNotes("notes", to: EventLog<String>())
        try await running(broker) {
            for number in 0..<3 {
                try await broker.enqueue(
                    Note("\(number)"),
                    EnqueueOptions(key: DeduplicationKey("\(number)", retention: .seconds(30)))
                )
            }
            try await broker.enqueue(Note("waits", in: "elsewhere"), key())
            try await until { broker.statistics.succeeded == 3 }
            #expect(try site.rows("SELECT count(*) FROM sluice_key_rows") == ["4"])
            // A sweep comes a minute after the start's first look, or after an enqueue with a key.
            try await until {
                site.clock.advance(by: .seconds(60))
                return try site.rows("SELECT count(*) FROM sluice_key_rows") == ["1"]
            }
        }
        #expect(try site.rows("SELECT key FROM sluice_key_rows") == ["k"])
        await broker.close()
    }

    /// An action in `q` under the key `k`.
    private func draft(
        _ text: String,
        _ policy: DeduplicationKey.Policy = .keepFirst,
        retention: Duration = .zero,
        expiresAt: Timestamp? = nil
    ) -> ActionDraft {
        let key = DeduplicationKey("k", policy: policy, retention: retention)
        return ActionDraft(text, extras: DraftExtras(expiresAt: expiresAt, key: key))
    }

    @Test("Who takes over a key that has ended holds it, though no sweep has come between")
    func takenOver() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let first = try await store.enqueue([draft("a", retention: .seconds(10))])
        #expect(try await store.drain() == ["a"])
        fixture.clock.advance(by: .seconds(10))
        let second = try await store.enqueue([draft("b")])
        #expect(second != first)
        fixture.clock.advance(by: .seconds(60))
        _ = try await store.sweep(Admission(failure: .all(.skip)))
        #expect(try await store.enqueue([draft("c")]) == second)
    }

    @Test("The key of a dead letter that has been put back ends no more, and goes along to a new number")
    func putBack() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let id = try await store.enqueue([draft("a", retention: .seconds(10))])[0]
        _ = try await store.skipHead(of: "q", error: "e")
        #expect(try await store.requeue(id))
        fixture.clock.advance(by: .seconds(60))
        _ = try await store.sweep(Admission(failure: .all(.skip)))
        #expect(try await store.enqueue([draft("b")]) == [id])
        _ = try await store.skipHead(of: "q", error: "e")
        let new = try await store.requeueAtEnd(id)
        #expect(try await store.enqueue([draft("c")]) == [new])
    }

    @Test("What is marked as cancelled is not replaced, running or not: its successor stands behind it")
    func replaceMarked() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.store.enqueue([draft("a")])
        try fixture.execute("INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (1, 1)")
        #expect(try await fixture.store.enqueue([draft("b", .replace)]) != ids)
        #expect(try await fixture.store.drain() == ["b"])
    }

    @Test("A replacement brings its own retention and end, also an end that has been swept already")
    func replacedOptions() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await store.enqueue([draft("a", expiresAt: fixture.clock.now + .seconds(500))])
        _ = try await store.sweep(Admission(failure: .all(.skip)))
        let past = fixture.clock.now + .seconds(-5)
        #expect(
            try await store.enqueue([draft("b", .replace, retention: .seconds(100), expiresAt: past)]) == ids
        )
        _ = try await store.sweep(Admission(failure: .all(.skip)))
        #expect(try await store.deadLetters(limit: 9).map(\.id) == ids)
        fixture.clock.advance(by: .seconds(99))
        #expect(try await store.enqueue([draft("c")]) == ids)
        fixture.clock.advance(by: .seconds(1))
        #expect(try await store.enqueue([draft("d")]) != ids)
    }

    @Test("A full queue refuses a new key and still knows an old one")
    func depth() async throws {
        let broker = try await Site(.memory).broker()
        try broker.configure("notes", QueueOptions(maximumDepth: 2))
        let id = try await broker.enqueue(Note("a"), key()).id
        try await broker.enqueue(Note("b"))
        try await #expect(broker.enqueue(Note("c"), key()).id == id)
        try await #expect(broker.enqueue(Note("c"), key(.replace)).id == id)
        #expect(
            await refusal { try await broker.enqueue(Note("d"), EnqueueOptions(key: "new")) } == .queueFull
        )
        // Two of the three would fit, and none is stored.
        try broker.configure("other", QueueOptions(maximumDepth: 2))
        let notes = ["1", "1", "2", "3"].map { Note($0, in: "other") }
        let code = await refusal {
            try await broker.enqueue(notes, options: { EnqueueOptions(key: DeduplicationKey($0.text)) })
        }
        #expect(code == .queueFull)
        try await #expect(broker.actionCount() == 2)
        let ids = try await broker.enqueue(
            notes.prefix(3),
            options: {
                EnqueueOptions(key: DeduplicationKey($0.text))
            }
        )
        #expect(ids[0] == ids[1] && ids[1] != ids[2])
        await broker.close()
    }

    @Test("Keys and tags outside their limits are refused")
    func limits() async throws {
        let broker = try await Site(.memory).broker()
        let long = String(repeating: "é", count: 128)
        for text in ["", long, "a\u{0}"] {
            let options = [
                EnqueueOptions(tag: text), EnqueueOptions(key: DeduplicationKey(text)),
            ]
            for options in options {
                #expect(await refusal { try await broker.enqueue(Note("a"), options) } == .invalidOptions)
                #expect(await refusal { try await broker.enqueue([Note]([]), options) } == .invalidOptions)
            }
        }
        let negative = key(retention: .seconds(-1))
        #expect(await refusal { try await broker.enqueue(Note("a"), negative) } == .invalidOptions)
        #expect(
            await refusal { try await broker.enqueue(Note("a"), EnqueueOptions(gate: "")) } == .invalidGate
        )
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("A head that has parked its queue and is replaced by its key stays parked, until it is tried again")
    func parkedHead() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return note.text == "bad" ? .fail("no") : .success
        }
        let key = EnqueueOptions(key: DeduplicationKey("k", policy: .replace))
        let first = try await broker.enqueue(Note("bad"), key).id
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.enqueue(Note("good"), key).id == first)
            await broker.waitUntilIdle()
            try await #expect(broker.status(of: "notes").state == .parked)
            try await broker.retryNow("notes")
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["bad", "good"])
        await broker.close()
    }
}
