import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What counts for a batch, and what starts it", .watched) struct BatchStartTests {
    @Test("Ten actions do not start a batch while one of them waits at a closed gate")
    func gate() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.configure("notes", QueueOptions(discipline: .concurrent(2), start: .batch(count: 10)))
        try broker.routeNotes(to: log)
        try await broker.closeGate("g")
        try await running(broker) {
            for number in 0..<9 { try await broker.enqueue(Note("\(number)")) }
            try await broker.enqueue(Note("gated"), EnqueueOptions(gate: "g"))
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
            #expect(log.elements.isEmpty)
            // It counts as soon as it could start.
            try await broker.openGate("g")
            _ = try await log.wait(forCount: 10)
        }
        #expect(Set(log.elements) == Set((0..<9).map { "\($0)" } + ["gated"]))
        #expect(site.clock.uptime == .zero)
        await broker.close()
    }

    @Test(
        "A call that includes retries runs what waits, also after a batch in which nothing could start",
        arguments: [QueueDiscipline.firstInFirstOut, .passOver, .lastInFirstOut, .concurrent(2)]
    )
    func afterVainBatch(discipline: QueueDiscipline) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.configure("notes", QueueOptions(discipline: discipline, start: .batch(count: 10)))
        try broker.route("notes", Note.self, retrying(.fixed(.seconds(3_600)))) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 ? .retry : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await broker.runNow("notes")
            try await until { broker.statistics.retried == 1 && broker.fileEngine.isAtRest(butFor: 0) }
            for _ in 0..<3 {
                site.clock.advance(by: .seconds(30))
                try await until { broker.fileEngine.isAtRest(butFor: 0) }
            }
            #expect(log.elements == ["a 1"])
            try await broker.runNow("notes", includingRetries: true)
            _ = try await log.wait(forCount: 2)
        }
        #expect(log.elements == ["a 1", "a 2"])
        await broker.close()
    }
}
