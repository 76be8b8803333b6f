import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Nobody is made to call `close()`: a broker that is dropped takes all that it made along.
@Suite("A broker that is dropped", .watched(minutes: 1)) struct DroppedBrokerTests {
    /// What a broker is made of.
    private final class Parts {
        private weak var broker: Broker?
        private weak var scheduler: Scheduler?
        private weak var runner: AttemptRunner?
        private weak var store: Store?

        func note(_ broker: Broker) {
            (self.broker, scheduler, runner, store) = (
                broker, broker.fileEngine.scheduler, broker.runner, broker.fileEngine.store
            )
        }

        var areThere: Bool { broker != nil && scheduler != nil && runner != nil && store != nil }
        var areGone: Bool { broker == nil && scheduler == nil && runner == nil && store == nil }
    }

    @Test(
        "It goes with all its parts, whether it has run or not",
        arguments: QueueStorage.allCases,
        [false, true]
    )
    func parts(_ place: QueueStorage, hasRun: Bool) async throws {
        let site = try Site(place)
        let parts = Parts()
        do {
            // A commit that is still to be synced keeps the timer busy.
            let broker = try await site.broker { $0.file.durability = .relaxed }
            parts.note(broker)
            try broker.routeNotes(to: EventLog<String>())
            try await broker.enqueue(Note("a"))
            if hasRun { try await running(broker) { await broker.waitUntilIdle() } }
            #expect(parts.areThere)
            withExtendedLifetime(broker) {}
        }
        try await until { parts.areGone }
        guard place == .file else { return }
        // The file is being closed, and free for the next then.
        var next: Broker?
        try await until {
            do {
                next = try await site.broker()
            } catch let error as SluiceError where error.code == .alreadyOpen {
                return false
            }
            return true
        }
        let broker = try #require(next)
        try await #expect(broker.actionCount() == (hasRun ? 0 : 1))
        await broker.close()
    }

    @Test("One whose handlers have captured it goes when it was closed")
    func captured() async throws {
        let parts = Parts()
        do {
            let broker = try await Site(.memory).broker()
            parts.note(broker)
            try broker.route("*", Note.self) { note, _ in
                if note.text == "first" { try await broker.enqueue(Note("second")) }
                return .success
            }
            try await broker.enqueue(Note("first"))
            try await running(broker) { await broker.waitUntilIdle() }
            #expect(broker.statistics.succeeded == 2)
            await broker.close()
            let refusal = #expect(throws: SluiceError.self) { try broker.routeNotes(to: EventLog<String>()) }
            #expect(refusal?.code == .closed)
        }
        try await until { parts.areGone }
    }

    @Test("One whose handlers use the broker of their attempt goes without being closed")
    func brokerOfAttempt() async throws {
        let parts = Parts()
        do {
            let broker = try await Site(.memory).broker()
            parts.note(broker)
            try broker.route("*", Note.self) { note, attempt in
                if note.text == "first" { try await attempt.broker.enqueue(Note("second")) }
                return .success
            }
            try await broker.enqueue(Note("first"))
            try await running(broker) { await broker.waitUntilIdle() }
            #expect(broker.statistics.succeeded == 2)
        }
        try await until { parts.areGone }
    }

    @Test("G7: while a handler runs it stays, and goes when that has returned and its outcome is written")
    func whileRunning() async throws {
        let site = try Site()
        let parts = Parts()
        let (started, go) = (Signal(), Signal())
        defer { go.send() }
        let run: Task<Void, any Error>
        do {
            let broker = try await site.broker()
            parts.note(broker)
            try broker.route("*", Note.self) { _, _ in
                started.send()
                await go.receivedInAnyCase()
                throw CancellationError()
            }
            try await broker.enqueue(Note("a"))
            run = Task { try await broker.run() }
        }
        try await started.received()
        run.cancel()
        #expect(parts.areThere)
        go.send()
        try await run.value
        try await until { parts.areGone }
        let rows = "SELECT (SELECT count(*) FROM sluice_claim_rows) || attempts FROM sluice_actions"
        #expect(try site.rows(rows) == ["00"])
    }
}
