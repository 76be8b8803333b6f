import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What a discipline's rule says of single cases", .watched)
struct DisciplineRuleTests {
    private func rules(_ discipline: QueueDiscipline) -> QueueRules { QueueRules(discipline: discipline) }

    private func texts(_ store: Store, by discipline: QueueDiscipline) async throws -> [String] {
        var texts: [String] = []
        while true {
            switch try await store.claim(by: rules(discipline)) {
            case .claimed(let action):
                texts.append(action.text)
                try await store.settle(action, .success)
            case .unfinished: continue
            default: return texts
            }
        }
    }

    private func take(_ store: Store, by discipline: QueueDiscipline) async throws -> ClaimedAction {
        let result = try await store.claim(by: rules(discipline))
        guard case .claimed(let action) = result else { throw Unexpected(description: "\(result)") }
        return action
    }

    @Test("Last in, first out: the last of what arrived, in memory, in the file and across both")
    func lastFirst() async throws {
        let fixture = try await StoreFixture()
        for number in 0..<23 { try await fixture.store.add("\(number)") }
        #expect(try await texts(fixture.store, by: .lastInFirstOut) == (0..<23).reversed().map { "\($0)" })
        #expect(try fixture.row("SELECT count(*) FROM sluice_action_rows") == "0")
    }

    @Test("Last in, first out: the largest sort key first, and an arrival while one runs comes next")
    func lastByKey() async throws {
        let fixture = try await StoreFixture()
        for key in [3, 1, 2] as [Int64] { try await fixture.store.add("\(key)", by: .integer(key)) }
        let running = try await take(fixture.store, by: .lastInFirstOut)
        #expect(running.text == "3")
        try await fixture.store.add("4", by: .integer(4))
        #expect(try await fixture.store.claim(by: rules(.lastInFirstOut)).word == "taken")
        try await fixture.store.settle(running, .success)
        #expect(try await texts(fixture.store, by: .lastInFirstOut) == ["4", "2", "1"])
    }

    @Test("Last in, first out: what was moved to the front starts before later arrivals")
    func movedToFront() async throws {
        let fixture = try await StoreFixture()
        let ids = try await fixture.store.add(["1", "2", "3"].map { ActionDraft($0) })
        // Queues have their discipline from the process that has run them.
        let newest = try await take(fixture.store, by: .lastInFirstOut)
        try await fixture.store.settle(newest, .release(after: .zero))
        #expect(try await fixture.store.moveToFront(ids[0]) == .done)
        try await fixture.store.add("4")
        #expect(try await texts(fixture.store, by: .lastInFirstOut) == ["1", "4", "3", "2"])
    }

    @Test("A waiting retry yields to newer ones, and has its place again when it is due")
    func yields() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("old")
        try await fixture.store.add("new")
        let new = try await take(fixture.store, by: .lastInFirstOut)
        try await fixture.store.settle(new, .retry(after: .seconds(5), error: "e"))
        #expect(fixture.commits.elements.last { $0.dueAt != nil }?.dueAt == fixture.clock.now + .seconds(5))
        try await fixture.store.add("newer")
        let newer = try await take(fixture.store, by: .lastInFirstOut)
        #expect(newer.text == "newer")
        try await fixture.store.settle(newer, .success)
        fixture.clock.advance(by: .seconds(5))
        #expect(try await fixture.store.admitScheduled() == nil)
        #expect(try await texts(fixture.store, by: .lastInFirstOut) == ["new", "old"])
    }

    @Test("G8: what stands aside is due over a restart, and after a wall clock that was set back")
    func asideOverRestart() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("a")
        let action = try await take(fixture.store, by: .concurrent(2))
        try await fixture.store.settle(action, .retry(after: .seconds(5), error: "e"))
        fixture.clock.jumpWall(by: .seconds(-3_600))
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.admitScheduled() == fixture.clock.now + .seconds(5))
        #expect(try await fixture.store.claim(by: rules(.concurrent(2))).word == "empty")
        // And once more while it runs.
        fixture.clock.jumpWall(by: .seconds(-3_600))
        #expect(try await fixture.store.admitScheduled() == fixture.clock.now + .seconds(5))
        fixture.clock.advance(by: .seconds(5))
        #expect(try await fixture.store.admitScheduled() == nil)
        #expect(try await texts(fixture.store, by: .concurrent(2)) == ["a"])
    }

    @Test("G8: what stands aside is due in time if the clock was set back while the file was not open")
    func asideOverReopening() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        let action = try await take(fixture.store, by: .concurrent(2))
        try await fixture.store.settle(action, .retry(after: .seconds(5), error: "e"))
        #expect(try await fixture.store.admitScheduled() == fixture.clock.now + .seconds(5))
        await fixture.store.suspend()
        fixture.clock.jumpWall(by: .seconds(-3_600))
        try await fixture.store.resume()
        #expect(try await fixture.store.admitScheduled() == fixture.clock.now + .seconds(5))
        fixture.clock.advance(by: .seconds(5))
        #expect(try await fixture.store.admitScheduled() == nil)
        #expect(try await texts(fixture.store, by: .concurrent(2)) == ["a"])
    }

    @Test("G8: so is what another process has deferred meanwhile, by a clock that was ahead until then")
    func asideOfAnother() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        #expect(try await first.store.admitScheduled() == nil)
        await first.store.suspend()
        clock.jumpWall(by: .seconds(3_600))
        let other = try await StoreFixture.process(2, on: file, clock: clock)
        try await other.store.add("a")
        let action = try await take(other.store, by: .concurrent(2))
        try await other.store.settle(action, .retry(after: .seconds(5), error: "e"))
        await other.store.close()
        clock.jumpWall(by: .seconds(-3_600))
        try await first.store.resume()
        #expect(try await first.store.admitScheduled() == clock.now + .seconds(5))
    }

    @Test("A thousand that wait cost a claim no look: they are out of the order")
    func noScan() async throws {
        let fixture = try await StoreFixture(adjust: { $0.file.writeBehind = WriteBehindLimits() })
        let store = fixture.store
        try await store.add((0..<300).map { ActionDraft("\($0)") })
        for _ in 0..<300 {
            let action = try await take(store, by: .concurrent(1))
            try await store.settle(action, .retry(after: .seconds(60), error: "e"))
        }
        // A claim passes by what memory still names; the next has nothing to look at.
        #expect(try await store.claim(by: rules(.concurrent(1))).word == "empty")
        let order = try await store.write(sync: .later) { transaction in
            try transaction.core.order.head(
                of: transaction.core.knownQueue(named: "q")?.id ?? 0,
                by: .concurrent(1)
            )
        }
        #expect(order == nil)
        try await store.add("new")
        #expect(try await take(store, by: .concurrent(1)).text == "new")
    }

    @Test("G3: concurrent starts as many as it has slots, in their order, and no more")
    func slots() async throws {
        let fixture = try await StoreFixture()
        for number in 0..<6 { try await fixture.store.add("\(number)") }
        var running: [ClaimedAction] = []
        for _ in 0..<3 { running.append(try await take(fixture.store, by: .concurrent(3))) }
        #expect(running.map(\.text) == ["0", "1", "2"])
        #expect(running.map(\.room) == [.more, .more, .full])
        #expect(running.map(\.receipt.slot) == [0, 1, 2])
        #expect(try await fixture.store.claim(by: rules(.concurrent(3))).word == "taken")
        try await fixture.store.settle(running[1], .success)
        let next = try await take(fixture.store, by: .concurrent(3))
        #expect(next.text == "3" && next.receipt.slot == 1)
        #expect(try fixture.row("SELECT state || ' ' || depth FROM sluice_queues") != "nothing")
        #expect(try fixture.row("SELECT count(*) FROM sluice_queues") == "1")
        let facts = try await fixture.store.queueFacts()
        #expect(facts.count == 1 && facts.first?.head == running[0].receipt.action)
    }

    @Test("G3: several processes take slots of one queue, together no more than there are")
    func slotsOfProcesses() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock)
        let second = try await StoreFixture.process(2, on: file, clock: clock)
        for number in 0..<4 { try await first.store.add("\(number)") }
        let a = try await take(first.store, by: .concurrent(2))
        let b = try await take(second.store, by: .concurrent(2))
        #expect([a.text, b.text] == ["0", "1"])
        #expect(try await first.store.claim(by: rules(.concurrent(2))).word == "takenElsewhere")
        // Who enqueues tells the others, though actions of the queue run: slots may be left.
        try await second.store.settle(b, .stop)
        let c = try await take(first.store, by: .concurrent(2))
        #expect(c.text == "1")
        try await first.store.settle(a, .success)
        try await second.store.add("4")
        #expect(try first.row("SELECT count(*) FROM sluice_changes WHERE change = 'wake'") != "0")
    }

    @Test("G4: the first failure parks the queue; what ran beside it is tried again with it")
    func parkedBeside() async throws {
        let fixture = try await StoreFixture()
        for text in ["a", "b", "c"] { try await fixture.store.add(text) }
        let a = try await take(fixture.store, by: .concurrent(2))
        let b = try await take(fixture.store, by: .concurrent(2))
        try await fixture.store.settle(b, .fail(.failed, .block, error: "of b"))
        try await fixture.store.settle(a, .fail(.failed, .block, error: "of a"))
        #expect(try fixture.row("SELECT blocked_error FROM sluice_queue_rows") == "of b")
        #expect(try await fixture.store.claim(by: rules(.concurrent(2))).word == "parked")
        _ = try await fixture.store.retryNow(.exact("q"))
        #expect(try await texts(fixture.store, by: .concurrent(2)) == ["a", "b", "c"])
    }

    @Test("A queue that fails as a whole leaves what runs beside the failed one, and ends what waits")
    func failingBeside() async throws {
        let fixture = try await StoreFixture()
        // More than one transaction sets aside.
        let count = 2 * Failures.failBatchSize
        try await fixture.store.add((0..<count + 3).map { ActionDraft("\($0)") })
        let a = try await take(fixture.store, by: .concurrent(3))
        let b = try await take(fixture.store, by: .concurrent(3))
        let c = try await take(fixture.store, by: .concurrent(3))
        try await fixture.store.settle(a, .fail(.failed, .failQueue, error: "e"))
        // Were it parked now, the failing would never end.
        try await fixture.store.settle(b, .fail(.failed, .block, error: "e"))
        #expect(try await fixture.store.settle(c, .success).result == .settled)
        #expect(try await texts(fixture.store, by: .concurrent(3)) == ["1"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_dead_rows") == "\(count + 1)")
        #expect(try fixture.row("SELECT count(*) FROM sluice_queue_rows WHERE blocked_by IS NULL") == "1")
    }

    @Test("What ran when its queue failed as a whole is not set aside, though its process dies meanwhile")
    func failingBesideDeath() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add((0..<Failures.failBatchSize + 3).map { ActionDraft("\($0)") })
        let a = try await take(fixture.store, by: .concurrent(2))
        _ = try await take(fixture.store, by: .concurrent(2))
        try await fixture.store.settle(a, .fail(.failed, .failQueue, error: "e"))
        #expect(try fixture.row("SELECT blocked_by FROM sluice_queue_rows") == "failing")
        fixture = try await fixture.reopened()
        #expect(try await texts(fixture.store, by: .concurrent(2)) == ["1"])
    }

    @Test("A moved, rescheduled or edited action that stands aside does not stay out of the order")
    func touchedAside() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        var ids: [ActionID] = []
        for text in ["a", "b", "c"] {
            ids.append(try await store.add(text))
            let action = try await take(store, by: .concurrent(5))
            try await store.settle(action, .retry(after: .seconds(60), error: "e"))
        }
        #expect(try fixture.rows("SELECT not_before FROM sluice_actions") == ["NULL", "NULL", "NULL"])
        #expect(try fixture.row("SELECT count(next_attempt_at) FROM sluice_actions") == "3")
        try fixture.execute("UPDATE sluice_actions SET next_attempt_at = NULL WHERE id = \(ids[0])")
        #expect(try await take(store, by: .concurrent(5)).text == "a")
        // Put in front, it still waits: it stands aside again, for as long as it had to.
        #expect(try await store.moveToFront(ids[1]) == .done)
        #expect(try await store.claim(by: rules(.concurrent(5))).word == "empty")
        #expect(try await store.retryNow(.exact("q")) == 1)
        #expect(try await take(store, by: .concurrent(5)).text == "b")
        #expect(try await take(store, by: .concurrent(5)).text == "c")
        #expect(try await store.cancel(ids[2]) == .deferred)
    }

    @Test("Its own gate holds up nobody else, and opening it puts the action back")
    func ownGate() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add([ActionDraft("gated", extras: DraftExtras(gate: "account")), ActionDraft("free")])
        #expect(try await texts(store, by: .lastInFirstOut) == ["free"])
        #expect(try fixture.row("SELECT state FROM sluice_queues") == "gate")
        #expect(try await store.admitScheduled() == nil)
        try await store.setGate("account", isOpen: true, isPersistent: false, spread: .zero)
        #expect(fixture.commits.elements.last?.dueAt == fixture.clock.now)
        #expect(try await store.admitScheduled() == nil)
        #expect(try await texts(store, by: .lastInFirstOut) == ["gated"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_deferred_rows") == "0")
    }

    @Test("Each rule is that of the most specific pattern that says it; options of a pattern are set once")
    func patterns() async throws {
        let broker = try await Site(.memory).broker()
        try broker.configure("a/*", QueueOptions(discipline: .lastInFirstOut, start: .batch()))
        try broker.configure("a/b", QueueOptions(discipline: .concurrent(2)))
        let rules = broker.fileEngine.routes.admission.queues
        #expect(rules.rules(of: "a/x") == QueueRules(discipline: .lastInFirstOut, start: .batch()))
        #expect(rules.rules(of: "a/b") == QueueRules(discipline: .concurrent(2), start: .batch()))
        #expect(rules.rules(of: "c") == .plain)
        #expect(
            await refusal { try broker.configure("a/*", QueueOptions(discipline: .passOver)) }
                == .duplicateQueueOptions
        )
        #expect(broker.fileEngine.routes.admission.queues.rules(of: "a/x").discipline == .lastInFirstOut)
        #expect(
            await refusal { try broker.configure("b", QueueOptions(discipline: .concurrent(0))) }
                == .invalidOptions
        )
        let none = QueueOptions(start: .batch(count: 0))
        #expect(await refusal { try broker.configure("b", none) } == .invalidOptions)
        await broker.close()
    }
}
