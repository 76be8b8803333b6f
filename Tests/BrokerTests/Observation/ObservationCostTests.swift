import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What observations of actions read.
@Suite("Costs of observing actions", .watched)
struct ObservationCostTests {
    @Test("Of commits of others, only those that records do not describe have all states read again")
    func untold() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let fixture = try await StoreFixture.process(1, on: file, clock: clock)
        let (store, interest) = (fixture.store, fixture.store.interest)
        for text in ["a", "b"] {
            try await store.add(text)
            try await store.settle(try await store.take(), .fail(.failed, .skip, error: "e"))
        }
        _ = interest.takeUntoldChange()
        interest.begin()
        func isUntold(_ sql: String) async throws -> Bool {
            try fixture.execute(sql)
            try await store.readForeignChanges()
            return interest.takeUntoldChange()
        }
        let told = [
            "INSERT INTO sluice_counters VALUES ('own', 1)",
            "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '1'), ('r', 'note', '2')",
            "UPDATE sluice_actions SET tag = 't'", "DELETE FROM sluice_actions WHERE queue = 'r'",
            "DELETE FROM sluice_dead WHERE id = 1",
        ]
        for sql in told { try await #expect(!isUntold(sql), "\(sql)") }
        let last = fixture.commits.elements.flatMap(\.events).last
        #expect(last?.kind == .changed && last?.action == ActionID(rawValue: 1))
        let wake = "INSERT INTO sluice_changes (epoch, queue_id, change) VALUES (1, 1, 'wake')"
        try await #expect(isUntold(wake))
        try await toldByTool(fixture)
        let other = try await StoreFixture.process(2, on: file, clock: clock)
        try await store.readForeignChanges()
        #expect(interest.takeUntoldChange())
        try await #expect(isUntold(told[2]))
        try await other.store.stopRunning()
        try await store.readForeignChanges()
        #expect(interest.takeUntoldChange())
        try await #expect(!isUntold(told[2]))
        await other.store.close()
        try await store.stopRunning()
        try await #expect(isUntold(told[2]))
    }

    @Test("G11: a broker that does not run reads the states again when others have committed, and not before")
    func readOnce() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let store = broker.fileEngine.store
        _ = try await broker.observe(statuses: .all).first { _ in true }
        try await #expect(store.hasNewCommits() == nil)
        try await #expect(store.hasNewCommits() == false)
        try site.shell("INSERT INTO sluice_counters VALUES ('own', 1)")
        try await #expect(store.hasNewCommits() == true)
        await broker.file?.suspend()
        try await broker.file?.resume()
        try await #expect(store.hasNewCommits() == true)
        await broker.close()

        let second = try await site.broker()
        _ = try await second.observe(statuses: .all).first { _ in true }
        try site.shell("UPDATE sluice_counters SET value = 2")
        try await #expect(second.fileEngine.store.hasNewCommits() == true)
        let pokes = EventLog<String>()
        let states = Observers.Subscriber(asksForOthers: true, poke: { _ in pokes.append("states") }, end: {})
        let others = Observers.Subscriber(poke: { _ in pokes.append("others") }, end: {})
        for subscriber in [states, others] { _ = second.fileEngine.observers.add(subscriber) }
        // Who has read by a connection of its own may have missed something.
        second.fileEngine.observers.tellCommitOfOthers(mayDiffer: nil, at: .zero, every: .zero)
        #expect(pokes.elements == ["others"])
        second.fileEngine.observers.tellCommitOfOthers(mayDiffer: true, at: .zero, every: .zero)
        #expect(pokes.elements.sorted() == ["others", "others", "states"])
        await second.close()
    }

    @Test("No snapshot scans the dead letters: by tag and by queue, an index finds them")
    func plans() async throws {
        let site = try Site()
        let broker = try await site.broker()
        for selection in [ActionSelection.tag("m"), .queue("notes")] {
            _ = try await broker.observe(actions: selection).first { _ in true }
        }
        let plans = try await broker.fileEngine.store.read { connection in
            try connection.cachedTexts.filter { $0.contains("sluice_dead_rows") }.map { text in
                try connection.prepare("EXPLAIN QUERY PLAN \(text)").all { $0.text(3) }
            }
        }
        // The two numbers, and the states.
        #expect(plans.count == 3)
        for plan in plans {
            let scans = ["SCAN d", "SCAN sluice_dead_rows"]
            #expect(!plan.contains { line in scans.contains { line.hasPrefix($0) } }, "\(plan)")
        }
        await broker.close()
    }

    /// - Parameter isReadBefore: Whether the engine has read the commit when the observation reads the file.
    @Test(
        "G11: after a commit of the application's own connection, no other actions than its own are read",
        arguments: [true, false]
    )
    func ownTransactions(_ isReadBefore: Bool) async throws {
        let site = try Site()
        // The signal would have all read again, and the flag below taken, at any time.
        let broker = try await site.broker { $0.file.watchesWAL = false }
        let application = try Application(site)
        let (begun, go, settled, end) = (Signal(), Signal(), Signal(), Signal())
        try broker.route("notes", Note.self) { _, attempt in
            begun.send()
            try await go.received()
            try application.transaction { try attempt.succeed(in: $0) }
            settled.send()
            try await end.received()
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            try await begun.received()
            try await until { broker.fileEngine.life.withLock { $0.hasLookedAround } }
            var updates = broker.observe(actions: .queue("notes")).makeAsyncIterator()
            try await #expect(updates.next()?.line == "snapshot: 1 running, 2 waiting")
            _ = broker.fileEngine.store.interest.takeUntoldChange()
            go.send()
            try await settled.received()
            if isReadBefore {
                try await broker.fileEngine.store.readForeignChanges()
            } else {
                broker.fileEngine.observers.poke(nil)
            }
            // Its handler has not returned.
            try await #expect(updates.next()?.line == "gone 1 succeeded")
            let key = DeduplicationKey("k", policy: .replace)
            for tag in ["new", "replaced"] {
                _ = try application.transaction { connection in
                    try broker.enqueue(Note("c"), EnqueueOptions(tag: tag, key: key), in: connection)
                }
                try await broker.fileEngine.store.readForeignChanges()
                let update = try await updates.next()
                #expect(update?.line == "3 waiting" && update?.states.first?.details?.tag == tag)
            }
            #expect(!broker.fileEngine.store.interest.takeUntoldChange())
            end.send()
        }
        await broker.close()
    }

    /// A process that changes the queues and does not run them.
    private func toldByTool(_ fixture: StoreFixture) async throws {
        let (store, interest) = (fixture.store, fixture.store.interest)
        let tool = try await StoreFixture.process(3, on: fixture.file, clock: fixture.clock, isRunning: false)
        let ids = [try await store.add("c", in: "s"), try await store.add("d", in: "s")]
        _ = try await store.take("s")
        // Its first commit may cut a log that it has found, of which no record says anything.
        #expect(try await tool.store.setTag(ids[1], "first") == .done)
        try await store.readForeignChanges()
        _ = interest.takeUntoldChange()
        #expect(try await tool.store.setTag(ids[1], "t") == .done)
        try await store.readForeignChanges()
        #expect(!interest.takeUntoldChange())
        #expect(fixture.commits.elements.flatMap(\.events).last?.action == ids[1])
        // The only slot of its queue is taken, and no runner has to know of it.
        #expect(try await tool.store.cancel(ids[1]) == .done)
        try await store.readForeignChanges()
        #expect(interest.takeUntoldChange())
        await tool.store.close()
    }
}
