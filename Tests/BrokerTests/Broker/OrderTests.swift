import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport

@Suite("One slot, the head and the keys", .watched) struct OrderTests {
    /// Handlers that say when they begin and end; that of "a" waits in between, whatever happens.
    private struct Slow: Sendable {
        let log = EventLog<String>()
        let go = Signal()

        func route(_ broker: Broker, then outcome: Outcome = .success) throws {
            try broker.route("*", Note.self) { note, attempt in
                log.append("\(note.text) begins")
                if note.text == "a" && attempt.number == 1 { try await go.received() }
                log.append("\(note.text) ends")
                return note.text == "a" && attempt.number == 1 ? outcome : .success
            }
        }
    }

    @Test(
        "G3: an arrival that sorts before the running head waits until its handler has returned",
        arguments: QueueStorage.allCases
    )
    func earlierInsert(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let slow = Slow()
        try slow.route(broker)
        try await broker.enqueue([Note("a", order: .integer(5)), Note("c", order: .integer(6))])
        try await running(broker) {
            _ = try await slow.log.wait(forCount: 1)
            try await broker.enqueue(Note("b", order: .integer(1)))
            try await broker.retryNow()
            #expect(slow.log.elements == ["a begins"])
            slow.go.send()
            await broker.waitUntilIdle()
        }
        #expect(slow.log.elements == ["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"])
        await broker.close()
    }

    @Test("G3, G6: deleting the running row signals its handler; the next starts when it has returned")
    func foreignDeletion() async throws {
        let clock = ManualClock()
        let site = try Site(clock: clock)
        let broker = try await site.broker { $0.file.foreignChangeInterval = .milliseconds(100) }
        let log = EventLog<String>()
        let (cancelled, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { note, _ in
            log.append("\(note.text) begins")
            if note.text == "a" {
                try? await untilCancelled()
                cancelled.send()
                await go.receivedInAnyCase()
            }
            log.append("\(note.text) ends")
            return .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            defer { go.send() }
            _ = try await log.wait(forCount: 1)
            try site.shell("DELETE FROM sluice_actions WHERE id = \(ids[0])")
            while cancelled.elements.isEmpty {
                clock.advance(by: .milliseconds(100))
                await Task.yield()
            }
            #expect(log.elements == ["a begins"])
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a begins", "a ends", "b begins", "b ends"])
        #expect(broker.statistics.removed == 1)
        await broker.close()
    }

    @Test(
        "G3: handlers of one queue never overlap, with many queues, retries, arrivals and cancellations",
        arguments: QueueStorage.allCases
    )
    func neverOverlap(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.concurrency = 8 }
        let busy = Mutex<Set<String>>([])
        let overlaps = EventLog<String>()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
            let queue = attempt.queue.rawValue
            if !busy.withLock({ $0.insert(queue).inserted }) { overlaps.append(queue) }
            for _ in 0..<Int.random(in: 0..<5) { await Task.yield() }
            _ = busy.withLock { $0.remove(queue) }
            return attempt.number == 1 && Bool.random() ? .retry : .success
        }
        try await running(broker) {
            var ids: [ActionID] = []
            for round in 0..<60 {
                let notes = (0..<20).map {
                    Note("\(round)", in: "\($0 % 7)", order: .integer(Int64.random(in: 0..<9)))
                }
                ids += try await broker.enqueue(notes)
                if let id = ids.randomElement() { try await broker.cancel(id) }
            }
            await broker.waitUntilIdle()
        }
        #expect(overlaps.elements.isEmpty)
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test("G4: a head that waits for its retry blocks what is behind it, arrivals and a restart included")
    func headBlocks() async throws {
        let site = try Site()
        let log = EventLog<String>()
        func open() async throws -> Broker {
            let broker = try await site.broker()
            try broker.route("*", Note.self) { note, attempt in
                log.append("\(note.text) \(attempt.number)")
                return note.text == "a" && attempt.number < 3 ? .retry(after: .seconds(100)) : .success
            }
            return broker
        }
        let first = try await open()
        try await first.enqueue([Note("a"), Note("b")])
        try await running(first) {
            try await until { first.statistics.retried == 1 }
            try await first.enqueue(Note("c"))
            site.clock.advance(by: .seconds(60))
        }
        await first.close()
        #expect(log.elements == ["a 1"])

        let second = try await open()
        try await running(second) {
            try await second.enqueue(Note("d"))
            // 40 seconds are left of the wait: the deadline survived.
            site.clock.advance(by: .seconds(39))
            try await second.file?.flush()
            #expect(log.elements == ["a 1"])
            try await until {
                site.clock.advance(by: .milliseconds(100))
                try await TestSupport.until { second.fileEngine.isAtRest(butFor: 0) }
                try await second.file?.flush()
                return second.statistics.retried == 1
            }
            // Anew, it would have taken until 160.
            #expect(site.clock.uptime < .seconds(155))
            #expect(log.elements == ["a 1", "a 2"])
            site.clock.advance(by: .seconds(100))
            await second.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 2", "a 3", "b 1", "c 1", "d 1"])
        await second.close()
    }

    @Test(
        "G2, G4: an arrival that sorts earlier runs at once in a waiting queue; the displaced head keeps all"
    )
    func displaced() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return note.text == "a" && attempt.number < 3 ? .retry(after: .seconds(10)) : .success
        }
        try await broker.enqueue([Note("a", order: .integer(5)), Note("z", order: .integer(6))])
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            site.clock.advance(by: .seconds(4))
            try await broker.enqueue(Note("b", order: .integer(1)))
            _ = try await log.wait(forCount: 2)
            try await until { broker.statistics.succeeded == 1 }
            let summary = try #require(await broker.actionSummaries().first)
            #expect(summary.attempts == 1)
            // Six seconds are left, not ten.
            try await site.clock.waitForSleeper(untilUptime: .seconds(10))
            site.clock.advance(by: .seconds(6))
            try await until { broker.statistics.retried == 2 }
            site.clock.advance(by: .seconds(10))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "b 1", "a 2", "a 3", "z 1"])
    }

    @Test("G5: each attempt has the same key, through restarts, and no other action has it, in any file")
    func keys() async throws {
        let keys = EventLog<String>()
        for _ in 0..<2 {
            let site = try Site()
            for _ in 0..<3 {
                let broker = try await site.broker()
                try broker.route("*", Note.self, retrying(.fixed(.zero))) { note, attempt in
                    keys.append("\(attempt.id) \(attempt.idempotencyKey)")
                    return attempt.number % 3 == 0 ? .release : .retry
                }
                let isFirst = try await broker.actionCount() == 0
                if isFirst { try await broker.enqueue([Note("a", in: "1"), Note("b", in: "2")]) }
                let before = broker.statistics.released
                try await running(broker) { try await until { broker.statistics.released >= before + 2 } }
                await broker.close()
                site.clock.advance(by: .seconds(2))
            }
        }
        let distinct = Set(keys.elements)
        #expect(keys.elements.count >= 2 * 2 * 5)
        // Two actions in each of two files.
        #expect(distinct.count == 4)
        #expect(Set(distinct.map { $0.drop { $0 != " " } }).count == 4)
    }
}
