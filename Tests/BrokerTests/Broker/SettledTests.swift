import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Waiting for one action", .watched) struct SettledTests {
    /// Routes notes that do what their text says.
    private func route(_ broker: Broker, go: Signal) throws {
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, attempt in
            try await go.received()
            switch note.text {
            case "fail": return .fail("no")
            case "again": return attempt.number < 3 ? .retry(after: .zero) : .success
            default: return .success
            }
        }
    }

    @Test(
        "Who waits is told how it ended, whether it has ended by then or not",
        arguments: QueueStorage.allCases
    )
    func ends(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let go = Signal()
        try route(broker, go: go)
        let good = try await broker.enqueue(Note("good", in: "1"))
        let again = try await broker.enqueue(Note("again", in: "2"))
        let bad = try await broker.enqueue(Note("fail", in: "3"))
        let told = EventLog<ActionEnd>()
        try await running(broker) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for receipt in [good, good, again, bad] {
                    group.addTask { told.append(try await receipt.settled()) }
                }
                try await until { broker.fileEngine.store.waiters.count == 4 }
                #expect(told.elements.isEmpty)
                go.send()
                try await group.waitForAll()
            }
            await broker.waitUntilIdle()
        }
        #expect(told.elements.count { $0 == .succeeded } == 3)
        #expect(told.elements.contains(.deadLettered(.failed)))
        #expect(broker.fileEngine.store.waiters.count == 0)
        // Long ago, or never.
        try await #expect(good.settled() == .succeeded)
        try await #expect(bad.settled() == .deadLettered(.failed))
        try await #expect(broker.settled(ActionID(rawValue: 99)) == .unknown)
        await broker.close()
    }

    @Test("A removal and a skipped head are told too; a dead letter that is put back is waited for again")
    func operators() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        let told = ids.map { id in Task { try await broker.settled(id) } }
        try await until { broker.fileEngine.store.waiters.count == 3 }
        try await broker.cancel(ids[0])
        try await #expect(broker.skipHead(of: "notes") == .skipped(ids[1]))
        try await #expect(told[0].value == .removed)
        try await #expect(told[1].value == .deadLettered(.skipped))
        try await #expect(broker.requeue(ids[1]))
        let again = Task { try await broker.settled(ids[1]) }
        try await until { broker.fileEngine.store.waiters.count == 2 }
        try await #expect(broker.cancel(queues: "*").removed == 2)
        try await #expect(again.value == .removed)
        try await #expect(told[2].value == .removed)
        await broker.close()
    }

    @Test("Neither a retry, nor a parking, a move or a restart of the queues ends the wait")
    func goesOn() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<Int>()
        try broker.route("*", Note.self) { _, attempt in
            log.append(attempt.number)
            return attempt.number == 1 ? .fail("no") : .success
        }
        let receipt = try await broker.enqueue(Note("a"))
        let told = Task { try await receipt.settled() }
        try await until { broker.fileEngine.store.waiters.count == 1 }
        try await running(broker) {
            try await until { try await broker.status(of: "notes").state == .parked }
        }
        #expect(broker.fileEngine.store.waiters.count == 1)
        try await #expect(broker.move(receipt.id, to: "elsewhere") == .done)
        #expect(broker.fileEngine.store.waiters.count == 1)
        try await running(broker) { try await #expect(told.value == .succeeded) }
        #expect(log.elements == [1, 2])
        await broker.close()
    }

    @Test("A wait ends when its task is cancelled, before it begins and after", arguments: [true, false])
    func cancelled(_ isEarly: Bool) async throws {
        let broker = try await Site(.memory).broker()
        let receipt = try await broker.enqueue(Note("a"))
        let go = Signal()
        let waiting = Task {
            if isEarly { await go.receivedInAnyCase() }
            return try await receipt.settled()
        }
        if !isEarly { try await until { broker.fileEngine.store.waiters.count == 1 } }
        waiting.cancel()
        go.send()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        #expect(broker.fileEngine.store.waiters.count == 0)
        try await #expect(broker.actionCount() == 1)
        await broker.close()
    }

    @Test("A wait ends with an error when the broker closes, and none begins after")
    func closed() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let receipt = try await broker.enqueue(Note("a"))
        let waiting = Task { try await receipt.settled() }
        try await until { broker.fileEngine.store.waiters.count == 1 }
        await broker.close()
        #expect(await refusal { try await waiting.value } == .closed)
        #expect(await refusal { try await receipt.settled() } == .closed)
    }

    @Test("G11: what another connection deletes is told by its commit, and what another process settles too")
    func foreign() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.foreignChangeInterval = .milliseconds(100) }
        let go = Signal()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            try await go.received()
            return .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        let told = ids.map { id in Task { try await broker.settled(id) } }
        try await until { broker.fileEngine.store.waiters.count == 3 }
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            // One runs, one waits.
            try site.shell("DELETE FROM sluice_actions WHERE id IN (\(ids[0]), \(ids[1]))")
            try await #expect(told[0].value == .removed)
            try await #expect(told[1].value == .removed)
            go.send()
            try await #expect(told[2].value == .succeeded)
        }
        // Nobody runs the queues here: how it ended is not known.
        let last = try await broker.enqueue(Note("d")).id
        let waiting = Task { try await broker.settled(last) }
        try await until { broker.fileEngine.store.waiters.count == 1 }
        try site.shell("DELETE FROM sluice_actions WHERE id = \(last)")
        // It looks, though nothing of its own makes it.
        try await site.clock.waitForSleeper(untilUptime: site.clock.uptime + .milliseconds(100))
        site.clock.advance(by: .milliseconds(100))
        try await #expect(waiting.value == .unknown)
        await broker.close()
    }

    @Test("A rollback forgets how actions ended that have not, and the newest ends are remembered")
    func memory() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await store.add((0..<(SettledActions.capacity + 10)).map { ActionDraft("\($0)") })
        await #expect(throws: SluiceError.self) {
            try await store.write(sync: .later) { transaction in
                #expect(try transaction.cancellations.cancel(ids[0]) == .done)
                throw TestError("rolled back")
            }
        }
        let page = CancelPage(through: try #require(ids.last))
        let waiting = Task { try await store.settled(ids[0]) }
        try await until { store.waiters.count == 1 }
        #expect(try await store.claim().word == "claimed")
        var next: CancelPage? = page
        while let page = next { next = try await store.cancel(.queues(.prefix([])), page).next }
        #expect(try await store.settled(try #require(ids.last)) == .removed)
        #expect(try await store.settled(ids[1]) == .unknown)
        #expect(store.waiters.count == 1)
        waiting.cancel()
        _ = try? await waiting.value
    }

    @Test(
        "What another process settles is told while this one does not run, before and after a run of its own"
    )
    func otherEngine() async throws {
        let site = try Site()
        let broker = try await site.broker {
            $0.file.foreignChangeInterval = .milliseconds(100)
            $0.file.durability = .everything
        }
        try broker.routeNotes("never", to: EventLog<String>())
        let id = try await broker.enqueue(Note("a")).id
        let waiting = Task { try await broker.settled(id) }
        try await until { broker.fileEngine.store.waiters.count == 1 }
        try await running(broker) { await broker.waitUntilIdle() }
        // As the engine of another process sets it aside.
        try site.shell(
            """
            INSERT INTO sluice_dead_rows
            SELECT id, queue_id, sort_key, 'arrival', enqueued_at_us, nonce, kind, 1, 5, 'crashed', 'e',
                   payload, version, tag, gate, trace FROM sluice_action_rows;
            DELETE FROM sluice_action_rows;
            """
        )
        let ticks = Task {
            while !Task.isCancelled {
                site.clock.advance(by: .milliseconds(100))
                await Task.yield()
            }
        }
        try await #expect(waiting.value == .deadLettered(.crashed))
        ticks.cancel()
        await ticks.value
        await broker.close()
    }
}
