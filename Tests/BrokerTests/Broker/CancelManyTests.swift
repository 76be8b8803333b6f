import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Cancelling many actions", .watched) struct CancelManyTests {
    @Test(
        "By tag: what waits is removed, what runs is told, what has another tag stays",
        arguments: QueueStorage.allCases
    )
    func tag(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "runs" { try await untilCancelled() }
            return .success
        }
        let album = EnqueueOptions(tag: "album")
        try await broker.enqueue([Note("runs", in: "1"), Note("a", in: "1"), Note("b", in: "gated")], album)
        try await broker.enqueue(Note("c", in: "1"), EnqueueOptions(tag: "albums"))
        try await broker.enqueue(Note("d", in: "1"))
        try await broker.hold("gated", by: "test")
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            let counts = try await broker.cancel(tag: "album")
            #expect(counts.signalled == 1 && counts.removed == 2 && counts.tooLate == 0)
            await broker.waitUntilIdle()
        }
        #expect(Set(log.elements).isSuperset(of: ["runs", "c", "d"]) && !log.elements.contains("a"))
        try await #expect(broker.actionCount() == 0)
        try await #expect(broker.cancel(tag: "album") == CancellationCounts())
        #expect(await refusal { try await broker.cancel(tag: "") } == .invalidOptions)
        await broker.close()
    }

    @Test(
        "By queue: all that a pattern matches goes, whatever it waits for, and nothing else",
        arguments: ["q/1", "q/*", "*"] as [QueuePattern]
    )
    func queues(_ pattern: QueuePattern) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        var drafts: [ActionDraft] = []
        for number in 0..<1_300 {
            let queue = QueueName("q/\(number % 2)")
            let isLater = number % 10 > 7
            let later = isLater ? fixture.clock.now + .seconds(10) : nil
            drafts.append(ActionDraft("\(number)", in: queue, notBefore: later))
        }
        try await store.add(drafts + [ActionDraft("x", in: "q"), ActionDraft("y", in: "qq")])
        let running = try await store.take("q/1")
        try await store.settle(try await store.take("q/0"), .fail(.failed, .block, error: "e"))
        var page: CancelPage? = CancelPage(through: try await store.lastActionID())
        let late = try await store.add("late", in: "q/1")
        var (removed, signalled, rounds) = (0, [ActionID](), 0)
        while let current = page {
            let batch = try await store.cancel(.queues(pattern.form()), current)
            #expect(batch.removed <= Cancellations.cancelBatchSize)
            removed += batch.removed
            signalled += batch.signalled
            page = batch.next
            rounds += 1
            try #require(rounds < 20)
        }
        #expect(signalled == [running.receipt.action])
        #expect(removed == ["q/1": 649, "q/*": 1_299, "*": 1_301][pattern.rawValue])
        #expect(try await store.settle(running, .retry(after: .zero, error: "e")).result == .removed)
        #expect(try await store.actionSummaries(.exact("q/1"), limit: 9).map(\.id) == [late])
        if pattern == "q/1" {
            #expect(try await store.claim("q/0").word == "parked")
        } else {
            #expect(try await store.drain("q/0") == [])
        }
        #expect(try await store.drain("q/1") == ["late"])
        #expect(try await store.actionCount() == 1_302 - removed - 1)
    }

    @Test("By tag in batches, and nothing that came after it began")
    func tagBatches() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let extras = DraftExtras(tag: "t")
        let count = 2 * Cancellations.cancelBatchSize + 1
        try await store.add((0..<count).map { ActionDraft("\($0)", by: .integer(Int64($0)), extras: extras) })
        let running = try await store.take()
        var page: CancelPage? = CancelPage(through: try await store.lastActionID())
        try await store.add([ActionDraft("late", by: .integer(-1), extras: extras)])
        var (removed, signalled) = ([Int](), [ActionID]())
        while let current = page {
            let batch = try await store.cancel(.tag("t"), current)
            removed.append(batch.removed)
            signalled += batch.signalled
            page = batch.next
        }
        #expect(removed == [499, 500, 1] && signalled == [running.receipt.action])
        #expect(try await store.settle(running, .stop).result == .removed)
        #expect(try await store.drain() == ["late"])
    }

    @Test(
        "What came after it began is not meant, be it running by now",
        arguments: [CancelChoice.queues(.exact("q")), .queues(.prefix([])), .tag("t")]
    )
    func lateRunning(_ choice: CancelChoice) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let extras = DraftExtras(tag: "t")
        try await store.add([ActionDraft("a", by: .integer(5), extras: extras)])
        let page = CancelPage(through: try await store.lastActionID())
        try await store.add([ActionDraft("late", by: .integer(1), extras: extras)])
        let late = try await store.take()
        let batch = try await store.cancel(choice, page)
        #expect(late.text == "late" && batch.removed == 1 && batch.signalled.isEmpty)
        #expect(try await store.settle(late, .success).result == .settled)
    }

    @Test("What is marked as cancelled and does not run is removed by whoever meets it: a claim, a sweep")
    func marked() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let extras = DraftExtras(expiresAt: fixture.clock.now + .seconds(1))
        try await store.add([ActionDraft("a"), ActionDraft("b", extras: extras)])
        try fixture.execute("INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (1, 1), (2, 1)")
        fixture.clock.advance(by: .seconds(1))
        _ = try await store.sweep(Admission(failure: .all(.skip)))
        #expect(try fixture.rows("SELECT id FROM sluice_actions") == ["1"])
        #expect(try await store.claim().word == "empty")
        #expect(try await store.actionCount() == 0)
        #expect(try await store.deadLetters(limit: 9).isEmpty)
    }

    @Test("One by one: removed, told and too late are counted")
    func sequence() async throws {
        let broker = try await Site(.memory).broker()
        let (started, end) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            do {
                try await untilCancelled()
            } catch {
                await end.receivedInAnyCase()
                throw error
            }
            return .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        try await running(broker) {
            defer { end.send() }
            try await started.received()
            let counts = try await broker.cancel(actions: ids.prefix(2) + [ActionID(rawValue: 77)])
            // Had the first ended at once, the second could have begun before its turn came.
            end.send()
            #expect(counts.removed == 1 && counts.signalled == 1 && counts.tooLate == 1)
            try await #expect(broker.cancel(queues: "nothing/*") == CancellationCounts())
            try await started.received(2)
            try await #expect(broker.cancel(queues: "notes").signalled == 1)
            await broker.waitUntilIdle()
        }
        await broker.close()
    }

    @Test("What is scheduled is no reason to wait any more when it has been cancelled")
    func scheduled() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let later = EnqueueOptions(notBefore: Date.distantFuture, tag: "t")
        let first = try await broker.enqueue(Note("a"), later).id
        try await broker.enqueue(Note("b"), later)
        try await running(broker) {
            try await #expect(broker.cancel(first) == .removed)
            try await #expect(broker.cancel(tag: "t").removed == 1)
            await broker.waitUntilIdle()
        }
        #expect(site.clock.uptime == .zero)
        await broker.close()
    }
}
