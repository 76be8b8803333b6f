import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Statistics", .watched) struct StatisticsTests {
    @Test(
        "Each attempt is counted once when it begins and once by how it ended",
        arguments: QueueStorage.allCases
    )
    func counters(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, attempt in
            switch note.text {
            case "retry" where attempt.number < 3: return .retry(after: .zero)
            case "throw" where attempt.number < 2: throw TestError("x")
            case "fail": return .fail("x")
            default: return .success
            }
        }
        try await broker.enqueue(["ok", "retry", "fail"].map { Note($0, in: QueueName($0)) })
        try await running(broker) { await broker.waitUntilIdle() }
        var expected = Statistics()
        expected.started = 5
        expected.succeeded = 2
        expected.retried = 2
        expected.failed = 1
        #expect(broker.statistics == expected)

        // Counters are those of the opening, not of a run.
        try await broker.enqueue(Note("ok"))
        try await running(broker) { await broker.waitUntilIdle() }
        expected.started = 6
        expected.succeeded = 3
        #expect(broker.statistics == expected)
        await broker.close()
    }

    @Test("A cancelled attempt that does not succeed counts as removed")
    func removed() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        let id = try await broker.enqueue(Note("a")).id
        try await running(broker) {
            try await started.received()
            try await broker.cancel(id)
            await broker.waitUntilIdle()
        }
        var expected = Statistics()
        expected.started = 1
        expected.removed = 1
        #expect(broker.statistics == expected)
    }

    @Test("An end is counted before the broker is told to be idle")
    func beforeIdle() async throws {
        let broker = try await Site(.memory).broker()
        try broker.routeNotes(to: EventLog<String>())
        try await broker.enqueue(Note("a"))
        let counts = EventLog<Int>()
        // Told by the claim that finds the queue empty, on the thread that has just told the idle waiters.
        let end = broker.fileEngine.observers.add(
            Observers.Subscriber(
                receive: { _ in },
                poke: { queue in if queue != nil { counts.append(broker.statistics.succeeded) } },
                end: {}
            )
        )
        try await running(broker) { _ = try await counts.wait(forCount: 1) }
        #expect(counts.elements == [1])
        end()
        await broker.close()
    }

    @Test("G6: a completion whose slot is no longer its own changes nothing, and is counted as stale")
    func stale() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let (started, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await go.received(started.elements.count)
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await started.received()
            try site.shell("DELETE FROM sluice_claim_rows")
            go.send()
            // It still waits, and runs again: nothing of the stale success was written.
            try await started.received(2)
            #expect(broker.statistics.succeeded == 0)
            #expect(broker.statistics.staleCompletions == 1)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 1)
        await broker.close()
    }
}
