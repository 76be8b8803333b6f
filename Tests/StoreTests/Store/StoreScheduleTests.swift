import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// No test here looks at the schedule: a claim is as early as it can be.
@Suite("What is due at a claim", .watched) struct StoreScheduleTests {
    enum Way: CaseIterable {
        case enqueued, rescheduled, bySQL, rolledBackBefore, imported
    }

    @Test("G2: what came due before a claim goes before what sorts behind it", arguments: Way.allCases)
    func due(_ way: Way) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let time = fixture.clock.now + .seconds(10)
        // The claim has been told of the schedule before it changes.
        try await store.add("none", by: .integer(0))
        #expect(try await store.drain() == ["none"])
        switch way {
        case .enqueued: try await store.add("due", by: .integer(1), notBefore: time)
        case .rescheduled:
            let id = try await store.add("due", by: .integer(1))
            #expect(try await store.reschedule(id, notBefore: time) == .done)
        case .bySQL:
            try fixture.execute(
                """
                INSERT INTO sluice_actions (queue, kind, payload, sort_key, not_before)
                VALUES ('q', 'note', '"due"', 1, \(time.microseconds))
                """
            )
        case .rolledBackBefore:
            try await store.add("due", by: .integer(1), notBefore: time)
            let code = await refusal {
                try await store.write(sync: .later) { _ in throw Unexpected(description: "no") }
            }
            #expect(code == .storage)
        case .imported:
            var action = TransferredAction(
                queue: "q",
                kind: "note",
                sortKey: .integer(1),
                payload: "\"due\""
            )
            action.notBefore = time
            #expect(try await store.take([action]).count == 1)
        }
        try await store.add("behind", by: .integer(2))
        try await store.add("last", by: .integer(3))
        fixture.clock.advance(by: .seconds(9))
        let first = try await store.take()
        #expect(first.text == "behind")
        fixture.clock.advance(by: .seconds(1))
        try await store.settle(first, .success)
        #expect(try await store.drain() == ["due", "last"])
    }

    @Test("G9: what is due and cannot be written holds up no claim, and is looked for again when it can be")
    func unwritable() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let now = fixture.clock.now
        let id = try await store.add("due", by: .integer(1), notBefore: now + .seconds(10))
        try await store.add("behind", by: .integer(2))
        try fixture.execute(
            """
            CREATE TRIGGER planted BEFORE UPDATE OF not_before_us ON sluice_action_rows
            BEGIN SELECT RAISE(ABORT, 'planted'); END
            """
        )
        fixture.clock.advance(by: .seconds(10))
        #expect(try await store.drain() == ["behind"])
        let stuck = try await store.admitDue()
        #expect(stuck.scheduled == now + .seconds(11) && stuck.unplaced.map(\.action) == [id])
        try fixture.execute("DROP TRIGGER planted")
        let mended = try await store.admitDue()
        #expect(mended.scheduled == nil && mended.unplaced.isEmpty)
        // It is nothing special from now on.
        #expect(try await store.reschedule(id, notBefore: now + .seconds(20)) == .done)
        #expect(try await store.admitDue().scheduled == now + .seconds(20))
        fixture.clock.advance(by: .seconds(10))
        #expect(try await store.drain() == ["due"])
    }

    @Test("G2, G9: what is due and cannot be written holds up no handle, and is handed out when it can be")
    func unwritableForHandles() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let store = fixture.store
        let time = fixture.clock.now + .seconds(10)
        // More than one look takes in.
        let drafts = (1...1_100).map { ActionDraft("\($0)", by: .integer($0), notBefore: time) }
        let ids = try await store.add(drafts)
        let behind = try await store.add("behind", by: .integer(2_000))
        try fixture.execute(
            """
            CREATE TRIGGER planted BEFORE UPDATE OF not_before_us ON sluice_action_rows
            WHEN old.id = \(ids[0]) BEGIN SELECT RAISE(ABORT, 'planted'); END
            """
        )
        fixture.clock.advance(by: .seconds(10))
        try await #expect(takeAll(store) == ids[1...] + [behind])
        try await #expect(takeAll(store) == [])
        try fixture.execute("DROP TRIGGER planted")
        try await #expect(takeAll(store) == [ids[0]])
    }

    @Test("G9: what is due and whose place cannot be written keeps its time until it can be")
    func unplaceable() async throws {
        let fixture = try await StoreFixture(
            isRunning: false,
            adjust: { ($0.file.writeBehind.newest, $0.file.writeBehind.batch) = (1, 1) }
        )
        let store = fixture.store
        let due = try await store.add("due", by: .integer(0), notBefore: fixture.clock.now + .seconds(10))
        let ids = try await store.add((1...9).map { ActionDraft("\($0)", by: .integer($0)) })
        let times = "SELECT not_before_us FROM sluice_action_rows WHERE id = \(due)"
        let before = try fixture.row(times)
        try fixture.execute(
            """
            CREATE TRIGGER planted BEFORE INSERT ON sluice_order_rows WHEN new.action_id = \(due)
            BEGIN SELECT RAISE(ABORT, 'planted'); END
            """
        )
        fixture.clock.advance(by: .seconds(10))
        try await #expect(takeAll(store) == ids)
        #expect(try fixture.row(times) == before)
        try fixture.execute("DROP TRIGGER planted")
        try await #expect(takeAll(store) == [due])
    }

    @Test("G14: a trigger that rolls all back while what is due gets its place loses nothing")
    func rolledBack() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let store = fixture.store
        let due = try await store.add("due", notBefore: fixture.clock.now + .seconds(10))
        let waiting = try await store.add("waiting")
        try fixture.execute(
            """
            CREATE TRIGGER planted BEFORE UPDATE OF not_before_us ON sluice_action_rows
            BEGIN SELECT RAISE(ROLLBACK, 'planted'); END
            """
        )
        fixture.clock.advance(by: .seconds(10))
        #expect(await refusal { try await takeAll(store) } == .storage)
        let left = try fixture.rows("SELECT id FROM sluice_action_rows ORDER BY id")
        #expect(left == ["\(due)", "\(waiting)"])
        try fixture.execute("DROP TRIGGER planted")
        try await #expect(takeAll(store) == [due, waiting])
    }

    private func takeAll(_ store: Store) async throws -> [ActionID] {
        try await store.takeNext(of: "q", limit: 10_000) { .success($0.id) }.outputs
    }

    @Test("G2: more than one transaction takes in is due at a start, the first of them last")
    func many() async throws {
        // It makes 5,000 commits.
        let fixture = try await StoreFixture(adjust: { $0.file.durability = .relaxed })
        let now = fixture.clock.now
        try await fixture.store.add(
            (1...2_500).map {
                ActionDraft("\($0)", by: .integer($0), notBefore: now + .seconds(3_000 - $0))
            }
        )
        try await fixture.store.add("other", in: "other")
        fixture.clock.advance(by: .seconds(3_000))
        let next = try await fixture.reopened()
        // What is due in one queue is nothing to another.
        #expect(try await next.store.take("other").text == "other")
        #expect(try await next.store.claim().word == "unfinished")
        #expect(try await next.store.drain() == (1...2_500).map(String.init))
    }
}
