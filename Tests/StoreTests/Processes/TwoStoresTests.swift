import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Two stores of this process on one file, which stand for two processes.
@Suite("Two processes on one file", .watched) struct TwoStoresTests {
    private let file: TemporaryFile
    private let clock = ManualClock()
    private let a: StoreFixture
    private let b: StoreFixture

    init() async throws {
        file = try TemporaryFile()
        a = try await .process(1, on: file, clock: clock)
        b = try await .process(2, on: file, clock: clock)
        // As their brokers do when they begin.
        for store in [a.store, b.store] { _ = try await store.queuesWithWork(.newest(thenLimit: 10)) }
    }

    private var changes: [String] {
        get throws { try a.rows("SELECT epoch || ' ' || change FROM sluice_changes ORDER BY id") }
    }

    @Test("G15: routes whose writing was rolled back are written by the next try")
    func routesAfterRollback() async throws {
        let shown = "SELECT routes FROM sluice_runner_rows WHERE pid = 1"
        let routes: Set = [ShownRoute("mail/*", "note"), ShownRoute("x", nil)]
        await #expect(throws: SluiceError.self) {
            try await a.store.write(sync: .later) { transaction in
                try transaction.registry.show(routes)
                throw TestError("no")
            }
        }
        #expect(try a.rows(shown) == ["{}"])
        try await a.store.showRoutes { routes }
        #expect(try a.rows(shown) == [#"{"mail/*":["note"],"x":null}"#])
    }

    @Test("G3: what one has claimed is taken for the other, until it is settled and nothing else claimed")
    func slot() async throws {
        try await a.store.add([ActionDraft("1"), ActionDraft("2"), ActionDraft("3")])
        let first = try await a.store.take()
        #expect(try await b.store.claim().word == "takenElsewhere")
        let queue = try await a.store.queueID("q")
        let next = ClaimRequest(queue: queue)
        guard case .claimed(let second) = try await a.store.settle(first, .success, then: next).next else {
            throw Unexpected(description: "nothing was claimed")
        }
        #expect(try await b.store.claim().word == "takenElsewhere")
        try await a.store.settle(second, .success)
        let third = try await b.store.take()
        #expect(third.text == "3")
        #expect(try await a.store.claim().word == "takenElsewhere")
        try await b.store.settle(third, .retry(after: .seconds(1), error: "e"))
        #expect(try await a.store.claim().word == "waiting")
        clock.advance(by: .seconds(1))
        #expect(try await a.store.take().number == 2)
    }

    @Test("A queue that the other works through is left to it at once, whatever it has left behind it there")
    func passed() async throws {
        let file = try TemporaryFile()
        let known: (inout BrokerOptions) -> Void = { $0.file.writeBehind.newest = 10_000 }
        let a = try await StoreFixture.process(1, on: file, clock: clock, adjust: known)
        let b = try await StoreFixture.process(2, on: file, clock: clock, adjust: known)
        for store in [a.store, b.store] { _ = try await store.queuesWithWork(.newest(thenLimit: 10)) }
        // More than one claim goes through.
        let count = 2 * Claims.headLimit + 2
        try await a.store.add((1...count).map { ActionDraft("\($0)") })
        try await b.store.readForeignChanges()
        let queue = try await a.store.queueID("q")
        let next = ClaimRequest(queue: queue)
        var running = try await a.store.take()
        for _ in 1..<count {
            guard case .claimed(let following) = try await a.store.settle(running, .success, then: next).next
            else { throw Unexpected(description: "nothing was claimed") }
            running = following
        }
        #expect(try await b.store.claim().word == "takenElsewhere")
        try await a.store.settle(running, .success)
        #expect(try await b.store.finishedClaim("q").word == "empty")
    }

    @Test("G15: a queue that another runs is not shown as without a route here, between two of its runs")
    func routedElsewhere() async throws {
        func block() throws -> String {
            try a.row("SELECT blocked_by FROM sluice_queue_rows")
        }
        try await a.store.add(["1", "2"].map { ActionDraft($0) })
        let first = try await a.store.take()
        #expect(try await b.store.claim().word == "takenElsewhere")
        try await a.store.settle(first, .success)
        #expect(try await b.store.claim(by: .none).word == "unroutable")
        #expect(try block() == "NULL")
        // When nobody has run it for long, that is why it stands.
        clock.advance(by: .seconds(20))
        for fixture in [a, b] { try await fixture.store.renewLease() }
        clock.advance(by: .seconds(10))
        #expect(try await b.store.claim(by: .none).word == "unroutable")
        #expect(try block() == "no route")
        // Who has tried an action has a route for it.
        try await a.store.settle(try await a.store.take(), .retry(after: .zero, error: "e"))
        for fixture in [a, b] { try await fixture.store.renewLease() }
        #expect(try await b.store.claim(by: .forOthers).word == "unroutable")
        #expect(try block() == "NULL")
        // Until it has gone.
        try await a.store.stopRunning()
        try await b.store.renewLease()
        #expect(try await b.store.claim(by: .forOthers).word == "unroutable")
        #expect(try block() == "unknown kind")
    }

    @Test("G15: what one ran that has gone is shown as without a route at once, whoever else is there")
    func routedByNobody() async throws {
        let c = try await StoreFixture.process(3, on: file, clock: clock)
        try await a.store.add(["1", "2"].map { ActionDraft($0) })
        let first = try await a.store.take()
        #expect(try await b.store.claim().word == "takenElsewhere")
        try await a.store.settle(first, .success)
        try await a.store.stopRunning()
        #expect(try await b.store.claim(by: .none).word == "unroutable")
        #expect(try c.row("SELECT blocked_by FROM sluice_queue_rows") == "no route")
    }

    @Test("G6: a receipt of one settles nothing of the other's")
    func receipts() async throws {
        try await a.store.add("1")
        let old = try await a.store.take()
        try await a.store.settle(old, .retry(after: .zero, error: "e"))
        let new = try await b.store.take()
        #expect(try await a.store.settle(old, .success).result == .stale)
        #expect(try await b.store.settle(new, .success).result == .settled)
    }

    @Test("G11: an action for a queue that nobody has wakes the other, by one row for a commit")
    func wakes() async throws {
        try await a.store.add((1...5).map { ActionDraft("\($0)", in: "q/\($0)") })
        #expect(try changes.filter { !$0.hasSuffix("runner") } == ["2 wake"])
        // It finds all of them.
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.last?.queues.count == 5)
        #expect(try changes.isEmpty || changes == ["1 runner"])
        // Nor does what it has taken in go back and forth.
        try await a.store.readForeignChanges()
        try await b.store.readForeignChanges()
        #expect(try changes == [])
    }

    @Test("G11: an action for a queue that the other runs wakes nobody, and is found behind what runs")
    func quiet() async throws {
        try await a.store.readForeignChanges()
        try await b.store.add("1")
        let running = try await b.store.take()
        try await a.store.add("2")
        try await a.store.add([ActionDraft("3", notBefore: clock.now + .seconds(5))])
        #expect(try changes.filter { $0.hasPrefix("2") } == [])
        try await b.store.settle(running, .success)
        #expect(b.commits.elements.last?.queues.count == 1)
        // It is to look when the scheduled one is due.
        #expect(b.commits.elements.last?.hasForeignTimes == true)
        #expect(try await b.store.take().text == "2")
    }

    @Test("What one changes of a single action is told to the other, whoever runs its queue")
    func singleActions() async throws {
        let ids = try await a.store.add([ActionDraft("1"), ActionDraft("2"), ActionDraft("3", in: "r")])
        _ = try await b.store.take()
        #expect(try await a.store.cancel(ids[0]) == .deferred)
        _ = try await a.store.move(ids[2], to: "q")
        _ = try await a.store.setExpiry(ids[1], clock.now + .seconds(60))
        #expect(try changes.filter { $0.hasPrefix("2") } == ["2 cancel", "2 wake", "2 update", "2 update"])
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.last?.foreignChanges.filter(\.endsRun).map(\.action) == [ids[0]])
    }

    @Test("G7: what one ran that died is suspect for the other, and what it was to be told is forgotten")
    func death() async throws {
        try await a.store.add([ActionDraft("1"), ActionDraft("2", in: "r")])
        _ = try await a.store.take()
        let own = try await b.store.take("r")
        try await b.store.add("3", in: "s")
        await a.store.close()
        // Its lease is not over: for all that the other knows, it lives.
        try await b.store.takeOffDead()
        #expect(try await b.store.claim().word == "takenElsewhere")
        try b.killRunner(1)
        try await b.store.takeOffDead()
        #expect(b.commits.elements.last?.runnerChanges == .look)
        #expect(try b.rows("SELECT pid FROM sluice_runner_rows") == ["2"])
        #expect(try b.row("SELECT count(*) FROM sluice_changes") == "0")
        #expect(
            try await b.store.claim(trial: .waits).word == "awaitsTrial"
        )
        // What the other ran itself is none.
        #expect(try await b.store.settle(own, .success).result == .settled)
    }

    @Test("G6: one that gave no sign of life for its lease settles nothing, and begins anew")
    func frozen() async throws {
        try await a.store.add([ActionDraft("1"), ActionDraft("2")])
        let old = try await a.store.take()
        for seconds in [10, 10, 9] {
            clock.advance(by: .seconds(seconds))
            try await b.store.renewLease()
        }
        try await b.store.takeOffDead()
        #expect(try await b.store.claim().word == "takenElsewhere")
        clock.advance(by: .seconds(1))
        try await b.store.takeOffDead()
        let again = try await b.store.take()
        #expect(again.text == "1")
        #expect(try await a.store.settle(old, .fail(.failed, .skip, error: "e")).result == .stale)
        #expect(a.commits.elements.last?.runnerChanges == .takenOff)
        try await a.store.renewLease()
        #expect(try await a.store.claim().word == "takenElsewhere")
        try await b.store.settle(again, .success)
        #expect(try await a.store.take().text == "2")
    }

    @Test(
        "G3: who commits keeps its lease, though its renewals come late; a quick second commit costs nothing"
    )
    func renewsWithCommit() async throws {
        try await a.store.readForeignChanges()
        try await a.store.add([ActionDraft("1")])
        let action = try await a.store.take()
        let lease = "SELECT lease_until_us FROM sluice_runner_rows WHERE pid = 1"
        let first = try a.row(lease)
        clock.advance(by: .seconds(4))
        try await a.store.add("2")
        #expect(try a.row(lease) == first)
        clock.advance(by: .seconds(2))
        try await a.store.add("3")
        #expect(try a.row(lease) == "\((clock.now + .seconds(30)).microseconds)")
        for seconds in [10, 10, 9] {
            clock.advance(by: .seconds(seconds))
            try await b.store.renewLease()
        }
        #expect(try await b.store.claim().word == "takenElsewhere")
        #expect(try await a.store.settle(action, .success).result == .settled)
    }

    /// Why one that looks at the other's lease has not renewed its own for long.
    enum Delay: CaseIterable { case waiting, frozen, committing, beginning }

    @Test(
        "G3: one that could not write either gives the other the time to renew, before it takes it off",
        arguments: Delay.allCases
    )
    func delayed(_ delay: Delay) async throws {
        try await a.store.add([ActionDraft("1")])
        let action = try await a.store.take()
        // No renewal of its own tells how long the lock has been taken.
        let begins = delay == .beginning
        let judge = begins ? try await .process(3, on: file, clock: clock, isRunning: false) : b
        if delay != .waiting { clock.advance(by: .seconds(31)) }
        switch delay {
        case .waiting, .beginning:
            // A third process was frozen in the middle of a commit.
            let shell = try judge.connect()
            try shell.beginImmediate()
            let write = Task {
                if begins { try await judge.store.startRunning() } else { try await judge.store.renewLease() }
            }
            try await until { judge.store.writer.trouble.isWaiting }
            clock.advance(by: begins ? .milliseconds(10) : .seconds(31))
            shell.rollback()
            try await write.value
        case .frozen: try await judge.store.renewLease()
        case .committing: try await judge.store.add("2", in: "r")
        }
        for _ in 0..<2 {
            clock.advance(by: .seconds(10))
            try await judge.store.renewLease()
        }
        clock.advance(by: .seconds(9))
        try await judge.store.takeOffDead()
        #expect(try await judge.store.claim().word == "takenElsewhere")
        clock.advance(by: .seconds(1))
        try await judge.store.takeOffDead()
        #expect(try await a.store.settle(action, .success).result == .stale)
        if begins { await judge.store.close() }
    }

    @Test("One that stops leaves the queues to the other, and says so")
    func stop() async throws {
        try await a.store.readForeignChanges()
        try await b.store.readForeignChanges()
        try await a.store.askOthersToLook()
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.last?.runnerChanges == .look)
        try await a.store.stopRunning()
        #expect(try changes == ["2 runner"])
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.last?.runnerChanges == [.look, .others])
        #expect(!b.store.runners.hasOthers)
        // Nobody is left to be told.
        try await b.store.add("1")
        #expect(try changes == [])
    }

    @Test("A change of those who run the queues that was rolled back with its group is told by the next one")
    func rolledBack() async throws {
        try await b.store.readForeignChanges()
        try await a.store.stopRunning()
        let refused = await refusal {
            try await b.store.write(sync: .later) { _ in throw SluiceError(.storage, "made up") }
        }
        #expect(refused == .storage)
        #expect(b.store.runners.hasOthers)
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.last?.runnerChanges == [.look, .others])
    }

    @Test("A gate for the life of an opening closes when that has ended, and not when another process begins")
    func gates() async throws {
        try await a.store.setGate("kept", isOpen: true, isPersistent: true, spread: .zero)
        try await a.store.setGate("network", isOpen: true, isPersistent: false, spread: .zero)
        let c = try await StoreFixture.process(3, on: file, clock: clock)
        #expect(try await c.store.gates().map(\.isOpen) == [true, true])
        // Its process lives, and has opened the file anew.
        await a.store.close()
        try await b.store.takeOffDead()
        #expect(try await c.store.gates().map(\.isOpen) == [true, true])
        let again = try await StoreFixture.process(1, on: file, clock: clock)
        #expect(try await again.store.gates().map(\.name) == ["kept"])
        try await again.store.setGate("network", isOpen: true, isPersistent: false, spread: .zero)
        await again.store.close()
        try b.killRunner(1)
        try b.execute(
            "UPDATE sluice_gate_rows SET owner_process = 'another start-of-the machine' WHERE owner_pid = 1"
        )
        try await b.store.takeOffDead()
        #expect(try await c.store.gates().map(\.name) == ["kept"])
        await c.store.close()
    }

    @Test("A gate that an opening has set which does not run the queues is its own all the same")
    func gatesOfOthers() async throws {
        let c = try await StoreFixture.process(3, on: file, clock: clock, isRunning: false)
        try await c.store.setGate("network", isOpen: true, isPersistent: false, spread: .zero)
        // Nobody could tell that process dead: it would be open for ever.
        try await a.store.stopRunning()
        try await a.store.startRunning()
        #expect(try await c.store.gates().isEmpty)
        await c.store.close()
    }

    @Test("G2: the order that one writes behind is the other's")
    func writeBehind() async throws {
        for number in 0..<40 {
            let store = number % 2 == 0 ? a.store : b.store
            try await store.add("\(number)", in: "q/\(number % 3)", by: .integer(Int64(100 - number)))
        }
        for queue in 0..<3 {
            var texts: [String] = []
            for turn in 0..<14 where 3 * turn + queue < 40 {
                let store = turn % 2 == 0 ? b.store : a.store
                let action = try await store.take("q/\(queue)")
                texts.append(action.text)
                try await store.settle(action, .success)
            }
            #expect(texts == (0..<40).filter { $0 % 3 == queue }.reversed().map(String.init))
        }
        for fixture in [a, b] { try await fixture.store.stopRunning() }
        #expect(try a.row("SELECT count(*) FROM sluice_order_rows") == "0")
    }

    @Test("G12: who commits much beside another one copies the log, and has that one let its pin go")
    func busy() async throws {
        let file = try TemporaryFile()
        let a = try await StoreFixture.process(1, on: file, clock: clock) { $0.file.hasResetBug = true }
        let b = try await StoreFixture.process(2, on: file, clock: clock) { $0.file.hasResetBug = true }
        try await a.store.readForeignChanges()
        try await b.store.add("1")
        try await a.store.readForeignChanges()
        // What changes nothing does not count.
        for _ in 1...CheckpointLease.busy { try await b.store.readForeignChanges() }
        for _ in 1...CheckpointLease.busy {
            try await a.store.write(sync: .later) { try $0.core.writeBarrier() }
        }
        #expect(try a.row("SELECT group_concat(pid) FROM sluice_checkpointer") == "1")
        #expect(try a.rows("SELECT change FROM sluice_changes") == ["runner"])
        try await b.store.readForeignChanges()
        try await a.store.checkpointPinnedWAL()
        #expect(!a.store.isWALPinned)
    }
}
