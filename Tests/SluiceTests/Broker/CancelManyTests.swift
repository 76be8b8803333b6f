import Foundation
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Cancelling many actions", .timeLimit(.minutes(2))) struct CancelManyTests {
    @Test(
        "By tag: what waits is removed, what runs is told, what has another tag stays",
        arguments: Place.allCases
    )
    func tag(_ place: Place) async throws {
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
        try await running(broker) {
            try await broker.hold("gated", by: "test")
            _ = try await log.wait(forCount: 1)
            let counts = try await broker.cancel(tag: "album")
            #expect(counts.signalled + counts.removed == 3 && counts.tooLate == 0)
            #expect(counts.signalled >= 1)
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
            #expect(batch.removed <= WriteTransaction.cancelBatchSize)
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

    @Test("One by one: removed, told and too late are counted")
    func sequence() async throws {
        let broker = try await Site(.memory).broker()
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        try await running(broker) {
            try await started.received()
            let counts = try await broker.cancel(actions: ids.prefix(2) + [ActionID(rawValue: 77)])
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
