import Dispatch
import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What happens to processes that were late, or left without having settled what they ran.
@Suite("Leases that are over", .watched) struct LapsedLeaseTests {
    private let file: TemporaryFile
    private let clock = ManualClock()
    private let a: StoreFixture
    private let b: StoreFixture

    init() async throws {
        file = try TemporaryFile()
        a = try await .process(1, on: file, clock: clock)
        b = try await .process(2, on: file, clock: clock)
    }

    private var runners: [String] {
        get throws { try a.rows("SELECT pid FROM sluice_runner_rows ORDER BY pid") }
    }

    @Test("G3: one that was late itself takes nobody off before all have had a whole lease to renew")
    func lateJudge() async throws {
        // A lock that nobody could get past, or the machine's sleep.
        clock.advance(by: .seconds(40))
        try await b.store.takeOffDead()
        try await b.store.renewLease()
        #expect(try runners == ["1", "2"])
        for seconds in [10, 10, 9] {
            clock.advance(by: .seconds(seconds))
            try await b.store.renewLease()
            #expect(try runners == ["1", "2"])
        }
        clock.advance(by: .seconds(1))
        try await b.store.takeOffDead()
        #expect(try runners == ["2"])
    }

    @Test("G3, G7: before an act the claims of a process that has certainly ended go, and its row stays")
    func ended() async throws {
        let c = try await StoreFixture.process(3, on: file, clock: clock, isRunning: false)
        try await a.store.add("x", in: "q")
        let action = try await a.store.take("q").receipt.action
        let rows = "SELECT epoch || ' ' || pid || ' ' || lease_until_us FROM sluice_runner_rows ORDER BY pid"
        let before = try a.rows(rows)
        // Nobody can tell from its lease whether it has died.
        clock.advance(by: .seconds(60))
        try await c.store.deleteClaimsOfEnded()
        #expect(try a.row("SELECT count(*) FROM sluice_claim_rows") == "1")
        #expect(try await c.store.reschedule(action, notBefore: nil) == .running)
        // The machine has started again since.
        try a.execute(
            "UPDATE sluice_runner_rows SET process = 'another start-of-the machine' WHERE pid = 1"
        )
        try await c.store.deleteClaimsOfEnded()
        #expect(try a.row("SELECT count(*) FROM sluice_claim_rows") == "0")
        #expect(try a.row("SELECT action_id FROM sluice_state_rows WHERE is_suspect = 1") == "\(action)")
        #expect(try a.rows(rows) == before)
        #expect(try await c.store.cancel(action) == .done)
    }

    @Test("G3: one that was stopped keeps its claims after its lease, while the keeper of its commands lives")
    func stopped() {
        let parent = ProcessIdentity.of(Int64(getppid()))
        let over = LeaseEnd(0, nil)
        let later = Timestamp(microseconds: 1)
        func row(_ keeper: ProcessIdentity?) -> RunnerRow {
            RunnerRow(epoch: 1, process: parent, keeper: keeper, nonce: 1, lease: over)
        }
        #expect(row(nil).hasGone(seenFrom: .current, at: later))
        #expect(!row(parent).hasGone(seenFrom: .current, at: later))
        let dead = ProcessIdentity(pid: parent.pid, mark: parent.mark + "0")
        #expect(row(dead).hasGone(seenFrom: .current, at: later))
    }

    @Test("G3: one whose own lease is over, though for it no time has passed, takes nobody off either")
    func sleptThrough() async throws {
        // As the machine's sleep has it: leases run on, and the clock of the process stands.
        clock.jumpWall(by: .seconds(40))
        try await b.store.takeOffDead()
        #expect(try runners == ["1", "2"])
        try await b.store.renewLease()
        clock.advance(by: .seconds(10))
        try await a.store.renewLease()
        try await b.store.takeOffDead()
        #expect(try runners == ["1", "2"])
    }

    @Test("G3: a jump of the wall clock that ends another's lease, and not yet one's own, takes nobody off")
    func jumped() async throws {
        // Long enough that they have begun no more.
        for _ in 0..<4 {
            clock.advance(by: .seconds(10))
            for fixture in [a, b] { try await fixture.store.renewLease() }
        }
        clock.advance(by: .seconds(8))
        try await a.store.renewLease()
        clock.jumpWall(by: .seconds(25))
        try await a.store.takeOffDead()
        #expect(try runners == ["1", "2"])
        clock.advance(by: .seconds(1))
        try await b.store.renewLease()
        try await a.store.renewLease()
        #expect(try runners == ["1", "2"])
    }

    @Test("G3: who was taken off and begins anew is as lenient")
    func lateNewcomer() async throws {
        clock.advance(by: .seconds(15))
        try await b.store.renewLease()
        clock.advance(by: .seconds(15))
        try await b.store.takeOffDead()
        #expect(try runners == ["2"])
        clock.advance(by: .seconds(40))
        try await a.store.readForeignChanges()
        try await a.store.renewLease()
        #expect(try runners == ["1", "2"])
        for _ in 0..<3 {
            #expect(try runners == ["1", "2"])
            clock.advance(by: .seconds(10))
            try await a.store.renewLease()
        }
        #expect(try runners == ["1"])
    }

    @Test("G3: one that begins takes nobody off for silence before all have had a whole lease to renew")
    func newcomer() async throws {
        // Nobody could write, and it comes as soon as one can.
        clock.advance(by: .seconds(40))
        let c = try await StoreFixture.process(3, on: file, clock: clock)
        #expect(try runners == ["1", "2", "3"])
        clock.advance(by: .seconds(1))
        try await a.store.renewLease()
        // What has died it takes off at once.
        try b.execute("UPDATE sluice_runner_rows SET process = 'another start-of-the machine' WHERE pid = 2")
        try await c.store.takeOffDead()
        #expect(try runners == ["1", "3"])
        for _ in 0..<2 {
            clock.advance(by: .seconds(10))
            try await c.store.renewLease()
        }
        clock.advance(by: .seconds(10))
        try await c.store.takeOffDead()
        #expect(try runners == ["3"])
    }

    @Test("G3: Cute: what a process runs that lives is handed out nowhere, though its lease is over")
    func silent() async throws {
        for store in [a.store, b.store] { try await store.stopRunning() }
        let me = ProcessIdentity.current
        let runner = try await StoreFixture(file: file, clock: clock, adjust: { $0.file.sharesFile = true })
        let taker = try await StoreFixture(
            file: file,
            clock: clock,
            isRunning: false,
            adjust: {
                $0.file.identity = ProcessIdentity(pid: me.pid + 1, mark: me.mark)
                $0.file.sharesFile = true
            }
        )
        let ids = try await taker.store.add(["1", "2"].map { ActionDraft($0) })
        _ = try await runner.store.take()
        // It could not write for so long.
        try b.execute("UPDATE sluice_runner_rows SET lease_until_us = 0, lease_until_boot_us = NULL")
        let next: @Sendable (StoredAction) -> Result<ActionID, SluiceError> = { .success($0.id) }
        let waiting = try await taker.store.takeNext(of: "q", limit: 2, next)
        #expect(waiting.outputs == [ids[1]])
        // Of which nobody knows whether it lives.
        try b.execute("UPDATE sluice_runner_rows SET process = ''")
        let left = try await taker.store.takeNext(of: "q", limit: 2, next)
        #expect(left.outputs == [ids[0]])
    }

    @Test("G3: Cute: who commits lives though its renewals wait: what it runs is handed out nowhere")
    func committing() async throws {
        // Nobody else runs the queues.
        try await b.store.stopRunning()
        let ids = try await a.store.add(["1", "2"].map { ActionDraft($0) })
        let running = try await a.store.take()
        for _ in 0..<6 {
            clock.advance(by: .seconds(9))
            try await a.store.add("other", in: "other")
        }
        let taken = try await b.store.takeNext(of: "q", limit: 10) { .success($0.id) }
        #expect(taken.outputs == [ids[1]])
        #expect(try await a.store.settle(running, .success).result == .settled)
        // What changes nothing is not made a write for that.
        let leases = "SELECT lease_until_us FROM sluice_runner_rows"
        let before = try a.row(leases)
        clock.advance(by: .seconds(9))
        try await a.store.write(sync: .later) { _ in }
        #expect(try a.row(leases) == before)
    }

    @Test("G7: a lease that is over is no death: what ran alone under it has lost no attempt")
    func noDeath() async throws {
        try await a.store.add("1")
        _ = try await a.store.take()
        try b.execute("UPDATE sluice_claim_rows SET trial_size = 1")
        clock.advance(by: .seconds(15))
        try await b.store.renewLease()
        clock.advance(by: .seconds(15))
        try await b.store.takeOffDead()
        let again = try await b.store.take()
        #expect(again.number == 1)
        #expect(try b.rows("SELECT crashes || ' ' || attempts FROM sluice_state_rows") == ["0 0"])
    }

    @Test("G11: what a process could not settle before it stopped is left to the others")
    func unsettled() async throws {
        try await a.store.add("1")
        _ = try await a.store.take()
        try await a.store.stopRunning()
        try await b.store.readForeignChanges()
        #expect(b.commits.elements.last?.runnerChanges.contains(.look) == true)
        let again = try await b.store.take()
        #expect(again.text == "1" && again.number == 1)
        #expect(try b.rows("SELECT is_suspect FROM sluice_state_rows") == ["1"])
    }

    @Test("G11: one that is suspended has the other look for what waits, and waits for no lock for that")
    func suspension() async throws {
        let looks = "SELECT count(*) FROM sluice_changes WHERE epoch = 2 AND change = 'look'"
        try await a.store.readForeignChanges()
        await a.store.suspend()
        #expect(try b.row(looks) == "1")
        try await a.store.resume()
        try await a.store.readForeignChanges()
        let shell = try b.connect()
        try shell.beginImmediate()
        await a.store.suspend()
        shell.rollback()
        #expect(try b.row(looks) == "1")
        try await a.store.resume()
        try await a.store.add("1")
    }

    @Test("G4: one that was taken off knows the holds that came meanwhile when it begins anew")
    func holds() async throws {
        try await a.store.add("1")
        #expect(try await a.store.holds().isEmpty)
        _ = try await a.store.write(sync: .later) { try $0.core.controls() }
        clock.advance(by: .seconds(15))
        try await b.store.renewLease()
        clock.advance(by: .seconds(15))
        try await b.store.takeOffDead()
        try a.execute("INSERT INTO sluice_holds (scope, reason) VALUES ('*', 'why')")
        try await a.store.readForeignChanges()
        try await a.store.renewLease()
        #expect(try await a.store.write(sync: .later) { try $0.core.controls().holds.count } == 1)
    }

    @Test("G6: an epoch whose numbers are used up is left for another, and no number comes twice")
    func numbers() async throws {
        try await a.store.add([ActionDraft("1"), ActionDraft("2", in: "r")])
        let last = try await a.store.take()
        try await a.store.write(sync: .later) { $0.core.claimCount = Claims.claimLimit }
        #expect(try await a.store.claim("r").word == "taken")
        #expect(a.commits.elements.last?.runnerChanges == .takenOff)
        #expect(try runners == ["2"])
        try await a.store.renewLease()
        let next = try await a.store.take("r")
        #expect(next.receipt.claim >> 32 == 3)
        #expect(try await a.store.settle(last, .success).result == .stale)
    }

    @Test("G11: who was taken off is told by a look at the file, before it commits anything")
    func lookout() async throws {
        try await a.store.readForeignChanges()
        let lookout = try #require(a.store.lookout)
        #expect(try lookout.queue.sync { try lookout.hasForeignChanges() } == false)
        try b.execute("DELETE FROM sluice_runner_rows WHERE pid = 1; DELETE FROM sluice_changes")
        #expect(try lookout.queue.sync { try lookout.hasForeignChanges() } == true)
    }

    @Test("Where nobody runs the queues nothing is logged for the dead")
    func logForTheDead() async throws {
        let other = try await StoreFixture.process(3, on: file, clock: clock, isRunning: false)
        try await other.store.add("1")
        #expect(try a.rows("SELECT count(*) FROM sluice_changes WHERE change = 'wake'") == ["2"])
        try other.killRunner()
        clock.advance(by: .seconds(1))
        try await other.store.add("2", in: "r")
        #expect(try a.rows("SELECT count(*) FROM sluice_changes WHERE change = 'wake'") == ["2"])
    }

    @Test("G11: a gate that opened is told though the group fails that takes it in")
    func openingOfFailedGroup() async throws {
        try a.execute("INSERT INTO sluice_gates (gate, state) VALUES ('g', 'closed')")
        try await a.store.readForeignChanges()
        let before = a.commits.elements.count
        try a.execute("UPDATE sluice_gates SET state = 'open' WHERE gate = 'g'")
        #expect(
            await refusal {
                try await a.store.write(sync: .later) { _ in throw SluiceError(.queueFull, "the group fails")
                }
            } == .queueFull
        )
        try await a.store.readForeignChanges()
        let openings = a.commits.elements.dropFirst(before).flatMap { $0.openings.map(\.gate) }
        #expect(openings == ["g"])
    }
}
