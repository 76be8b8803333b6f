import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Cancelling actions", .watched) struct CancelTests {
    @Test("An action that waits is removed, and what stood behind it runs", arguments: QueueStorage.allCases)
    func waiting(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        try await #expect(broker.cancel(ids[0]) == .removed)
        try await #expect(broker.cancel(ids[0]) == .tooLate)
        try await #expect(broker.cancel(ActionID(rawValue: 999)) == .tooLate)
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["b", "c"])
        try await #expect(broker.cancel(ids[1]) == .tooLate)
        await broker.close()
    }

    @Test(
        "G3: an action that runs is told, and its queue goes on only when the handler has returned",
        arguments: [
            Outcome.success, .retry, .fail("x"), .release,
        ]
    )
    func runs(_ outcome: Outcome) async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        let (cancelled, go) = (Signal(), Signal())
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            guard note.text == "a" else { return .success }
            try? await untilCancelled()
            cancelled.send()
            await go.receivedInAnyCase()
            return outcome
        }
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            defer { go.send() }
            _ = try await log.wait(forCount: 1)
            try await #expect(broker.cancel(ids[0]) == .signalled)
            try await cancelled.received()
            try await #expect(broker.actionCount() == 2)
            #expect(log.elements == ["a"])
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        try await #expect(broker.actionCount() == 0)
        try await #expect(broker.deadLetters().isEmpty)
        #expect(broker.statistics.succeeded == (outcome == .success ? 2 : 1))
        await broker.close()
    }

    @Test("An error of a cancelled handler removes the action too")
    func throwing() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("*", Note.self, retrying(.halt)) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        let id = try await broker.enqueue(Note("a")).id
        try await running(broker) {
            try await started.received()
            try await #expect(broker.cancel(id) == .signalled)
            await broker.waitUntilIdle()
        }
        try await #expect(broker.actionCount() == 0)
        try await #expect(broker.cancel(id) == .tooLate)
    }

    @Test("Cancelling a head that waits for its retry lets the next one through at once")
    func waitingForRetry() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return note.text == "a" ? .retry(after: .seconds(1_000)) : .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            try await #expect(broker.cancel(ids[0]) == .removed)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
    }

    @Test("G11: a cancellation by another process signals the handler that runs here")
    func elsewhere() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("*", Note.self) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        let events = broker.events()
        let id = try await broker.enqueue(Note("a")).id
        try await running(broker) {
            try await started.received()
            try site.cancelElsewhere(id)
            // The watch on the log, or the next write, takes it in.
            try await broker.file?.flush()
            await broker.waitUntilIdle()
        }
        try await #expect(broker.actionCount() == 0)
        #expect(broker.statistics.removed == 1)
        await broker.close()
        let told = ["enqueued notes 1 note", "started notes 1 note #1", "removed notes 1 note", "idle notes"]
        // The change wakes the queue too, which may be empty by the time of the claim.
        let lines = await events.lines().filter { !$0.hasPrefix("emptyWake") }
        #expect(lines == told)
    }

    @Test("A cancellation of what another process runs is logged for that process")
    func logged() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("a")
        _ = try await fixture.store.take()
        try fixture.execute("UPDATE sluice_runner_rows SET epoch = 99, pid = 4711")
        #expect(try await fixture.store.cancel(id) == .deferred)
        #expect(
            try fixture.rows("SELECT change || action_id FROM sluice_changes ORDER BY change")
                == ["cancel1"]
        )
    }

    @Test("G7: a stop gives a cancelled action back, and the next run removes it without running it")
    func cancelledThenStopped() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "a" {
                // The stop cancels it too, and may come first.
                await go.receivedInAnyCase()
                throw CancellationError()
            }
            return .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            defer { go.send() }
            _ = try await log.wait(forCount: 1)
            let stop = Task { await broker.stop(grace: .zero) }
            try await #expect(broker.cancel(ids[0]) == .signalled)
            go.send()
            await stop.value
        }
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a", "b"])
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }
}
