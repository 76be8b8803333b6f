import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The row of Customer.io in the table of designs: when to run.
@Suite("Customer.io: batches of ten, or after 30 seconds", .watched)
struct CustomerIOBatchTests {
    private func open(_ site: Site, to log: EventLog<String>) async throws -> Broker {
        let broker = try await site.broker()
        try broker.configure("notes", QueueOptions(start: .batch()))
        try broker.routeNotes(to: log)
        return broker
    }

    /// Gives the engine the chance to do what it should not.
    private func settle(_ broker: Broker) async throws {
        for _ in 0..<50 { await Task.yield() }
        _ = try await broker.actionCount()
    }

    @Test(
        "Nine actions wait, the tenth starts them all, and what comes meanwhile",
        arguments: QueueStorage.allCases
    )
    func count(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let log = EventLog<String>()
        let broker = try await site.broker()
        try broker.configure("notes", QueueOptions(start: .batch()))
        try broker.route("notes", Note.self) { note, _ in
            if note.text == "9" { try await broker.enqueue(Note("meanwhile")) }
            log.append(note.text)
            return .success
        }
        try await running(broker) {
            for number in 0..<9 { try await broker.enqueue(Note("\(number)")) }
            try await until { try await broker.status(of: "notes").state == .scheduled }
            try await settle(broker)
            #expect(log.elements.isEmpty)
            try await broker.enqueue(Note("9"))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == (0..<10).map { "\($0)" } + ["meanwhile"])
        await broker.close()
    }

    @Test(
        "One action waits for 30 seconds after it was enqueued, and no longer",
        arguments: QueueStorage.allCases
    )
    func time(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let log = EventLog<String>()
        let broker = try await open(site, to: log)
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await until { try await broker.status(of: "notes").state == .scheduled }
            site.clock.advance(by: .seconds(20))
            try await broker.enqueue(Note("b"))
            try await settle(broker)
            #expect(log.elements.isEmpty)
            let due = try await broker.status(of: "notes").blockedUntil
            #expect(due == (site.clock.now + .seconds(10)).date)
            site.clock.advance(by: .seconds(10))
            await broker.waitUntilIdle()
            #expect(log.elements == ["a", "b"])
            // The next one begins anew.
            try await broker.enqueue(Note("c"))
            try await until { try await broker.status(of: "notes").state == .scheduled }
            site.clock.advance(by: .seconds(30))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b", "c"])
        await broker.close()
    }

    @Test("Run now starts a batch before its time, also one that is asked for before the broker runs")
    func runNow() async throws {
        let site = try Site(.file)
        let log = EventLog<String>()
        let first = try await open(site, to: log)
        try await running(first) {
            try await first.enqueue(Note("a"))
            try await until { try await first.status(of: "notes").state == .scheduled }
            try await #expect(first.runNow("other") == 0)
            try await #expect(first.runNow("notes") == 1)
            await first.waitUntilIdle()
        }
        #expect(log.elements == ["a"])
        try await first.enqueue(Note("b"))
        try await #expect(first.runNow() == 1)
        await first.close()
        let second = try await open(site, to: log)
        try await running(second) { await second.waitUntilIdle() }
        #expect(log.elements == ["a", "b"])
        await second.close()
    }

    @Test("Expiry: what expires while its batch gathers is not run, and the others are when they are due")
    func expiry() async throws {
        let site = try Site(.memory)
        let log = EventLog<String>()
        let broker = try await open(site, to: log)
        let end = EnqueueOptions(expiresAt: (site.clock.now + .seconds(10)).date)
        try await running(broker) {
            try await broker.enqueue(Note("old"), end)
            try await broker.enqueue(Note("new"))
            try await until { try await broker.status(of: "notes").state == .scheduled }
            site.clock.advance(by: .seconds(10))
            try await until { try await broker.deadLetters().count == 1 }
            try await settle(broker)
            #expect(log.elements.isEmpty)
            site.clock.advance(by: .seconds(20))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["new"])
        let dead = try await broker.deadLetters()
        #expect(dead.map(\.cause) == [.expired] && dead.map(\.attempts) == [0])
    }

    @Test("G8: a restart does not forget a batch that is due, nor one that had begun")
    func restart() async throws {
        let site = try Site(.file)
        let log = EventLog<String>()
        let entered = Signal()
        let first = try await site.broker()
        try first.configure("notes", QueueOptions(start: .batch()))
        try first.route("notes", Note.self) { note, _ in
            log.append(note.text)
            guard note.text == "3" else { return .success }
            entered.send()
            try await untilCancelled()
            return .success
        }
        try await first.enqueue((0..<10).map { Note("\($0)") })
        try await running(first) { try await entered.received() }
        await first.close()
        #expect(log.elements == ["0", "1", "2", "3"])
        // Seven are left, and none of them is old: but their batch had begun.
        let second = try await open(site, to: log)
        try await running(second) { await second.waitUntilIdle() }
        #expect(log.elements.count == 11)
        // One that became due while nobody ran it, enqueued by a broker that did not.
        try await second.enqueue(Note("late"))
        await second.close()
        site.clock.advance(by: .seconds(31))
        let third = try await open(site, to: log)
        try await running(third) { await third.waitUntilIdle() }
        #expect(log.elements.last == "late")
        await third.close()
    }

    @Test("G15: SQL and the library say until when a batch gathers")
    func because() async throws {
        let site = try Site(.file, clock: .farAhead())
        let log = EventLog<String>()
        let broker = try await open(site, to: log)
        let path = try #require(site.file).path
        try await running(broker) {
            try await broker.enqueue(Note("a"))
            try await until { try await broker.status(of: "notes").state == .scheduled }
            let status = try await broker.status(of: "notes")
            let shell = try Connection(path: path, mode: .write)
            func cell(_ sql: String) throws -> String? {
                try shell.prepare(sql).first { $0.optionalText(0) } ?? nil
            }
            #expect(try cell("SELECT state FROM sluice_queues") == "scheduled")
            #expect(try cell("SELECT because FROM sluice_queues") == status.because.first?.description)
            #expect(
                try cell("SELECT blocked_until FROM sluice_queues")?.hasPrefix("2100-01-01T00:00:30") == true
            )
            #expect(try cell("SELECT not_before FROM sluice_actions") == nil)
        }
        await broker.close()
    }

    @Test("Customer.io: one call runs a pass through all that is left, also what waits for a retry")
    func runWithRetries() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.configure("tracking", QueueOptions(discipline: .passOver, start: .batch(count: 10)))
        try broker.route("tracking", Note.self, retrying(.fixed(.seconds(600)))) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 && note.text != "c" ? .retry : .success
        }
        try await broker.enqueue([Note("a", in: "tracking"), Note("b", in: "tracking")])
        try await running(broker) {
            try await #expect(broker.runNow("tracking") == 1)
            try await until { broker.statistics.retried == 2 }
            try await broker.enqueue(Note("c", in: "tracking"))
            try await #expect(broker.runNow("tracking", includingRetries: true) == 1)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "b 1", "a 2", "b 2", "c 1"])
        #expect(site.clock.uptime == .zero)
        await broker.close()
    }

    @Test("A call that includes retries lifts no parking")
    func parkedStays() async throws {
        let broker = try await Site(.memory).broker()
        try broker.route("*", Note.self) { _, _ in .fail("no") }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.runNow(includingRetries: true) == 0)
            try await #expect(broker.status(of: "notes").state == .parked)
        }
        await broker.close()
    }
}
