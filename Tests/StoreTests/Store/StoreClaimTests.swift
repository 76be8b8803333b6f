import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Claims and settlements", .watched)
struct StoreClaimTests {
    @Test("G7: a claim is in the file before its action is handed out")
    func written() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("a")
        let action = try await fixture.store.take()
        let (queue, claim) = (action.receipt.queue.rawValue, action.receipt.claim)
        #expect(
            try fixture.rows(
                "SELECT queue_id || ' ' || slot || ' ' || action_id || ' ' || claim FROM sluice_claim_rows"
            )
                == ["\(queue) 0 \(id) \(claim)"]
        )
        #expect(action.number == 1)
        #expect(action.lastError == nil)
    }

    @Test("G7: a claim is handed out behind its commit")
    func behindCommit() async throws {
        let log = EventLog<String>()
        let fixture = try await StoreFixture(onCommit: { _ in log.append("committed") })
        try await fixture.store.add("a")
        let before = log.elements.count
        let queue = try await fixture.store.queueID("q")
        let request = ClaimRequest(queue: queue)
        fixture.store.claim([request], by: Admission()) { _ in log.append("handed out") }
        let told = try await log.wait(forCount: before + 2)
        #expect(told[before...] == ["committed", "handed out"])
    }

    @Test("A head that is marked as cancelled and does not run goes, and the next one runs")
    func markedHead() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("a")
        try await fixture.store.add("b")
        try fixture.execute("INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (\(id), 1)")
        #expect(try await fixture.store.take().text == "b")
        #expect(try await fixture.store.actionCount() == 1)
    }

    @Test("G3: a queue whose slot is taken gives nothing, whatever arrives before the running action")
    func taken() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("b", by: .integer(2))
        let running = try await fixture.store.take()
        try await fixture.store.add("a", by: .integer(1))
        #expect(try await fixture.store.claim().word == "taken")
        // Not even when the running action has been removed.
        try fixture.execute("DELETE FROM sluice_actions WHERE id = \(running.receipt.action)")
        #expect(try await fixture.store.claim().word == "taken")
        #expect(try await fixture.store.settle(running, .success).result == .removed)
        #expect(try await fixture.store.take().text == "a")
    }

    @Test("A store that does not run the queues claims nothing")
    func withoutRunning() async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("a")
        #expect(try await fixture.store.claim().word == "taken")
        try await fixture.store.startRunning()
        #expect(try await fixture.store.take().text == "a")
        try await fixture.store.stopRunning()
        #expect(try fixture.row("SELECT count(*) FROM sluice_runner_rows") == "0")
    }

    @Test("G6, G7: claim numbers never come again: over release, retry, stop, requeue, rollback and restart")
    func claimNumbers() async throws {
        var fixture = try await StoreFixture()
        var claims: [Int64] = []
        var stale: [ClaimedAction] = []
        try await fixture.store.add("a")
        let settlements: [Settlement] = [
            .release(after: .zero), .retry(after: .zero, error: "e"), .stop,
            .fail(.failed, .skip, error: "e"),
            .fail(.exhausted, .block, error: "e"), .retry(after: .zero, error: "e"),
        ]
        for round in 0..<3 {
            for settlement in settlements {
                let action = try await fixture.store.take()
                claims.append(action.receipt.claim)
                stale.append(action)
                try await fixture.store.settle(action, settlement)
                _ = try await fixture.store.requeue(action.receipt.action)
                _ = try await fixture.store.retryNow(.prefix([]))
            }
            // A claim whose transaction is rolled back.
            let queue = try await fixture.store.queueID("q")
            _ = await refusal {
                try await fixture.store.write(sync: .later) { transaction in
                    _ = try transaction.claims.claim(ClaimRequest(queue: queue), by: Admission())
                    throw SluiceError(.storage, "made up")
                }
            }
            if round == 1 { try await fixture.store.stopRunning() }
            fixture = try await fixture.reopened()
        }
        #expect(Set(claims).count == claims.count)
        #expect(claims == claims.sorted())
        // None of the old receipts settles the run of now.
        let last = try await fixture.store.take()
        for old in stale {
            #expect(try await fixture.store.settle(old, .success).result == .stale)
        }
        #expect(try await fixture.store.settle(last, .success).result == .settled)
        #expect(try await fixture.store.actionCount() == 0)
    }

    static let settlements: [Settlement] = [
        .success, .retry(after: .seconds(1), error: "late"), .release(after: .seconds(1)), .stop,
        .fail(.failed, .block, error: "late"), .fail(.failed, .skip, error: "late"),
        .fail(.failed, .failQueue, error: "late"),
    ]

    @Test("G6: a second or stale settlement changes nothing", arguments: settlements)
    func stale(_ settlement: Settlement) async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.add("b")
        let first = try await fixture.store.take()
        try await fixture.store.settle(first, .retry(after: .zero, error: "first"))
        let second = try await fixture.store.take()
        let dump = """
            SELECT group_concat(id || kind || payload) FROM sluice_action_rows UNION ALL
            SELECT group_concat(action_id || attempts || coalesce(last_error, '-')
                                || coalesce(next_attempt_at_us, '-'))
            FROM sluice_state_rows UNION ALL
            SELECT group_concat(action_id || claim) FROM sluice_claim_rows UNION ALL
            SELECT group_concat(action_id || outcome || error) FROM sluice_attempt_rows UNION ALL
            SELECT group_concat(id) FROM sluice_dead_rows UNION ALL
            SELECT group_concat(coalesce(blocked_by, '-')) FROM sluice_queue_rows
            """
        let before = try fixture.rows(dump)
        #expect(try await fixture.store.settle(first, settlement).result == .stale)
        #expect(try fixture.rows(dump) == before)
        #expect(try await fixture.store.settle(second, .success).result == .settled)
        #expect(try await fixture.store.settle(second, settlement).result == .stale)
        #expect(try await fixture.store.drain() == ["b"])
    }

    @Test("G6: a receipt settles only with the slot, queue, action and claim that it was given for")
    func forged() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        try await store.add("b", in: "other")
        let receipt = try await store.take().receipt
        _ = try await store.take("other")
        let other = try await store.queueID("other")
        let forged = [
            Receipt(action: receipt.action, claim: receipt.claim + 1, queue: receipt.queue, slot: 0),
            Receipt(action: receipt.action, claim: receipt.claim, queue: other, slot: 0),
            Receipt(action: receipt.action, claim: receipt.claim, queue: receipt.queue, slot: 1),
            Receipt(action: ActionID(rawValue: 2), claim: receipt.claim, queue: receipt.queue, slot: 0),
        ]
        for receipt in forged {
            let result = try await store.write(sync: .later) { try $0.settlements.settle(receipt, .success) }
            #expect(result == .stale)
        }
        #expect(try await store.actionCount() == 2)
    }

    @Test("Settling and the next claim are one transaction: nobody sees the slot free in between")
    func settleAndClaim() async throws {
        let file = try TemporaryFile()
        let path = file.path
        let seen = EventLog<String>()
        let fixture = try await StoreFixture(file: file) { _ in
            let counts = try? Connection(path: path, mode: .read).prepare(
                """
                SELECT (SELECT count(*) FROM sluice_action_rows) || ' waiting or running, '
                       || (SELECT count(*) FROM sluice_claim_rows) || ' running'
                """
            ).first { $0.text(0) }
            seen.append(counts ?? "nothing was read")
        }
        let store = fixture.store
        try await store.add(["a", "b", "c"].map { ActionDraft($0) })
        var action = try await store.take()
        let before = seen.elements.count
        let queue = action.receipt.queue
        let request = ClaimRequest(queue: queue)
        for text in ["b", "c"] {
            let (result, next) = try await store.settle(action, .success, then: request)
            #expect(result == .settled)
            guard case .claimed(let claimed)? = next else { throw Unexpected(description: "\(next as Any)") }
            #expect(claimed.text == text)
            action = claimed
        }
        #expect(
            seen.elements[before...] == [
                "2 waiting or running, 1 running", "1 waiting or running, 1 running",
            ]
        )
    }

    @Test("A stale settlement still makes its claim of another queue")
    func staleWithClaim() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.add("b", in: "other")
        let first = try await fixture.store.take()
        try await fixture.store.settle(first, .success)
        let other = try await fixture.store.queueID("other")
        let request = ClaimRequest(queue: other)
        let (result, next) = try await fixture.store.settle(first, .success, then: request)
        #expect(result == .stale)
        #expect(next?.word == "claimed")
    }

    @Test("G5: the idempotency key is the same at each attempt, and another for each action and opening")
    func keys() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.add("b")
        let first = try await fixture.store.take()
        try await fixture.store.settle(first, .retry(after: .zero, error: "e"))
        let again = try await fixture.store.take()
        #expect(again.idempotencyKey == first.idempotencyKey)
        try await fixture.store.settle(again, .fail(.failed, .skip, error: "e"))
        let second = try await fixture.store.take()
        try await fixture.store.settle(second, .success)
        let reopened = try await fixture.reopened()
        #expect(try await reopened.store.requeue(first.receipt.action))
        try await reopened.store.add("c")
        let requeued = try await reopened.store.take()
        try await reopened.store.settle(requeued, .success)
        let third = try await reopened.store.take()
        #expect(requeued.idempotencyKey == first.idempotencyKey)
        let keys = [first, second, third].map(\.idempotencyKey)
        #expect(Set(keys).count == 3)
        #expect(Set(keys.map { $0.prefix(16) }).count == 2)
    }
}
