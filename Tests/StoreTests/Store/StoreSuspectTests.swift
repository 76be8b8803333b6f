import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Deaths of the process, and who runs the queues", .watched)
struct StoreSuspectTests {
    /// What speaks against the first action of a queue.
    private func head(
        _ fixture: StoreFixture,
        _ queue: QueueName
    ) async throws -> (isSuspect: Bool, crashes: Int, suspicion: Int) {
        let found = try fixture.row(
            """
            SELECT coalesce(s.is_suspect, 0) || ' ' || coalesce(s.crashes, 0)
                   || ' ' || coalesce(s.suspicion, 0)
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q USING (queue_id)
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE q.name = '\(queue)' ORDER BY a.sort_key, a.id LIMIT 1
            """
        )
        let numbers = found.split(separator: " ").compactMap { Int($0) }
        try #require(numbers.count == 3)
        return (numbers[0] == 1, numbers[1], numbers[2])
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

    @Test(
        "G7: a death among several that are tried costs no attempt, and makes them more suspect"
    )
    func deathsTogether() async throws {
        var fixture = try await StoreFixture()
        let queues: [QueueName] = ["a", "b", "c", "d"]
        for queue in queues { try await fixture.store.add("x", in: "\(queue)") }
        for queue in queues { _ = try await fixture.store.take(queue) }
        fixture = try await fixture.reopened()
        let suspects = try await fixture.store.suspects()
        #expect(suspects.map(\.level) == [0, 0, 0, 0])
        // Two are tried and die with it; one was tried before, and lives; one has not come to it.
        for queue in ["a", "b"] as [QueueName] {
            _ = try await fixture.store.claim(queue, trial: .tries(size: 2))
        }
        guard
            case .claimed(let survivor) = try await fixture.store.claim("c", trial: .tries(size: 1))
        else {
            Issue.record("the suspect was not claimed")
            return
        }
        try await fixture.store.survived([survivor.receipt.claim])
        fixture = try await fixture.reopened()
        var heads: [(isSuspect: Bool, crashes: Int, suspicion: Int)] = []
        for queue in queues { heads.append(try await head(fixture, queue)) }
        #expect(heads.map(\.suspicion) == [1, 1, -1, 0])
        #expect(heads.map(\.crashes) == [0, 0, 0, 0])
        #expect(heads.map(\.isSuspect) == [true, true, true, true])
        #expect(try await fixture.store.take("a").number == 1)
    }

    @Test("G9: a suspect that is parked is not tried, so that no look at another's end waits for it")
    func parked() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("poison", in: "a")
        _ = try await fixture.store.take("a")
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.suspects().count == 1)
        try fixture.execute(
            "UPDATE sluice_queue_rows SET blocked_by = 'crashed', blocked_action_id = 1, blocked_at_us = 0"
        )
        #expect(try await fixture.store.suspects().isEmpty)
        try fixture.execute(
            "UPDATE sluice_queue_rows SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL"
        )
        #expect(try await fixture.store.suspects().count == 1)
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

    @Test("G6: a process that was taken for dead settles nothing, claims nothing, and begins anew")
    func takenOff() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        let old = try await store.take()
        // What a process does that takes this one off.
        try fixture.execute(
            """
            UPDATE sluice_counters SET value = value + 1 WHERE name = 'epoch';
            DELETE FROM sluice_runner_rows;
            INSERT INTO sluice_runner_rows VALUES (2, 1, '', 0, 9000000000000000000, NULL, '{}');
            DELETE FROM sluice_claim_rows;
            """
        )
        #expect(try await store.settle(old, .success).result == .stale)
        #expect(fixture.commits.elements.last?.runnerChanges == .takenOff)
        #expect(try await store.claim().word == "taken")
        // It may still enqueue, and tells the other process.
        try await store.add("b")
        #expect(try fixture.rows("SELECT epoch || change FROM sluice_changes") == ["2wake"])
        try await store.renewLease()
        #expect(fixture.commits.elements.last?.runnerChanges == .look)
        #expect(try await store.take().receipt.claim >> 32 == 3)
        #expect(try await store.settle(old, .success).result == .stale)
        #expect(try fixture.rows("SELECT change FROM sluice_changes") == ["wake", "runner"])
        try await store.stopRunning()
        #expect(try fixture.rows("SELECT pid FROM sluice_runner_rows") == ["1"])
        // A renewal that comes behind the stop renews nothing.
        try await store.renewLease()
        #expect(try fixture.rows("SELECT pid FROM sluice_runner_rows") == ["1"])
    }

    @Test("Nobody is told of changes by the process that runs the queues itself, after a takeover too")
    func tellsNobody() async throws {
        let fixture = try await StoreFixture().reopened()
        try await fixture.store.add("a")
        #expect(try fixture.row("SELECT count(*) FROM sluice_changes") == "0")
    }

    @Test("The right to run the queues is renewed, and over when the lease is")
    func lease() async throws {
        let fixture = try await StoreFixture()
        func lease(_ seconds: Int64) -> String {
            "\(fixture.clock.wallMicroseconds + seconds * 1_000_000)"
        }
        try fixture.execute(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            VALUES (7, 1, '', 0, \(lease(30)))
            """
        )
        for seconds in [10, 10, 9] {
            fixture.clock.advance(by: .seconds(seconds))
            try await fixture.store.renewLease()
        }
        #expect(
            try fixture.rows("SELECT lease_until_us FROM sluice_runner_rows ORDER BY epoch")
                == [lease(30), lease(1)]
        )
        fixture.clock.advance(by: .seconds(1))
        try await fixture.store.takeOffDead()
        #expect(try fixture.rows("SELECT lease_until_us FROM sluice_runner_rows") == [lease(29)])
    }

    #if os(Linux)
    @Test("G3: what a process claimed that lives is its own; of one that has died it is suspect at once")
    func deaths() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("a")
        let mark = ProcessIdentity.current.mark.split(separator: " ").map(String.init)
        let parent = try ProcessIdentityTests.mark(of: getppid(), like: mark)
        let values = "7, \(getppid()), '\(parent)', 0, \(fixture.clock.wallMicroseconds + 1)"
        try fixture.execute(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us) VALUES (\(values));
            INSERT INTO sluice_claim_rows VALUES (1, 0, 1, 7 << 32, 0, 0, 0, 1);
            """
        )
        try await fixture.store.startRunning()
        try await fixture.store.takeOffDead()
        #expect(try await fixture.store.claim().word == "takenElsewhere")
        try fixture.execute("UPDATE sluice_runner_rows SET process = process || '0' WHERE epoch = 7")
        try await fixture.store.takeOffDead()
        #expect(try await head(fixture, "q").isSuspect)
        #expect(try fixture.rows("SELECT epoch FROM sluice_runner_rows") == ["1"])
    }

    @Test(
        "A gate of a live process that runs no queues is not forgotten by who begins to run them"
    )
    func gateOfTheLiving() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let mark = ProcessIdentity.current.mark.split(separator: " ").map(String.init)
        let parent = try ProcessIdentityTests.mark(of: getppid(), like: mark)
        try fixture.execute(
            """
            INSERT INTO sluice_gate_rows
            VALUES ('of the living', 1, 1, 0, 7, \(getppid()), '\(parent)', NULL, NULL);
            INSERT INTO sluice_gate_rows
            VALUES ('of the dead', 1, 1, 0, 8, \(getppid()), '\(parent)0', NULL, NULL);
            """
        )
        try await fixture.store.startRunning()
        #expect(try await fixture.store.gates().map(\.name) == ["of the living"])
    }

    @Test(
        "G3: a process that lives keeps the right for its lease, whatever the wall clock does meanwhile",
        arguments: ClockJump.allCases
    )
    func leaseOverJumps(_ jump: ClockJump) async throws {
        let fixture = try await StoreFixture(isRunning: false)
        let mark = ProcessIdentity.current.mark.split(separator: " ").map(String.init)
        let parent = try ProcessIdentityTests.mark(of: getppid(), like: mark)
        let uptime = try #require(SystemHost.shared.uptime)
        let ends = "\(fixture.clock.wallMicroseconds + 30_000_000), \((uptime + patience).wholeMicroseconds)"
        try fixture.execute(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us, lease_until_boot_us)
            VALUES (7, \(getppid()), '\(parent)', 0, \(ends))
            """
        )
        fixture.clock.jumpWall(by: jump.duration)
        try await fixture.store.startRunning()
        #expect(try fixture.rows("SELECT epoch FROM sluice_runner_rows") == ["1", "7"])
        // It has been there for long enough to judge.
        for _ in 0..<3 {
            fixture.clock.advance(by: .seconds(10))
            try await fixture.store.renewLease()
        }
        #expect(try fixture.rows("SELECT epoch FROM sluice_runner_rows") == ["1", "7"])
        // Alive, and without a sign of life for as long as its lease.
        try fixture.execute(
            "UPDATE sluice_runner_rows SET lease_until_boot_us = \(uptime.wholeMicroseconds) WHERE epoch = 7"
        )
        try await fixture.store.takeOffDead()
        #expect(try fixture.rows("SELECT epoch FROM sluice_runner_rows") == ["1"])
        let ownEnd = try #require(
            Int64(try fixture.row("SELECT lease_until_boot_us FROM sluice_runner_rows"))
        )
        #expect(ownEnd >= (uptime + LeaseTimes().length).wholeMicroseconds)
        try fixture.execute("UPDATE sluice_runner_rows SET lease_until_boot_us = 0")
        try await fixture.store.renewLease()
        #expect(try fixture.row("SELECT lease_until_boot_us >= \(ownEnd) FROM sluice_runner_rows") == "1")
    }

    #endif

    @Test("G7: a claim under way when a death is found starts no suspect beside others")
    func deathDuringClaim() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let a = try await StoreFixture.process(1, on: file, clock: clock)
        let b = try await StoreFixture.process(2, on: file, clock: clock)
        try await a.store.add([ActionDraft("1"), ActionDraft("2", in: "r")])
        for queue in ["q", "r"] as [QueueName] { _ = try await a.store.take(queue) }
        let (first, second) = (try await b.store.queueID("q"), try await b.store.queueID("r"))
        await a.store.close()
        try b.killRunner(1)
        let known = b.commits.elements.last?.deaths ?? 0
        let found = try await b.store.write(sync: .later) {
            try $0.registry.takeOffDead()
            return try $0.claims.claim(.init(queue: first, trial: .over(deaths: known)), by: Admission())
        }
        #expect(found.word == "awaitsTrial")
        #expect(b.commits.elements.last?.deaths == known + 1)
        for (deaths, word) in [(known, "awaitsTrial"), (known + 1, "claimed")] {
            let request = ClaimRequest(queue: second, trial: .over(deaths: deaths))
            #expect(try await b.store.claim(request, by: Admission()).word == word)
        }
    }
}
