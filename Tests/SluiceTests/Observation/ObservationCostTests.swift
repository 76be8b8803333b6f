import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

/// What observations of actions read.
@Suite("Costs of observing actions", .timeLimit(.minutes(2)))
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

    @Test("No snapshot scans the dead letters: by tag and by queue, an index finds them")
    func plans() async throws {
        let site = try Site()
        let broker = try await site.broker()
        for selection in [ActionSelection.tag("m"), .queue("notes")] {
            _ = try await broker.observe(actions: selection).first { _ in true }
        }
        let plans = try await broker.store.read { connection in
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

    /// A process that changes the queues and does not run them.
    private func toldByTool(_ fixture: StoreFixture) async throws {
        let (store, interest) = (fixture.store, fixture.store.interest)
        let tool = try await StoreFixture.process(3, on: fixture.file, clock: fixture.clock, isRunning: false)
        let ids = [try await store.add("c", in: "s"), try await store.add("d", in: "s")]
        _ = try await store.take("s")
        _ = interest.takeUntoldChange()
        #expect(try await tool.store.setTag(ids[1], "t") == .done)
        try await store.readForeignChanges()
        #expect(!interest.takeUntoldChange())
        #expect(fixture.commits.elements.flatMap(\.events).last?.action == ids[1])
        // The only slot of its queue is taken, and no runner has to know of it.
        #expect(try await tool.store.cancel(ids[1]) == .removed)
        try await store.readForeignChanges()
        #expect(interest.takeUntoldChange())
        await tool.store.close()
    }
}
