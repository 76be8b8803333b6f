import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A row of an action that stands aside, or is to be mended at the start, cannot be written, as in a damaged
/// file.
@Suite("G9: Rows that cannot be written", .watched) struct UnwritableAsideTests {
    private static func plant(_ event: String, when condition: String) -> String {
        """
        CREATE TRIGGER planted BEFORE \(event) WHEN \(condition)
        BEGIN SELECT RAISE(ABORT, 'planted'); END
        """
    }

    /// How many actions stand aside for a gate besides the one whose row cannot be written; the second is
    /// more than one transaction puts back.
    @Test("Behind a gate that opens it holds up no other, and comes when it can be", arguments: [1, 1_100])
    func gate(count: Int) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let rules = QueueRules.by(.concurrent(2))
        let gated = DraftExtras(gate: "account")
        let ids = try await store.add((0...count).map { ActionDraft("\($0)", extras: gated) })
        try await store.add("later", in: "other", notBefore: fixture.clock.now + .seconds(10))
        _ = try await store.finishedClaim(by: rules)
        #expect(try fixture.row("SELECT count(*) FROM sluice_deferred_rows") == "\(count + 1)")
        try fixture.execute(
            Self.plant("UPDATE OF not_before_us ON sluice_action_rows", when: "old.id = \(ids[0])")
        )
        try await store.setGate("account", isOpen: true, isPersistent: false, spread: .zero)
        fixture.clock.advance(by: .seconds(10))
        let now = fixture.clock.now
        var looks = 0
        var next = try await store.admitDue()
        while next.scheduled == now, looks < 10 {
            looks += 1
            next = try await store.admitDue()
        }
        #expect(looks == count / 1_000)
        #expect(next.scheduled == now + .seconds(1) && next.unplaced.map(\.action) == [ids[0]])
        #expect(try await store.take("other").text == "later")
        #expect(try await store.drain(by: rules) == (1...count).map { "\($0)" })
        try fixture.execute("DROP TRIGGER planted")
        #expect(try await store.admitDue().unplaced.isEmpty)
        #expect(try await store.drain(by: rules) == ["0"])
    }

    @Test("A retry of all by hand leaves it where it is, and has the others come")
    func retryNow() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let rules = QueueRules.by(.concurrent(2))
        let ids = try await store.add(["a", "b"].map { ActionDraft($0) })
        for _ in ids {
            try await store.settle(store.take(by: rules), .retry(after: .seconds(60), error: "e"))
        }
        try fixture.execute(
            Self.plant("UPDATE OF not_before_us ON sluice_action_rows", when: "old.id = \(ids[0])")
        )
        _ = try await store.retryNow(QueuePattern("*").form())
        #expect(try await store.drain(by: rules) == ["b"])
        try fixture.execute("DROP TRIGGER planted")
        #expect(try await store.retryNow(QueuePattern("*").form()) == 1)
        #expect(try await store.drain(by: rules) == ["a"])
    }

    @Test("What was released and cannot be mended at the start waits on, and the others start")
    func released() async throws {
        let fixture = try await StoreFixture()
        for name in ["a", "b"] as [QueueName] {
            try await fixture.store.add("in \(name)", in: name)
            try await fixture.store.settle(fixture.store.take(name), .release(after: .seconds(60)))
        }
        try fixture.execute(Self.plant("UPDATE ON sluice_state_rows", when: "old.action_id = 1"))
        let again = try await fixture.reopened()
        #expect(try await again.store.claim("a").word == "waiting")
        #expect(try await again.store.take("b").text == "in b")
        try again.execute("DROP TRIGGER planted")
        again.clock.advance(by: .seconds(60))
        #expect(try await again.store.take("a").text == "in a")
    }

    /// A row in which the time stands until which something waits: what stands aside has two.
    enum TimeRow: String, CaseIterable {
        case ofHead, ofAside, ofActionAside

        var rules: QueueRules { QueueRules.by(self == .ofHead ? .firstInFirstOut : .concurrent(2)) }

        var event: String {
            self == .ofActionAside ? "UPDATE ON sluice_action_rows" : "UPDATE ON sluice_state_rows"
        }

        var key: String { self == .ofActionAside ? "id" : "action_id" }
    }

    @Test(
        "G8: nor does a wait that cannot be shortened at the start; a later one shortens it",
        arguments: TimeRow.allCases
    )
    func shortened(row: TimeRow) async throws {
        let fixture = try await StoreFixture()
        let rules = row.rules
        for name in ["a", "b"] as [QueueName] {
            try await fixture.store.add("in \(name)", in: name)
            try await fixture.store.settle(
                fixture.store.take(by: rules, name),
                .retry(after: .seconds(60), error: "e")
            )
        }
        fixture.clock.jumpWall(by: .seconds(-3_600))
        try fixture.execute(Self.plant(row.event, when: "old.\(row.key) = 1"))
        let again = try await fixture.reopened()
        again.clock.advance(by: .seconds(60))
        #expect(try await again.store.take(by: rules, "b").text == "in b")
        try again.execute("DROP TRIGGER planted")
        let mended = try await again.reopened()
        mended.clock.advance(by: .seconds(59))
        #expect(try await mended.store.drain(by: rules, "a").isEmpty)
        mended.clock.advance(by: .seconds(1))
        #expect(try await mended.store.drain(by: rules, "a") == ["in a"])
    }

    @Test("A queue that is parked for what did not decode, and cannot be lifted at the start, stays so")
    func undecodable() async throws {
        let fixture = try await StoreFixture()
        for name in ["a", "b"] as [QueueName] { try await fixture.store.add("in \(name)", in: name) }
        try fixture.execute(
            """
            UPDATE sluice_queue_rows SET blocked_by = 'undecodable', blocked_action_id = 1, blocked_at_us = 0;
            \(Self.plant("UPDATE ON sluice_queue_rows", when: "old.name = 'a'"));
            """
        )
        let again = try await fixture.reopened()
        #expect(try await again.store.claim("a").word == "parked")
        #expect(try await again.store.take("b").text == "in b")
        try again.execute("DROP TRIGGER planted")
        try await again.store.liftUndecodable()
        #expect(try await again.store.take("a").text == "in a")
    }
}
