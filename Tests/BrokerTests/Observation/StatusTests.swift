import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Status of many queues, and as it changes.
@Suite("Status", .watched)
struct StatusTests {
    @Test("G15: the status of one queue is that of the list, and sorts only its own new actions")
    func one() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try await broker.enqueue((0..<300).map { Note("a", in: "q/\($0 % 40 + 10)") })
        for status in try await broker.statuses() {
            let alone = try await broker.status(of: status.queue)
            #expect(alone.depth == status.depth && alone.head == status.head)
            #expect(alone.because == status.because)
        }
        let depths = try #require(QueueFacts.depths)
        #expect(depths.contains("'ordered') AND a.queue_id IN (SELECT value FROM json_each(?4)) AND"))
        await broker.close()
    }

    @Test("The status of 10,000 queues is read as far as it is asked for, in the order of their names")
    func many() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try await broker.enqueue((0..<10_000).map { Note("a", in: "q/\($0 + 10_000)") })
        let read = Mutex(0)
        try await broker.fileEngine.store.queueFacts(.prefix([]), page: 25) { _, page in
            read.withLock { $0 += page.count }
            return false
        }
        #expect(read.withLock { $0 } == 25)
        let found = try await broker.statuses(limit: 25)
        #expect(found.map(\.queue.rawValue) == (10_000..<10_025).map { "q/\($0)" })
        #expect(try await broker.statuses(matching: "q/*", limit: 0).isEmpty)
        let filtered = try await broker.statuses(in: [.stopped], limit: 2_345)
        #expect(filtered.count == 2_345 && filtered.last?.queue == "q/12344")
        try await #expect(broker.statuses(in: [.running]).isEmpty)
        await broker.close()
    }

    @Test("A filter finds few among many, and a pattern keeps the others out")
    func filter() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.enqueue((0..<2_500).map { Note("a", in: "q/\($0 + 10_000)") })
        try await broker.enqueue(Note("a", in: "r"), notBefore: .distantFuture)
        try await broker.enqueue(Note("a", in: "q/12400x"))
        try await broker.hold("q/12400x", by: "ops")
        try await #expect(broker.statuses(in: [.held]).map(\.queue) == ["q/12400x"])
        try await #expect(broker.statuses(in: [.held, .scheduled]).map(\.queue) == ["q/12400x", "r"])
        try await #expect(broker.statuses(matching: "q/*", in: [.scheduled]).isEmpty)
        try await #expect(broker.statuses(matching: "r").map(\.state) == [.scheduled])
        await broker.close()
    }

    @Test("A status sequence gives the status now, then the latest at each change, never a backlog")
    func updates() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let updates = broker.statusUpdates(of: "notes")
        var iterator = updates.makeAsyncIterator()
        try await #expect(iterator.next()?.state == .empty)
        try await broker.enqueue(Note("a"))
        try await #expect(iterator.next()?.because == [.stopped])
        for number in 0..<50 { try await broker.enqueue(Note("\(number)")) }
        try await broker.hold("notes", by: "ops")
        let latest = try await iterator.next()
        #expect(latest?.depth == 51 && latest?.state == .held)
        // What changes nothing that is shown is no update.
        try await broker.enqueue(Note("b", in: "other"))
        let other = try await broker.hold("other", by: "ops")
        try await broker.endHold(other)
        try await broker.endHolds(matching: "notes")
        try await #expect(iterator.next()?.because == [.stopped])
        await broker.close()
        try await #expect(iterator.next() == nil)
    }

    @Test("A status sequence tells of what no commit tells: a start, a permit, a stop")
    func memory() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let (started, goOn) = (Signal(), Signal())
        try broker.route("*", Note.self, RouteOptions(concurrency: 1)) { _, _ in
            started.send()
            try await goOn.received()
            return .success
        }
        try await broker.enqueue([Note("a", in: "busy"), Note("b")])
        let updates = broker.statusUpdates(of: "notes")
        let seen = EventLog<QueueStatus.State>()
        let permits = Signal()
        let watcher = Task {
            for try await status in updates {
                seen.append(status.state)
                if status.because == [.permit(.route("*"))] { permits.send() }
            }
        }
        _ = try await seen.wait(forCount: 1)
        try await whileRunning(broker) {
            try await permits.received()
            goOn.send()
            await broker.waitUntilIdle()
        }
        try await until { seen.elements.last == .empty }
        #expect(seen.elements.first == .stopped)
        await broker.close()
        try await watcher.value
    }

    @Test("What changes nothing that is shown of a queue is no update of it")
    func irrelevant() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        let updates = broker.statusUpdates(of: "notes")
        let seen = EventLog<Int>()
        let watcher = Task {
            for try await status in updates { seen.append(status.depth) }
        }
        for depth in 1...20 {
            _ = try await seen.wait(forCount: depth)
            // A hold may concern any queue: the status is read again, and is the same but for its age.
            site.clock.advance(by: .seconds(1))
            let other = try await broker.hold("other", by: "ops")
            try await broker.endHold(other)
            try await broker.enqueue(Note("b"))
        }
        _ = try await seen.wait(forCount: 21)
        await broker.close()
        try await watcher.value
        #expect(seen.elements == Array(1...21))
    }

    @Test("Cancelling the task ends a status sequence and unsubscribes")
    func cancellation() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let seen = Signal()
        let watcher = Task {
            for try await _ in broker.statusUpdates(of: "notes") { seen.send() }
        }
        try await seen.received()
        watcher.cancel()
        try await watcher.value
        #expect(!broker.fileEngine.store.interest.isAny)
        await broker.close()
    }

    @Test("A hold that ends by itself is told as resumed, and the queue's status follows")
    func holdEnds() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let events = broker.events()
        try await broker.hold("notes", by: "night", for: .seconds(60))
        try await broker.enqueue(Note("a"))
        try await whileRunning(broker) {
            try await until { try await broker.status(of: "notes").state == .held }
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            site.clock.advance(by: .seconds(60))
            _ = await events.first { $0.line.hasPrefix("resumed") }
            _ = try await log.wait(forCount: 1)
        }
        try await #expect(broker.holds().isEmpty)
        await broker.close()
    }
}
