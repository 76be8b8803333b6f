import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Dead letters", .watched) struct DeadLetterTests {
    /// A store with dead letters of two queues, a second apart: 0, 2, 4… in `q/0`, the others in `q/1`.
    private func graveyard(_ count: Int, in fixture: StoreFixture) async throws -> [ActionID] {
        var ids: [ActionID] = []
        for number in 0..<count {
            let queue = QueueName("q/\(number % 2)")
            ids.append(try await fixture.store.add("\(number)", in: queue, by: .integer(Int64(number))))
            let action = try await fixture.store.take(queue)
            let cause: FailureCause = number % 3 == 0 ? .exhausted : .failed
            try await fixture.store.settle(action, .fail(cause, .skip, error: "e\(number)"))
            fixture.clock.advance(by: .seconds(1))
        }
        return ids
    }

    @Test(
        "They are listed by queue and cause, the newest first, a page at a time",
        arguments: QueueStorage.allCases
    )
    func list(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        var options = EnqueueOptions(tag: "t", gate: "g")
        for number in 0..<7 {
            let note = Note("\(number)", in: QueueName("q/\(number % 2)"), order: .text("\(number)"))
            options.tag = "t\(number)"
            try await broker.enqueue(note, options)
            try await broker.skipHead(of: note.queue, reason: "r\(number)")
            if number < 5 { site.clock.advance(by: .seconds(1)) }
        }
        var found: [DeadLetter] = []
        var page = try await broker.deadLetters(limit: 2)
        while let last = page.last {
            found += page
            page = try await broker.deadLetters(after: last, limit: 2)
        }
        #expect(found.map(\.error) == (0..<7).reversed().map { "r\($0)" })
        let first = found[0]
        #expect(first.sortKey == .text("6") && first.tag == "t6" && first.gate == "g" && first.version == 1)
        #expect(first.enqueuedAt == site.clock.now.date && first.cause == .skipped && first.queue == "q/0")
        try await #expect(broker.deadLetters("q/1").map(\.error) == ["r5", "r3", "r1"])
        try await #expect(broker.deadLetters("q/1", after: found[1]).map(\.error) == ["r3", "r1"])
        try await #expect(broker.deadLetters(cause: .failed).isEmpty)
        try await #expect(broker.deadLetter(first.id) == first)
        try await #expect(broker.deadLetter(ActionID(rawValue: 99)) == nil)
        await broker.close()
    }

    @Test("One has the history of its attempts, and so has one that waits")
    func history() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let id = try await store.add("a")
        let start = fixture.clock.now
        let first = try await store.take()
        fixture.clock.advance(by: .seconds(2))
        try await store.settle(first, .retry(after: .zero, error: "one"))
        let expected = FailedAttempt(
            number: 1,
            cause: nil,
            error: "one",
            startedAt: start.date,
            endedAt: (start + .seconds(2)).date
        )
        #expect(try await store.failedAttempts(of: id) == [expected])
        try await store.settle(try await store.take(), .fail(.exhausted, .skip, error: "two"))
        let history = try await store.failedAttempts(of: id)
        #expect(history.map(\.number) == [1, 2] && history.map(\.cause) == [nil, .exhausted])
        #expect(try await store.purge(id))
        #expect(try await !store.purge(id))
        #expect(try await store.failedAttempts(of: id).isEmpty)
        #expect(try fixture.row("SELECT count(*) FROM sluice_attempt_rows") == "0")
    }

    @Test(
        "G2: one goes back to its old place, or behind all that its queue holds",
        arguments: [
            [SortKey.arrival, .arrival, .arrival, .arrival],
            [.integer(1), .integer(2), .integer(.max), .integer(3)],
            [.text("a"), .text("b"), .text("c"), .text("b")],
        ]
    )
    func places(_ keys: [SortKey]) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        var ids: [ActionID] = []
        for (key, text) in zip(keys, ["a", "b", "c"]) { ids.append(try await store.add(text, by: key)) }
        let key = try await store.take()
        try await store.settle(key, .fail(.failed, .skip, error: "e"))
        #expect(try await store.requeue(ids[0]))
        let again = try await store.take()
        #expect(again.text == "a" && again.number == 1 && again.idempotencyKey == key.idempotencyKey)
        try await store.settle(again, .fail(.failed, .skip, error: "f"))
        let new = try #require(try await store.requeueAtEnd(ids[0]))
        #expect(new > ids[2])
        #expect(try await store.requeueAtEnd(ids[0]) == nil)
        #expect(try await store.failedAttempts(of: new).map(\.error) == ["e", "f"])
        #expect(try await store.failedAttempts(of: ids[0]).isEmpty)
        #expect(try await store.actionSummaries(.exact("q"), limit: 9).map(\.id) == [ids[1], ids[2], new])
        #expect(try await store.drain() == ["b", "c", "a"])
        for table in ["action_rows", "state_rows", "attempt_rows", "dead_rows"] {
            #expect(try fixture.row("SELECT count(*) FROM sluice_\(table)") == "0", "\(table)")
        }
    }

    @Test("G5: one that goes back at the end has an idempotency key of this opening, as it has a new number")
    func nonce() async throws {
        var fixture = try await StoreFixture()
        let id = try await fixture.store.add("a")
        _ = try await fixture.store.skipHead(of: "q", error: "e")
        fixture = try await fixture.reopened()
        try await fixture.store.add("b")
        #expect(try await fixture.store.requeueAtEnd(id) != nil)
        #expect(try fixture.row("SELECT count(DISTINCT nonce) FROM sluice_action_rows") == "1")
    }

    @Test("Those that died after it began do not go back; a page may end between two of one time")
    func later() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add((0..<3).map { ActionDraft("\($0)", in: "\($0)") })
        for queue in ["0", "1"] { _ = try await store.skipHead(of: QueueName(queue), error: queue) }
        let page = CancelPage(through: try await store.lastDeadLetter())
        _ = try await store.skipHead(of: "2", error: "2")
        var errors: [String] = []
        var last: DeadLetter?
        repeat {
            let after = last.map { DeadLetterPlace(diedAt: Timestamp($0.diedAt), id: $0.id) }
            last = try await store.deadLetters(after: after, limit: 1).first
            if let last { errors.append(last.error) }
        } while last != nil
        #expect(errors == ["2", "1", "0"])
        #expect(try await store.requeue(DeadLetterFilter(), page).requeued.done == 2)
        #expect(try await store.deadLetters(limit: 9).map(\.error) == ["2"])
    }

    @Test("Many go back at once, by queue and cause, each to its place; others stay")
    func requeueMany() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        _ = try await graveyard(12, in: fixture)
        // This queue has taken another type of key since.
        try await store.add("other", in: "o", by: .integer(1))
        try await store.settle(try await store.take("o"), .fail(.failed, .skip, error: "e"))
        try await store.add("text", in: "o", by: .text("t"))
        let page = CancelPage(through: try await store.lastDeadLetter())
        let exhausted = DeadLetterFilter(form: .exact("q/0"), cause: .exhausted)
        #expect(try await store.requeue(exhausted, page).requeued.done == 2)
        #expect(try await store.actionSummaries(.exact("q/0"), limit: 9).map(\.sortKey) == ["0", "6"])
        let all = try await store.requeue(DeadLetterFilter(), page)
        #expect(all.requeued.done == 10 && all.next == nil)
        #expect(try await store.drain("q/0") == ["0", "2", "4", "6", "8", "10"])
        #expect(try await store.drain("q/1") == ["1", "3", "5", "7", "9", "11"])
        #expect(try await store.deadLetters(limit: 9).map(\.queue) == ["o"])
    }

    @Test("They are purged by age, by count and by queue, the oldest first, in batches")
    func purge() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let start = site.clock.now
        for number in 0..<10 {
            let queue = QueueName("q/\(number % 2)")
            try await broker.enqueue((0..<120).map { _ in Note("\(number)", in: queue) })
            // Together they are a few commits.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<120 {
                    group.addTask { _ = try await broker.skipHead(of: queue, reason: "\(number)") }
                }
                try await group.waitForAll()
            }
            site.clock.advance(by: .seconds(1))
        }
        func left() async throws -> Set<String> {
            Set(try await broker.deadLetters(limit: 2_000).map(\.error))
        }
        let date = (start + .seconds(4)).date
        try await #expect(broker.purgeDeadLetters("q/0", diedBefore: date) == 240)
        try await #expect(left() == ["1", "3", "4", "5", "6", "7", "8", "9"])
        // The newest stay, however old; the old stay where they are among the newest.
        try await #expect(broker.purgeDeadLetters(diedBefore: date, keepingNewest: 960) == 0)
        try await #expect(broker.purgeDeadLetters("q/1", diedBefore: date, keepingNewest: 480) == 120)
        try await #expect(left() == ["3", "4", "5", "6", "7", "8", "9"])
        try await #expect(broker.purgeDeadLetters(keepingNewest: 240) == 600)
        try await #expect(left() == ["8", "9"])
        try await #expect(broker.purgeDeadLetters(cause: .failed) == 0)
        try await #expect(broker.purgeDeadLetters(cause: .skipped) == 240)
        try await #expect(broker.purgeDeadLetters() == 0)
        await broker.close()
    }
}
