import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Editing actions", .watched) struct EditTests {
    @Test("What is not there, and what is dead, is missing", arguments: QueueStorage.allCases)
    func missing(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let dead = try await broker.enqueue(Note("a")).id
        try await #expect(broker.skipHead(of: "notes") == .skipped(dead))
        for id in [dead, ActionID(rawValue: 99)] {
            try await #expect(broker.move(id, to: "b") == .missing)
            try await #expect(broker.moveToFront(id) == .missing)
            try await #expect(broker.edit(id, to: Note("b")) == .missing)
            try await #expect(broker.edit(id, payload: "1") == .missing)
            try await #expect(broker.reschedule(id, notBefore: nil) == .missing)
            try await #expect(broker.setExpiry(Date(timeIntervalSince1970: 0), of: id) == .missing)
            try await #expect(broker.setTag("t", of: id) == .missing)
        }
        try await #expect(broker.skipHead(of: "notes") == .empty)
        try await #expect(broker.skipHead(of: "never") == .empty)
        try await #expect(broker.deadLetter(dead)?.cause == .skipped)
        await broker.close()
    }

    @Test("G3: what runs is edited for its next attempt, and moves when its attempt ends")
    func running() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(attempt.queue) \(note.text) \(attempt.number)")
            if attempt.number == 1 { try await go.received() }
            return attempt.number == 1 && note.text == "a" ? .retry(after: .zero) : .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        let id = ids[0]
        try await EngineSupport.running(broker) {
            _ = try await log.wait(forCount: 1)
            try await #expect(broker.edit(id, to: Note("a2")) == .deferred)
            try await #expect(broker.setExpiry(site.clock.now.date, of: id) == .deferred)
            try await #expect(broker.setExpiry(nil, of: id) == .deferred)
            try await #expect(broker.setTag("t", of: id) == .done)
            try await #expect(broker.reschedule(id, notBefore: Date.distantFuture) == .running)
            try await #expect(broker.moveToFront(id) == .running)
            try await #expect(broker.skipHead(of: "notes") == .running(id))
            try await #expect(broker.move(id, to: "elsewhere") == .deferred)
            try await #expect(broker.actionSummaries("notes").map(\.id) == ids)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements) == ["notes a 1", "elsewhere a2 2", "notes b 1"])
        await broker.close()
    }

    @Test("A move that was asked for while it ran can be taken back, and outlasts the process")
    func deferredMove() async throws {
        var fixture = try await StoreFixture()
        let ids = try await fixture.store.add([ActionDraft("a"), ActionDraft("b")])
        _ = try await fixture.store.take()
        #expect(try await fixture.store.move(ids[0], to: "x") == .deferred)
        #expect(try await fixture.store.move(ids[0], to: "q") == .done)
        fixture = try await fixture.reopened()
        let again = try await fixture.store.take()
        #expect(again.receipt.action == ids[0])
        #expect(try await fixture.store.move(ids[0], to: "y") == .deferred)
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.drain() == ["b"])
        #expect(try await fixture.store.drain("y") == ["a"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_state_rows") == "0")
    }

    @Test("G2: a move takes its place by key and number, and lifts the parking that it caused")
    func move() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let a = try await store.add("a", by: .integer(5))
        try await store.add("b", by: .integer(6))
        try await store.add("x", in: "x", by: .integer(4))
        try await store.add("y", in: "x", by: .integer(6))
        let later = try await store.add(
            "later",
            by: .integer(1),
            notBefore: fixture.clock.now + .seconds(10)
        )
        try await store.settle(try await store.take(), .fail(.failed, .block, error: "e"))
        #expect(try await store.claim().word == "parked")
        #expect(try await store.move(a, to: "x") == .done)
        #expect(try await store.move(later, to: "x") == .done)
        #expect(try await store.drain() == ["b"])
        #expect(try await store.drain("x") == ["x", "a", "y"])
        fixture.clock.advance(by: .seconds(10))
        #expect(try await store.admitScheduled() == nil)
        #expect(try await store.drain("x") == ["later"])
    }

    @Test("A move into a full queue and into one of another order is refused, with nothing changed")
    func refusedMove() async throws {
        let site = try Site()
        let broker = try await site.broker()
        try broker.configure("full", QueueOptions(maximumDepth: 1))
        try await broker.enqueue([Note("1", in: "full"), Note("t", in: "text", order: .text("t"))])
        let id = try await broker.enqueue(Note("a")).id
        #expect(await refusal { try await broker.move(id, to: "full") } == .queueFull)
        #expect(await refusal { try await broker.move(id, to: "text") } == .sortKeyMismatch)
        #expect(await refusal { try await broker.move(id, to: "") } == .invalidQueueName)
        try await #expect(broker.actionSummaries("notes").map(\.id) == [id])
        // Its options say what it is ordered by, be it empty.
        try broker.configure("dates", QueueOptions(sortKey: .date))
        #expect(await refusal { try await broker.move(id, to: "dates") } == .sortKeyMismatch)
        // A dead letter had its place: the depth does not hold it back.
        try await #expect(broker.skipHead(of: "full") != .empty)
        try await broker.enqueue(Note("2", in: "full"))
        try await #expect(broker.requeueAll("full") == 1)
        try await #expect(broker.status(of: "full").depth == 2)
        await broker.close()
    }

    @Test(
        "G2: what is moved to the front is the next to start, for each type of key",
        arguments: [
            [SortKey.arrival, .arrival, .arrival],
            [.integer(.min + 1), .integer(0), .integer(7)],
            [.real(-.greatestFiniteMagnitude), .real(0), .real(1)],
            [.text("ab"), .text("b"), .text("c")],
            [
                .date(Date(timeIntervalSince1970: 0)), .date(Date(timeIntervalSince1970: 1)),
                .date(.distantFuture),
            ],
        ]
    )
    func moveToFront(_ keys: [SortKey]) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        var ids: [ActionID] = []
        for (key, text) in zip(keys, ["a", "b", "c"]) { ids.append(try await store.add(text, by: key)) }
        #expect(try await store.moveToFront(ids[0]) == .done)
        #expect(try await store.moveToFront(ids[2]) == .done)
        try await fixture.store.add("d", by: keys[2])
        let first = try await store.take()
        #expect(first.text == "c")
        // While the head runs, the front is behind it.
        #expect(try await store.moveToFront(ids[1]) == .done)
        #expect(try await store.actionSummaries(.exact("q"), limit: 9).count == 4)
        try await store.settle(first, .success)
        #expect(try await store.drain() == ["b", "a", "d"])
    }

    @Test("Where no key is smaller, that is said and nothing changed")
    func noSmallerKey() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let firsts: [(QueueName, SortKey, SortKey)] = [
            ("i", .integer(.min), .integer(0)), ("t", .text(""), .text("a")),
            ("r", .real(-.infinity), .real(0)),
        ]
        for (queue, first, second) in firsts {
            let head = try await store.add("a", in: queue, by: first)
            let id = try await store.add("b", in: queue, by: second)
            #expect(await refusal { try await store.moveToFront(id) } == .noSmallerSortKey)
            #expect(try await store.moveToFront(head) == .done)
            #expect(try await store.drain(queue) == ["a", "b"])
        }
        // The same key is enough for one that is older.
        let older = try await store.add("older", in: "o", by: .text("z"))
        try await store.add("head", in: "o", by: .text(""))
        #expect(try await store.moveToFront(older) == .done)
        #expect(try await store.drain("o") == ["older", "head"])
    }

    @Test("What is scheduled, waits for its retry or parks its queue is moved to the front as it is")
    func moveWaitingToFront() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let later = fixture.clock.now + .seconds(100)
        try await store.add("a")
        let scheduled = try await store.add("s", notBefore: later)
        #expect(try await store.moveToFront(scheduled) == .done)
        #expect(try await store.drainOne() == "s")
        // It waits for its retry, and with it all behind it.
        let retrying = try await store.add("r", in: "x")
        try await store.settle(try await store.take("x"), .retry(after: .seconds(100), error: "e"))
        let other = try await store.add("o", in: "x")
        #expect(try await store.moveToFront(other) == .done)
        #expect(try await store.moveToFront(retrying) == .done)
        #expect(try await store.claim("x").word == "waiting")
        // The parking belongs to the queue: another head does not lift it.
        try await store.settle(try await store.take(), .fail(.failed, .block, error: "e"))
        let late = try await store.add("late")
        #expect(try await store.moveToFront(late) == .done)
        #expect(try await store.claim().word == "parked")
        _ = try await store.retryNow(.exact("q"))
        #expect(try await store.drain() == ["late", "a"])
    }

    @Test("What runs does not count as the first: one is moved in front of what waits, whatever key runs")
    func moveBehindRunning() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("runs", by: .integer(.min))
        try await store.add("b", by: .integer(0))
        let id = try await store.add("c", by: .integer(1))
        let running = try await store.take()
        #expect(try await store.moveToFront(id) == .done)
        try await store.settle(running, .success)
        #expect(try await store.drain() == ["c", "b"])
    }

    @Test("What is scheduled and alone in its queue is moved to the front too: it starts now")
    func moveScheduledToFront() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("s", notBefore: fixture.clock.now + .seconds(100))
        #expect(try await fixture.store.moveToFront(id) == .done)
        #expect(try await fixture.store.drain() == ["s"])
    }

    @Test("G12: what is taken out of the order leaves no place in the file behind")
    func leavesNoPlace() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await store.add((0..<8).map { ActionDraft("\($0)") })
        let places = "SELECT count(*) FROM sluice_order_rows WHERE action_id = 1"
        try await until { try fixture.row(places) == "1" }
        #expect(try await store.reschedule(ids[0], notBefore: fixture.clock.now + .seconds(9)) == .done)
        try await store.stopRunning()
        #expect(try fixture.row(places) == "0")
    }

    @Test("A time that has passed is none: what is rescheduled to it keeps its place in the order")
    func reschedulePast() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await store.add([ActionDraft("a"), ActionDraft("b")])
        #expect(try await store.reschedule(ids[0], notBefore: fixture.clock.now) == .done)
        #expect(try await store.drain() == ["a", "b"])
    }

    @Test("An edit brings an undecodable head, or one of an unknown kind, back; its attempts stay")
    func edit() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let raw = [
            RawAction(queue: "1", kind: "note", payload: "{}"),
            RawAction(queue: "2", kind: "unheard-of", payload: "{}"),
        ]
        let ids = try await broker.enqueue(raw: raw)
        try await EngineSupport.running(broker) {
            try await until { try await broker.status(of: "1").state == .undecodable }
            try await until { try await broker.status(of: "2").state == .unknownKind }
            #expect(await refusal { try await broker.edit(ids[0], payload: "{") } == .payloadNotJSON)
            try await #expect(broker.edit(ids[0], payload: #"{"text":"one"}"#) == .done)
            try await #expect(broker.edit(ids[1], to: Note("two")) == .done)
            _ = try await log.wait(forCount: 2)
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements) == ["one", "two"])
        await broker.close()
    }

    @Test(
        "G2: a reschedule takes an action out of the order until its time, and back",
        arguments: QueueStorage.allCases
    )
    func reschedule(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c"), Note("d")])
        let time = (site.clock.now + .seconds(5)).date
        try await #expect(broker.reschedule(ids[0], notBefore: time) == .done)
        try await #expect(broker.reschedule(ids[1], notBefore: time) == .done)
        try await #expect(broker.reschedule(ids[1], notBefore: nil) == .done)
        try await #expect(broker.reschedule(ids[2], notBefore: time) == .done)
        let past = (site.clock.now + .seconds(-5)).date
        try await #expect(broker.reschedule(ids[2], notBefore: past) == .done)
        try await EngineSupport.running(broker) {
            _ = try await log.wait(forCount: 3)
            #expect(log.elements == ["b", "c", "d"])
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["b", "c", "d", "a"])
        await broker.close()
    }

    @Test("A skip passes a head that is parked, or waits for its retry; what is scheduled is no head")
    func skip() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await store.add([ActionDraft("a"), ActionDraft("b"), ActionDraft("c")])
        try await store.add("later", notBefore: fixture.clock.now + .seconds(10))
        try await store.settle(try await store.take(), .fail(.failed, .block, error: "e"))
        #expect(try await store.skipHead(of: "q", error: "by hand") == .skipped(ids[0]))
        try await store.settle(try await store.take(), .retry(after: .seconds(50), error: "again"))
        #expect(try await store.skipHead(of: "q", error: "by hand") == .skipped(ids[1]))
        #expect(try await store.drain() == ["c"])
        #expect(try await store.skipHead(of: "q", error: "by hand") == .empty)
        let letters = try await store.deadLetters(limit: 9)
        #expect(letters.map(\.error) == ["by hand", "by hand"] && letters.map(\.attempts) == [1, 1])
        #expect(try await store.failedAttempts(of: ids[1]).map(\.error) == ["again"])
        #expect(try await store.failedAttempts(of: ids[0]).map(\.cause) == [.failed])
    }
}
