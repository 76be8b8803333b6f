import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Cancelling, scheduling and looking around", .watched)
struct StoreOperateTests {
    static let refused: [Settlement] = [
        .retry(after: .seconds(9), error: "e"), .fail(.failed, .block, error: "e"),
        .fail(.exhausted, .skip, error: "e"), .fail(.failed, .failQueue, error: "e"),
        .release(after: .seconds(9)), .stop,
    ]

    @Test("A cancelled action that does not succeed is gone when its attempt ends", arguments: refused)
    func cancelRunning(_ settlement: Settlement) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        try await store.add("b")
        let action = try await store.take()
        #expect(try await store.cancel(action.receipt.action) == .deferred)
        #expect(try await store.cancel(action.receipt.action) == .deferred)
        #expect(try await store.claim().word == "taken")
        #expect(try await store.settle(action, settlement).result == .removed)
        #expect(try await store.drain() == ["b"])
        for table in ["action_rows", "state_rows", "attempt_rows", "dead_rows"] {
            #expect(try fixture.row("SELECT count(*) FROM sluice_\(table)") == "0", "\(table)")
        }
    }

    @Test(
        "A cancelled action that is given back is gone at once, whatever stands before it",
        arguments: [
            Settlement.release(after: .seconds(9)), .stop,
        ]
    )
    func cancelReleased(_ settlement: Settlement) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("b", by: .integer(2))
        let action = try await store.take()
        try await store.add("a", by: .integer(1))
        #expect(try await store.cancel(action.receipt.action) == .deferred)
        try await store.settle(action, settlement)
        #expect(try fixture.rows("SELECT payload FROM sluice_actions") == ["\"a\""])
    }

    @Test("A success wins over a cancellation; what was never there, or is done, is too late to cancel")
    func cancelTooLate() async throws {
        let fixture = try await StoreFixture()
        let action = try await {
            try await fixture.store.add("a")
            return try await fixture.store.take()
        }()
        #expect(try await fixture.store.cancel(action.receipt.action) == .deferred)
        #expect(try await fixture.store.settle(action, .success).result == .settled)
        #expect(try await fixture.store.cancel(action.receipt.action) == .missing)
        #expect(try await fixture.store.cancel(ActionID(rawValue: 99)) == .missing)
    }

    @Test("A cancellation survives the death of the process")
    func cancelThenDeath() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.add("b")
        let action = try await fixture.store.take()
        #expect(try await fixture.store.cancel(action.receipt.action) == .deferred)
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.drain() == ["b"])
    }

    @Test("G2: a scheduled action blocks nothing, and takes its place when it is due")
    func scheduled() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let now = fixture.clock.now
        try await store.add("first, in a minute", by: .integer(1), notBefore: now + .seconds(60))
        try await store.add("first, in an hour", by: .integer(1), notBefore: now + .seconds(3_600))
        try await store.add("third", by: .integer(3))
        try await store.add("fourth", by: .integer(4))
        #expect(try await store.admitScheduled() == now + .seconds(60))
        #expect(try await store.drainOne() == "third")
        fixture.clock.advance(by: .seconds(59))
        #expect(try await store.admitScheduled() == now + .seconds(60))
        let reports = fixture.commits.elements.count
        fixture.clock.advance(by: .seconds(1))
        #expect(try await store.admitScheduled() == now + .seconds(3_600))
        // The queue is told to be looked at.
        #expect(fixture.commits.elements[reports...].map(\.queues.count) == [1])
        #expect(try await store.drain() == ["first, in a minute", "fourth"])
        #expect(try await store.actionCount() == 1)
        fixture.clock.advance(by: .seconds(3_600))
        #expect(try await store.admitScheduled() == nil)
        #expect(try await store.drain() == ["first, in an hour"])
    }

    @Test("Many scheduled actions get their places in several transactions, none is left behind")
    func manyScheduled() async throws {
        let fixture = try await StoreFixture()
        let time = fixture.clock.now + .seconds(1)
        try await fixture.store.add(
            (0..<2_500).map { ActionDraft("\($0)", in: "q/\($0 % 7)", notBefore: time) }
        )
        fixture.clock.advance(by: .seconds(1))
        var rounds = 0
        while let next = try await fixture.store.admitScheduled() {
            #expect(next == time)
            rounds += 1
            try #require(rounds < 10)
        }
        #expect(rounds == 2)
        #expect(try await fixture.store.drain("q/3") == stride(from: 3, to: 2_500, by: 7).map { "\($0)" })
    }

    @Test("The right queues are told to be looked at by each commit")
    func reports() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let id = try await store.add("a", in: "a")
        try await store.add("b", in: "b")
        let (a, b) = (try await store.queueID("a"), try await store.queueID("b"))
        var seen = fixture.commits.elements.count
        func told(_ body: () async throws -> Void) async throws -> [Set<QueueID>] {
            seen = fixture.commits.elements.count
            try await body()
            return fixture.commits.elements[seen...].map { Set($0.queues) }.filter { !$0.isEmpty }
        }
        #expect(try await told { try await store.add("c", in: "b") } == [[b]])
        #expect(try await told { _ = try await store.retryNow(.exact("a")) } == [])
        let action = try await store.take("a")
        try await store.settle(action, .fail(.failed, .block, error: "e"))
        #expect(try await told { _ = try await store.retryNow(.exact("a")) } == [[a]])
        #expect(try await told { _ = try await store.cancel(id) } == [[a]])
        try fixture.execute("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('b', 'note', '1')")
        #expect(try await told { try await store.readForeignChanges() } == [[b]])
        #expect(try await told { try await store.readForeignChanges() } == [])
        #expect(try fixture.row("SELECT count(*) FROM sluice_changes") == "0")
    }

    @Test("G8: all queues with work are found, in portions, whoever enqueued it")
    func queuesWithWork() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for number in 0..<25 { try await store.add((0..<3).map { _ in ActionDraft("a", in: "q/\(number)") }) }
        _ = try await store.drain("q/7")
        _ = try await store.drain("q/24")
        try await store.add("later", in: "later", notBefore: fixture.clock.now + .seconds(1))
        var found: Set<QueueID> = []
        var page: WorkPage? = .newest(thenLimit: 4)
        while let part = page {
            let (queues, next) = try await store.queuesWithWork(part)
            if case .ordered = part { #expect(queues.count <= 4) }
            #expect(page != next)
            found.formUnion(queues)
            page = next
        }
        for number in 0..<25 where number != 7 && number != 24 {
            let queue = try await store.queueID("q/\(number)")
            #expect(found.contains(queue), "q/\(number)")
        }
        // What is scheduled is found by its time.
        let later = try await store.queueID("later")
        #expect(!found.contains(later))
    }

    @Test("G12: of queues with work the parked are left out, and with them the page does not end")
    func parkedQueues() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        // Those parked stand together, so that a page has none but them.
        let parked = ["failed", "exhausted", "expired", "crashed", "undecodable"]
        let others = ["failing", "unknown kind", "no route", "gate"]
        for name in ["first"] + parked + others + ["new"] { try await store.add("a", in: QueueName(name)) }
        try fixture.execute(
            """
            UPDATE sluice_queue_rows
            SET blocked_by = name, blocked_action_id = 1, blocked_at_us = 0,
                fail_through_id = iif(name = 'failing', 1, NULL), fail_key = iif(name = 'failing', 1, NULL)
            WHERE name NOT IN ('first', 'new')
            """
        )
        var found: [QueueID] = []
        var page: WorkPage? = .newest(thenLimit: 2)
        while let part = page {
            let (queues, next) = try await store.queuesWithWork(part)
            found += queues
            page = next
        }
        var expected: [QueueID] = []
        for name in ["new", "first"] + others { try await expected.append(store.queueID(QueueName(name))) }
        #expect(Set(found) == Set(expected))
    }

    @Test("A pattern names exactly the queues that it matches")
    func patterns() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let names = ["a", "a/", "a/1", "a/\u{10FFFF}", "a0", "ab", "a-", "b/1"]
        for name in names { try await store.add("x", in: QueueName(name)) }
        func matched(_ pattern: QueuePattern) async throws -> Set<String> {
            Set(try await store.queueFacts(pattern.form()).map(\.name.rawValue))
        }
        #expect(try await matched("*") == Set(names))
        #expect(try await matched("a/*") == ["a/", "a/1", "a/\u{10FFFF}"])
        #expect(try await matched("a") == ["a"])
        #expect(try await matched("c/*") == [])
        for name in names {
            try await store.settle(
                try await store.take(QueueName(name)),
                .retry(after: .seconds(1), error: "e")
            )
        }
        #expect(try await store.retryNow(QueuePattern("a/*").form()) == 3)
        #expect(try await store.retryNow(QueuePattern("a/*").form()) == 0)
        #expect(try await store.retryNow(QueuePattern("*").form()) == 5)
    }

    @Test("A retry of all queues does not count, and does not touch, an action that runs")
    func retryNowWhileRunning() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(try await fixture.store.take(), .retry(after: .zero, error: "e"))
        let action = try await fixture.store.take()
        #expect(try await fixture.store.retryNow(.prefix([])) == 0)
        #expect(try await fixture.store.settle(action, .success).result == .settled)
    }
}
