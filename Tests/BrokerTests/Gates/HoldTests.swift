import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Holds", .watched) struct HoldTests {
    @Test(
        "What is held does not start, whatever arrives; the rest goes on (G4, G9)",
        arguments: QueueStorage.allCases
    )
    func holding(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let hold = try await broker.hold("held/*", by: "ops", reason: "server moves")
        try await running(broker) {
            try await broker.enqueue(["held/1", "free"].map { Note("\($0) a", in: $0) })
            try await broker.enqueue(Note("held/1 b", in: "held/1"))
            await broker.waitUntilIdle()
            #expect(log.elements == ["free a"])
            // It overrides no hold.
            try await broker.retryNow()
            await broker.waitUntilIdle()
            #expect(log.elements == ["free a"])
            try await #expect(broker.endHold(hold))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["free a", "held/1 a", "held/1 b"])
        try await #expect(!broker.endHold(hold))
        await broker.close()
    }

    @Test("Holds count: a queue moves again when none is left that covers it")
    func counting() async throws {
        let broker = try await Site(.memory).broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let holds = [
            try await broker.hold("q/1", by: "a"), try await broker.hold("q/*", by: "b"),
            try await broker.hold(.all, by: "c"),
        ]
        try await broker.enqueue(Note("n", in: "q/1"))
        try await running(broker) {
            for hold in holds {
                await broker.waitUntilIdle()
                #expect(log.elements.isEmpty)
                try await broker.endHold(hold)
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["n"])
        await broker.close()
    }

    @Test("A hold is ended by its number, or by pattern and holder")
    func resuming() async throws {
        let broker = try await Site(.memory).broker()
        try await broker.hold("q/*", by: "a")
        try await broker.hold("q/*", by: "b")
        try await broker.hold("q/*", by: "b")
        try await broker.hold("q/1", by: "a")
        try await #expect(broker.endHolds(matching: "q/*", by: "b") == 2)
        try await #expect(broker.endHolds(matching: "q/2") == 0)
        try await #expect(broker.holds().map { "\($0.pattern) \($0.holder)" } == ["q/* a", "q/1 a"])
        try await #expect(broker.endHolds(matching: "q/*") == 1)
        await broker.close()
    }

    @Test("What runs is not touched by a hold, and its successor waits")
    func whatRuns() async throws {
        let broker = try await Site(.memory).broker()
        let (log, goOn) = (EventLog<String>(), Signal())
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await goOn.received()
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await broker.hold("notes", by: "ops")
            goOn.send()
            await broker.waitUntilIdle()
            #expect(broker.statistics.succeeded == 1)
        }
        #expect(log.elements == ["a"])
        await broker.close()
    }

    @Test("A hold ends by itself at its time, and is not listed any more")
    func ending() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.hold("notes", by: "ops", for: .seconds(60))
        try await broker.hold("notes", by: "ops", for: .seconds(30))
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            let end = site.clock.uptime + .seconds(60)
            try await site.clock.waitForSleeper(untilUptime: end)
            site.clock.advance(by: .seconds(60) - .microseconds(1))
            try await #expect(broker.holds().count == 1)
            #expect(log.elements.isEmpty)
            site.clock.advance(by: .microseconds(1))
            _ = try await log.wait(forCount: 1)
            try await #expect(broker.holds().isEmpty)
        }
        await broker.close()
    }

    @Test("G8: a hold outlives the process, with holder and reason")
    func restart() async throws {
        let site = try Site()
        let log = EventLog<String>()
        let first = try await site.broker { $0.file.durability = .everything }
        try await first.hold("notes", by: "Ada", reason: "the server moves")
        let holds = try await first.holds()
        try await first.enqueue(Note("a"))
        await first.close()
        let broker = try await site.broker { $0.file.durability = .everything }
        try broker.routeNotes(to: log)
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements.isEmpty)
        try await #expect(broker.holds() == holds)
        #expect(holds.map { "\($0.holder): \($0.reason)" } == ["Ada: the server moves"])
        await broker.close()
    }

    @Test("A pattern that is none, and texts that are too long, are refused")
    func refusals() async throws {
        let broker = try await Site(.memory).broker()
        await #expect(refusal { try await broker.hold("a*", by: "x") } == .invalidPattern)
        await #expect(refusal { try await broker.hold("", by: "x") } == .invalidQueueName)
        let long = String(repeating: "x", count: 1_001)
        await #expect(refusal { try await broker.hold("a", by: long) } == .invalidOptions)
        await #expect(refusal { try await broker.hold("a", by: "x", reason: long) } == .invalidOptions)
        try await #expect(broker.holds().isEmpty)
        await broker.close()
    }
}
