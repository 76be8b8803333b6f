import Foundation
import SQLite
import SluiceTestKit
import Testing

@testable import Sluice

@Suite("Deaths of the process, and who runs the queues")
struct StoreSuspectTests {
    /// What a head is known for.
    private func head(_ fixture: StoreFixture, _ queue: QueueName) async throws -> Head {
        let log = EventLog<Head>()
        _ = try await fixture.store.claim(queue) { head in
            log.append(head)
            return .notNow
        }
        return try #require(log.elements.last)
    }

    @Test("G7: what ran when a process died is a suspect and keeps its attempts; what waited is none")
    func suspects() async throws {
        var fixture = try await StoreFixture()
        for queue in ["a", "b", "c"] { try await fixture.store.add(queue, in: "\(queue)") }
        try await fixture.store.settle(try await fixture.store.take("b"), .retry(after: .zero, error: "e"))
        _ = try await fixture.store.take("a")
        _ = try await fixture.store.take("b")
        fixture = try await fixture.reopened()
        #expect(try fixture.row("SELECT count(*) FROM sluice_claim_rows") == "0")
        let heads = [
            try await head(fixture, "a"), try await head(fixture, "b"), try await head(fixture, "c"),
        ]
        #expect(heads.map(\.isSuspect) == [true, true, false])
        #expect(heads.map(\.crashes) == [0, 0, 0])
        #expect(try await fixture.store.take("a").number == 1)
        #expect(try await fixture.store.take("b").number == 2)
    }

    @Test("G7: a death alone is counted, an attempt is spent, and the history tells")
    func deathsAlone() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("poison", in: "a")
        try await fixture.store.add("neighbour", in: "b")
        _ = try await fixture.store.take("a")
        _ = try await fixture.store.take("b")
        for deaths in 0..<3 {
            fixture = try await fixture.reopened()
            #expect(try await head(fixture, "a").crashes == deaths)
            // `take` runs a suspect alone.
            #expect(try await fixture.store.take("a").number == deaths + 1)
        }
        fixture = try await fixture.reopened()
        #expect(try await head(fixture, "a").crashes == 3)
        #expect(try await head(fixture, "b").crashes == 0)
        #expect(try await fixture.store.take("b").number == 1)
        #expect(
            try fixture.rows(
                "SELECT action_id || ' ' || number || ' ' || outcome FROM sluice_attempts ORDER BY number"
            )
                == ["1 1 crashed", "1 2 crashed", "1 3 crashed"]
        )
    }

    static let finished: [Settlement] = [
        .retry(after: .zero, error: "e"), .release(after: .zero), .stop, .fail(.failed, .block, error: "e"),
    ]

    @Test("G7: an attempt that finishes clears suspicion and deaths", arguments: finished)
    func cleared(_ settlement: Settlement) async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("a")
        for _ in 0..<2 {
            _ = try await fixture.store.take()
            fixture = try await fixture.reopened()
        }
        #expect(try await head(fixture, "q").crashes == 1)
        try await fixture.store.settle(try await fixture.store.take(), settlement)
        _ = try await fixture.store.retryNow(.prefix([]))
        let after = try await head(fixture, "q")
        #expect(!after.isSuspect && after.crashes == 0)
    }

    @Test("G7: an action that was removed while it ran leaves nothing behind when the process dies")
    func removedOrphan() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("a")
        _ = try await fixture.store.take()
        fixture = try await fixture.reopened()
        let alone = try await fixture.store.take()
        try fixture.execute("DELETE FROM sluice_actions WHERE id = \(alone.receipt.action)")
        fixture = try await fixture.reopened()
        for table in ["action_rows", "state_rows", "claim_rows", "attempt_rows"] {
            #expect(try fixture.row("SELECT count(*) FROM sluice_\(table)") == "0", "\(table)")
        }
    }

    @Test("G6: the settling of a run that another process has taken over is stale")
    func takenOver() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        let old = try await fixture.store.take()
        // What a process does that takes over.
        try fixture.execute(
            """
            UPDATE sluice_counters SET value = value + 1 WHERE name = 'epoch';
            UPDATE sluice_runner SET epoch = epoch + 1, pid = 1, process = '',
                                     lease_until_us = 9000000000000000000;
            DELETE FROM sluice_claim_rows;
            """
        )
        #expect(try await fixture.store.settle(old, .success).result == .stale)
        #expect(try await fixture.store.claim().word == "taken")
        #expect(await refusal { try await fixture.store.renewLease() } == .runningElsewhere)
        #expect(await refusal { try await fixture.store.startRunning() } == .runningElsewhere)
        // It may still enqueue, and tells the other process.
        try await fixture.store.add("b")
        #expect(try fixture.rows("SELECT change FROM sluice_changes") == ["wake"])
        try await fixture.store.stopRunning()
        #expect(try fixture.row("SELECT pid FROM sluice_runner") == "1")
    }

    @Test("Nobody is told of changes by the process that runs the queues itself, after a takeover too")
    func tellsNobody() async throws {
        let fixture = try await StoreFixture().reopened()
        try await fixture.store.add("a")
        #expect(try fixture.row("SELECT count(*) FROM sluice_changes") == "0")
    }

    @Test("The right to run the queues is renewed, and over when the lease is")
    func lease() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        func lease(_ seconds: Int64) -> String {
            "\(fixture.clock.wallMicroseconds + seconds * 1_000_000)"
        }
        try fixture.execute(
            """
            INSERT INTO sluice_runner (only, epoch, pid, process, lease_until_us)
            VALUES (1, 7, 1, '', \(lease(30)))
            """
        )
        fixture.clock.advance(by: .seconds(29))
        #expect(await refusal { try await fixture.store.startRunning() } == .runningElsewhere)
        fixture.clock.advance(by: .seconds(1))
        try await fixture.store.startRunning()
        #expect(try fixture.row("SELECT lease_until_us FROM sluice_runner") == lease(30))
        fixture.clock.advance(by: .seconds(10))
        try await fixture.store.renewLease()
        #expect(try fixture.row("SELECT lease_until_us FROM sluice_runner") == lease(30))
    }

    #if os(Linux)
    @Test("A process is dead when its machine or itself has begun anew, and never by a foreign pid namespace")
    func identity() throws {
        let me = ProcessIdentity.current
        let mark = me.mark.split(separator: " ").map(String.init)
        try #require(mark.count == 3)
        let parent = try ProcessIdentity(pid: Int64(getppid()), mark: Self.mark(of: getppid(), like: mark))
        func identity(_ pid: Int64, _ boot: String, _ namespace: String, _ start: String) -> ProcessIdentity {
            ProcessIdentity(pid: pid, mark: "\(boot) \(namespace) \(start)")
        }
        #expect(!me.isDead(seenFrom: me))
        #expect(!parent.isDead(seenFrom: me))
        #expect(identity(me.pid, "earlier", mark[1], mark[2]).isDead(seenFrom: me))
        #expect(identity(me.pid, mark[0], mark[1], "1").isDead(seenFrom: me))
        // No process has this number: it is above the largest that Linux allows.
        #expect(identity(1 << 22 + 1, mark[0], mark[1], "1").isDead(seenFrom: me))
        #expect(!identity(me.pid, mark[0], "pid:[1]", "1").isDead(seenFrom: me))
        #expect(!ProcessIdentity(pid: me.pid, mark: "").isDead(seenFrom: me))
        #expect(
            !identity(me.pid, "earlier", mark[1], mark[2]).isDead(seenFrom: ProcessIdentity(pid: 1, mark: ""))
        )
    }

    @Test("While another process lives that runs the queues, nobody else does")
    func runningElsewhere() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let mark = ProcessIdentity.current.mark.split(separator: " ").map(String.init)
        let parent = try Self.mark(of: getppid(), like: mark)
        let values = "1, 7, \(getppid()), '\(parent)', \(fixture.clock.wallMicroseconds + 1)"
        try fixture.execute(
            "INSERT INTO sluice_runner (only, epoch, pid, process, lease_until_us) VALUES (\(values))"
        )
        #expect(await refusal { try await fixture.store.startRunning() } == .runningElsewhere)
        try await fixture.store.add("a")
        #expect(try await fixture.store.claim().word == "taken")
        try fixture.execute("UPDATE sluice_runner SET process = process || '0'")
        try await fixture.store.startRunning()
        #expect(try await fixture.store.take().text == "a")
    }

    @Test(
        "G3: a process that lives keeps the right for its lease, whatever the wall clock does meanwhile",
        arguments: ClockJump.allCases
    )
    func leaseOverJumps(_ jump: ClockJump) async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let mark = ProcessIdentity.current.mark.split(separator: " ").map(String.init)
        let parent = try Self.mark(of: getppid(), like: mark)
        let uptime = try #require(ProcessIdentity.machineUptime)
        let ends = "\(fixture.clock.wallMicroseconds + 30_000_000), \((uptime + patience).wholeMicroseconds)"
        try fixture.execute(
            """
            INSERT INTO sluice_runner (only, epoch, pid, process, lease_until_us, lease_until_boot_us)
            VALUES (1, 7, \(getppid()), '\(parent)', \(ends))
            """
        )
        fixture.clock.jumpWall(by: jump.duration)
        #expect(await refusal { try await fixture.store.startRunning() } == .runningElsewhere)
        // Alive, and without a sign of life for as long as its lease.
        try fixture.execute("UPDATE sluice_runner SET lease_until_boot_us = \(uptime.wholeMicroseconds)")
        try await fixture.store.startRunning()
        let ownEnd = try #require(Int64(try fixture.row("SELECT lease_until_boot_us FROM sluice_runner")))
        #expect(ownEnd >= (uptime + Store.leaseLength).wholeMicroseconds)
        try fixture.execute("UPDATE sluice_runner SET lease_until_boot_us = 0")
        try await fixture.store.renewLease()
        #expect(try fixture.row("SELECT lease_until_boot_us >= \(ownEnd) FROM sluice_runner") == "1")
    }

    /// The identity of a process as the library writes it.
    private static func mark(of pid: pid_t, like mark: [String]) throws -> String {
        let status = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let name = try #require(status.lastIndex(of: ")"))
        return "\(mark[0]) \(mark[1]) \(status[name...].split(separator: " ")[20])"
    }
    #endif
}
