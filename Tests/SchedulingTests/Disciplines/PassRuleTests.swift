import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("When a pass over a queue is repeated, and what groups cost", .watched)
struct PassRuleTests {
    /// A start that waits for an hour, and members that wait for it.
    private func block(_ store: Store, members: Int) async throws -> ActionID {
        let id = try await store.add([ActionDraft("s", extras: .starting("g"))])[0]
        let s = try await store.take(by: .by(.passOver))
        try await store.settle(s, .retry(after: .seconds(3_600), error: "e"))
        try await store.add((0..<members).map { ActionDraft("\($0)", extras: .joining("g")) })
        return id
    }

    /// How many claims it takes until nothing is left to do.
    private func claimsToRest(
        _ limit: Int = 300,
        _ claim: (Int) async throws -> ClaimResult
    ) async throws -> Int {
        for count in 1...limit {
            if case .empty = try await claim(count) { return count }
        }
        return .max
    }

    @Test("Two processes come to rest before members that wait")
    func twoProcesses() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        let second = try await StoreFixture.process(2, on: file, clock: clock)
        _ = try await block(first.store, members: 250)
        let stores = [first.store, second.store]
        // Each of them goes by the members, 100 at a time, three times at most.
        let count = try await claimsToRest { try await stores[$0 % 2].claim(by: .by(.passOver)) }
        #expect(count < 24)
        let rest = try await claimsToRest { try await stores[($0 + count) % 2].claim(by: .by(.passOver)) }
        #expect(rest < 12)
    }

    @Test("A process comes to rest before members that wait, while others commit in tables of their own")
    func foreignCommits() async throws {
        let fixture = try await StoreFixture(adjust: { $0.file.writeBehind = WriteBehindLimits() })
        try fixture.execute("CREATE TABLE app (x)")
        _ = try await block(fixture.store, members: 1_000)
        let count = try await claimsToRest { count in
            if count % 4 == 0 { try fixture.execute("INSERT INTO app VALUES (1)") }
            return try await fixture.store.claim(by: .by(.passOver))
        }
        #expect(count < 40)
    }

    @Test("What comes behind members that wait costs no other pass", arguments: [false, true])
    func noOtherPass(isInFile: Bool) async throws {
        let fixture = try await StoreFixture(adjust: {
            if !isInFile { $0.file.writeBehind = WriteBehindLimits() }
        }
        )
        _ = try await block(fixture.store, members: 1_000)
        _ = try await fixture.store.finishedClaim(by: .by(.passOver))
        for number in 0..<5 {
            try await fixture.store.add("free \(number)")
            let result = try await fixture.store.claim(by: .by(.passOver))
            guard case .claimed(let action) = result else { throw Unexpected(description: "\(result)") }
            try await fixture.store.settle(action, .success)
            #expect(try await fixture.store.claim(by: .by(.passOver)).word == "empty")
        }
    }

    /// What makes a pass that rests worth another one.
    enum Opening: CaseIterable {
        case cancelled, deleted, moved, rescheduled, dead, movedByShell, rescheduledByShell, due
    }

    @Test(
        "Members run once the start of their group is gone, whoever sees to that",
        arguments: Opening.allCases,
        [false, true]
    )
    func opened(_ opening: Opening, byOther: Bool) async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        let second = try await StoreFixture.process(2, on: file, clock: clock)
        let id = try await block(first.store, members: 7)
        #expect(try await first.store.drain(by: .by(.passOver)) == [])
        #expect(try await second.store.drain(by: .by(.passOver)) == [])
        #expect(try await first.store.drain(by: .by(.passOver)) == [])
        let store = byOther ? second.store : first.store
        let later = clock.now + .seconds(86_400)
        switch opening {
        case .cancelled: _ = try await store.cancel(id)
        case .deleted: try first.execute("DELETE FROM sluice_actions WHERE id = \(id)")
        case .moved: _ = try await store.move(id, to: "elsewhere")
        case .rescheduled: _ = try await store.reschedule(id, notBefore: later)
        case .dead:
            try await store.write(sync: .owed) { transaction in
                let queue = try #require(try transaction.core.knownQueue(named: "q")).id
                try transaction.failures.makeDeadLetter(id, of: queue, "skipped", error: "e")
            }
        case .movedByShell:
            try first.execute("UPDATE sluice_actions SET queue = 'elsewhere' WHERE id = \(id)")
        case .rescheduledByShell:
            try first.execute("UPDATE sluice_actions SET not_before = \(later.microseconds) WHERE id = \(id)")
        case .due:
            clock.advance(by: .seconds(3_600))
            for store in [first.store, second.store] { try await store.renewLease() }
            _ = try await store.admitScheduled()
        }
        let expected = (opening == .due ? ["s"] : []) + (0..<7).map { "\($0)" }
        #expect(try await first.store.drain(by: .by(.passOver)) == expected)
    }

    /// Who adds an action.
    enum Enqueuer: CaseIterable { case thisProcess, otherProcess, shell, nobodyRuns }

    @Test("What comes in front of a pass that rests has its turn in the next", arguments: Enqueuer.allCases)
    func arrivesInFront(_ enqueuer: Enqueuer) async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        let second = try await StoreFixture.process(2, on: file, clock: clock)
        let start = ActionDraft("s", by: .integer(5), extras: .starting("g"))
        try await first.store.add([start])
        let s = try await first.store.take(by: .by(.passOver))
        try await first.store.settle(s, .retry(after: .seconds(3_600), error: "e"))
        try await first.store.add([ActionDraft("m", by: .integer(6), extras: .joining("g"))])
        #expect(try await first.store.drain(by: .by(.passOver)) == [])
        switch enqueuer {
        case .thisProcess: try await first.store.add("x", by: .integer(1))
        case .otherProcess: try await second.store.add("x", by: .integer(1))
        case .shell:
            try first.execute(
                "INSERT INTO sluice_actions (queue, kind, payload, sort_key) VALUES ('q', 'note', '\"x\"', 1)"
            )
        case .nobodyRuns:
            try await first.store.stopRunning()
            try await second.store.stopRunning()
            try await first.store.add("x", by: .integer(1))
            try await first.store.startRunning()
        }
        #expect(try await first.store.drain(by: .by(.passOver)) == ["x"])
    }

    @Test("What another process has tried in this pass is tried again in the next")
    func triedElsewhere() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        let second = try await StoreFixture.process(2, on: file, clock: clock)
        _ = try await block(first.store, members: 3)
        #expect(try await first.store.drain(by: .by(.passOver)) == [])
        try await second.store.add("x")
        // This one sees it, and lacks the permit.
        let full = try Admission(concurrency: 0, queues: QueueTable(.by(.passOver)))
        #expect(try await first.store.claim(by: full).word == "lacksPermit")
        let x = try await second.store.take(by: .by(.passOver))
        try await second.store.settle(x, .retry(after: .zero, error: "e"))
        try await second.store.stopRunning()
        #expect(try await first.store.drain(by: .by(.passOver)) == ["x"])
    }

    @Test(
        "A pass does not go back where an action gets an earlier place while it runs",
        arguments: [false, true]
    )
    func neverBack(isReopened: Bool) async throws {
        var fixture = try await StoreFixture()
        for number in 1...3 { try await fixture.store.add("\(number)", by: .integer(Int64(number))) }
        for number in 1...3 {
            let action = try await fixture.store.take(by: .by(.passOver))
            #expect(action.text == "\(number)")
            if number == 3 {
                try fixture.execute(
                    "UPDATE sluice_actions SET sort_key = 0 WHERE id = \(action.receipt.action)"
                )
            }
            try await fixture.store.settle(action, .retry(after: .zero, error: "e"))
        }
        if isReopened { fixture = try await fixture.reopened() }
        #expect(try await fixture.store.drain(by: .by(.passOver)) == ["3", "1", "2"])
    }

    @Test("A group that was closed when its process died is open in the next pass")
    func closedOverDeath() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add([
            ActionDraft("s", extras: .starting("g")), ActionDraft("m", extras: .joining("g")),
            ActionDraft("x"),
        ])
        let s = try await fixture.store.take(by: .by(.passOver))
        try await fixture.store.settle(s, .fail(.failed, .skip, error: "e"))
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.drain(by: .by(.passOver)) == ["x", "m"])
    }

    @Test(
        "A group of one name in two queues is two groups, and goes along with a move",
        arguments: [true, false]
    )
    func groupsOfQueues(byShell: Bool) async throws {
        let fixture = try await StoreFixture()
        let start = try await fixture.store.add([ActionDraft("s", in: "other", extras: .starting("g"))])[0]
        try await fixture.store.add("x")
        try await fixture.store.add([ActionDraft("m", extras: .joining("g"))])
        let x = try await fixture.store.take(by: .by(.passOver))
        try await fixture.store.settle(x, .retry(after: .zero, error: "e"))
        let m = try await fixture.store.take(by: .by(.passOver))
        #expect(m.text == "m")
        try await fixture.store.settle(m, .stop)
        if byShell {
            try fixture.execute("UPDATE sluice_actions SET queue = 'q' WHERE id = \(start)")
        } else {
            _ = try await fixture.store.move(start, to: "q")
        }
        let s = try await fixture.store.take(by: .by(.passOver))
        // It sorts before the mark: first comes what is behind it, and of that nothing may.
        #expect(s.text == "s")
        try await fixture.store.settle(s, .retry(after: .seconds(60), error: "e"))
        #expect(try await fixture.store.drain(by: .by(.passOver)) == ["x"])
    }

    @Test("The start of a group is found among those of its queue and name")
    func groupPlan() async throws {
        let fixture = try await StoreFixture()
        _ = try await block(fixture.store, members: 1)
        let plan = try fixture.connect().prepare(
            """
            EXPLAIN QUERY PLAN SELECT 1 FROM sluice_group_rows AS m
            WHERE m.action_id = 1 AND m.is_start = 0
              AND EXISTS (SELECT 1 FROM sluice_group_rows AS s
                          CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
                          WHERE s.queue_id = 1 AND s.name = m.name AND s.is_start = 1)
            """
        ).all { $0.text(3) }
        #expect(plan.contains { $0.contains("sluice_group_start (queue_id=? AND name=?)") }, "\(plan)")
    }

    @Test("A start that expires closes its group for the pass, whoever notices", arguments: [false, true])
    func expiredStart(bySweep: Bool) async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let start = DraftExtras(
            expiresAt: fixture.clock.now + .seconds(10),
            groups: ActionGroups(started: ["g"])
        )
        try await store.add([
            ActionDraft("a"), ActionDraft("s", extras: start), ActionDraft("m", extras: .joining("g")),
            ActionDraft("x"),
        ])
        let queue = try await store.queueID("q")
        let admission = try Admission(failure: .all(.skip), queues: QueueTable(.by(.passOver)))
        func next() async throws -> ClaimResult {
            try await store.claim(ClaimRequest(queue: queue), by: admission)
        }
        guard case .claimed(let a) = try await next() else { throw Unexpected(description: "no a") }
        fixture.clock.advance(by: .seconds(10))
        if bySweep { _ = try await store.sweep(admission) }
        try await store.settle(a, .success)
        var order: [String] = []
        while case .claimed(let action) = try await next() {
            order.append(action.text)
            try await store.settle(action, .success)
        }
        #expect(order == ["x", "m"])
    }

    @Test("A group that was closed in a pass is open in the next, its dead start purged or not")
    func closedGroup() async throws {
        var fixture = try await StoreFixture()
        let ids = try await fixture.store.add([ActionDraft("s", extras: .starting("g"))])
        let s = try await fixture.store.take(by: .by(.passOver))
        try await fixture.store.settle(s, .fail(.failed, .skip, error: "e"))
        #expect(try await fixture.store.purge(ids[0]))
        fixture = try await fixture.reopened()
        _ = try await fixture.store.finishedClaim(by: .by(.passOver))
        try await fixture.store.add([ActionDraft("m", extras: .joining("g")), ActionDraft("x")])
        #expect(try await fixture.store.drain(by: .by(.passOver)) == ["m", "x"])
    }
}
