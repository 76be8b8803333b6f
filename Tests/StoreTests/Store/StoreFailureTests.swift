import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Failure policies", .watched)
struct StoreFailureTests {
    @Test("G4: a blocked queue stays blocked through arrivals, earlier ones too, and through a restart")
    func block() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("b", by: .integer(2))
        let action = try await fixture.store.take()
        try await fixture.store.settle(action, .fail(.failed, .block, error: "no such room"))
        try await fixture.store.add("c", by: .integer(3))
        try await fixture.store.add("a", by: .integer(1))
        #expect(try await fixture.store.claim().word == "parked")
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.claim().word == "parked")
        let shown = try fixture.row("SELECT state || '|' || because FROM sluice_queues")
        #expect(shown == "parked|parked by action 1 after failure (failed): no such room")
        #expect(try await fixture.store.retryNow(.exact("q")) == 1)
        #expect(try await fixture.store.drain() == ["a", "b", "c"])
    }

    @Test("A permanent failure and a last attempt are attempts, what does not decode is none")
    func attempts() async throws {
        let fixture = try await StoreFixture()
        for (cause, number) in [(FailureCause.failed, 2), (.exhausted, 2), (.undecodable, 1)] {
            try await fixture.store.add("\(cause)", in: "\(cause)")
            try await fixture.store.settle(
                try await fixture.store.take("\(cause)"),
                .fail(cause, .block, error: "e")
            )
            #expect(
                try fixture.row("SELECT blocked_by FROM sluice_queue_rows WHERE name = '\(cause)'")
                    == cause.rawValue
            )
            _ = try await fixture.store.retryNow(.exact("\(cause)"))
            #expect(try await fixture.store.take("\(cause)").number == number, "\(cause)")
        }
    }

    @Test("Removing the action that parked its queue lets the next one through; removing another does not")
    func unparks() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let ids = try await store.add(["a", "b", "c"].map { ActionDraft($0) })
        try await store.settle(try await store.take(), .fail(.exhausted, .block, error: "e"))
        #expect(try await store.cancel(ids[1]) == .done)
        #expect(try await store.claim().word == "parked")
        #expect(try await store.cancel(ids[0]) == .done)
        #expect(try await store.drain() == ["c"])
        #expect(try await store.cancel(ids[0]) == .missing)
    }

    @Test("Skipping makes a dead letter with cause, error, attempts and payload, and goes on")
    func skip() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        try await store.add("b")
        try await store.settle(try await store.take(), .retry(after: .zero, error: "first"))
        fixture.clock.advance(by: .seconds(1))
        let action = try await store.take()
        try await store.settle(action, .fail(.exhausted, .skip, error: "second"))
        let letter = try #require(try await store.deadLetters(limit: 10).first)
        #expect(letter.id == action.receipt.action)
        #expect(letter.cause == .exhausted && letter.error == "second" && letter.attempts == 2)
        #expect(letter.payload == "\"a\"")
        #expect(letter.diedAt == Timestamp(microseconds: fixture.clock.wallMicroseconds).date)
        #expect(try fixture.rows("SELECT error FROM sluice_attempts ORDER BY number") == ["first", "second"])
        #expect(try await store.drain() == ["b"])
    }

    @Test("A requeued dead letter returns to its place, with its number and no attempt spent")
    func requeue() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add((1...3).map { ActionDraft("\($0)", by: .integer($0 / 2)) })
        let first = try await store.take()
        try await store.settle(first, .retry(after: .seconds(60), error: "e"))
        fixture.clock.advance(by: .seconds(60))
        try await store.settle(try await store.take(), .fail(.failed, .skip, error: "e"))
        try await store.add("0", by: .integer(0))
        #expect(try await store.requeue(first.receipt.action))
        #expect(try await !store.requeue(first.receipt.action))
        #expect(try await store.deadLetters(limit: 10).isEmpty)
        let again = try await store.take()
        #expect(again.receipt.action == first.receipt.action)
        #expect(again.number == 1)
        #expect(again.enqueuedAt == first.enqueuedAt)
        try await store.settle(again, .success)
        #expect(try await store.drain() == ["0", "2", "3"])
    }

    @Test("Failing a queue sets aside all that waits, in batches, and spares what arrives meanwhile")
    func failQueue() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let count = 2 * Failures.failBatchSize + 1
        try await store.add((0...count).map { ActionDraft("\($0)", by: .integer(Int64($0))) })
        let later = fixture.clock.now + .seconds(60)
        try await store.add([ActionDraft("scheduled", by: .integer(0), notBefore: later)])
        try await store.add("elsewhere", in: "other")
        try await store.settle(try await store.take(), .fail(.failed, .failQueue, error: "room closed"))
        // One batch has gone with the settling; the queue is parked until the last has.
        #expect(
            try fixture.row("SELECT count(*) FROM sluice_dead") == "\(Failures.failBatchSize + 1)"
        )
        #expect(try fixture.row("SELECT state FROM sluice_queues WHERE queue = 'q'") == "parked")
        #expect(try await store.retryNow(.prefix([])) == 0)
        try await store.add("arrival", by: .integer(-1))
        #expect(try await store.claim().word == "unfinished")
        try await store.add("another", by: .integer(-2))
        #expect(try await store.drain() == ["another", "arrival"])
        #expect(try await store.drain("other") == ["elsewhere"])
        #expect(
            try fixture.rows(
                "SELECT cause || ' ' || count(*) || ' ' || max(error) FROM sluice_dead GROUP BY cause"
            )
                == ["behind \(count + 1) room closed", "failed 1 room closed"]
        )
        #expect(try fixture.row("SELECT blocked_by FROM sluice_queue_rows WHERE name = 'q'") == "NULL")
    }

    @Test("Failing a queue spares what has come to sort before the action that failed")
    func failQueueSpares() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add((5..<15).map { ActionDraft("\($0)", by: .integer(Int64($0))) })
        let action = try await store.take()
        let later = fixture.clock.now + .seconds(60)
        try await store.add([
            ActionDraft("earlier", by: .integer(1)),
            ActionDraft("earlier, in an hour", by: .integer(2), notBefore: later),
        ])
        try await store.settle(action, .fail(.failed, .failQueue, error: "room closed"))
        #expect(try await store.drain() == ["earlier"])
        fixture.clock.advance(by: .seconds(60))
        _ = try await store.admitScheduled()
        #expect(try await store.drain() == ["earlier, in an hour"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_dead") == "10")
    }

    @Test("The failing of a queue goes on after a restart")
    func failQueueRestart() async throws {
        var fixture = try await StoreFixture()
        let count = 3 * Failures.failBatchSize
        try await fixture.store.add((0...count).map { ActionDraft("\($0)") })
        try await fixture.store.settle(
            try await fixture.store.take(),
            .fail(.failed, .failQueue, error: "room closed")
        )
        try await fixture.store.add("arrival")
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.drain() == ["arrival"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_dead") == "\(count + 1)")
    }

    @Test("A full batch that is the last one does not leave the queue parked", arguments: [499, 500, 501])
    func failQueueEdges(_ behind: Int) async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add((0...behind).map { ActionDraft("\($0)") })
        let action = try await fixture.store.take()
        try await fixture.store.settle(action, .fail(.failed, .failQueue, error: "e"))
        try await fixture.store.add("arrival")
        #expect(try await fixture.store.drain() == ["arrival"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_dead") == "\(behind + 1)")
    }

    @Test(
        "An action that may not run again fails by its policy when it is claimed",
        arguments: FailurePolicy.allCases
    )
    func admission(_ policy: FailurePolicy) async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.add("b")
        try fixture.execute("INSERT INTO sluice_state_rows (action_id, crashes) VALUES (1, 3)")
        let result = try await fixture.store.claim(by: Admission(crashLimit: 3, failure: .all(policy)))
        switch policy {
        case .block: #expect(result.word == "parked")
        case .skip: #expect(result.word == "claimed")
        case .failQueue: #expect(result.word == "empty")
        }
        let dead: [FailurePolicy: [String]] = [
            .block: [], .skip: ["1 crashed"], .failQueue: ["1 crashed", "2 behind"],
        ]
        #expect(try fixture.rows("SELECT id || ' ' || cause FROM sluice_dead ORDER BY id") == dead[policy])
    }

    @Test("G10: an action without a route stays, with the reason, and runs once there is one")
    func unroutable() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        for (hasRoute, state) in [(false, "no route"), (true, "unknown kind")] {
            #expect(try await store.claim(by: hasRoute ? .forOthers : .none).word == "unroutable")
            let shown = try fixture.row("SELECT state || '|' || because FROM sluice_queues")
            #expect(shown == "\(state)|\(state)")
        }
        let action = try await store.take()
        #expect(action.text == "a" && action.number == 1)
        #expect(try fixture.row("SELECT blocked_by FROM sluice_queue_rows") == "NULL")
    }

    @Test("G15: that there was no route is forgotten where something else keeps the head by now")
    func liftedRoute() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a")
        for hasRoute in [true, false] {
            #expect(try await store.claim(by: hasRoute ? .forOthers : .none).word == "unroutable")
            let hold = try await store.hold("q", by: "ops", reason: "", for: nil)
            #expect(try await store.claim().word == "held")
            #expect(try fixture.row("SELECT state FROM sluice_queues") == "held")
            _ = try await store.endHold(hold)
        }
        #expect(try await store.claim(by: .forOthers).word == "unroutable")
        try await store.setGate("line", isOpen: false, isPersistent: true, spread: .zero)
        try fixture.execute("UPDATE sluice_action_rows SET gate = 'line'")
        #expect(try await store.claim().word == "gated")
        #expect(try fixture.row("SELECT state FROM sluice_queues") == "gate")
    }

    @Test("G10: an arrival before an action without a route is run; G4: one before a parked action waits")
    func arrivalBefore() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("b", by: .integer(2))
        #expect(try await store.claim(by: .forOthers).word == "unroutable")
        try await store.add("a", by: .integer(1))
        #expect(try await store.drainOne() == "a")
        try await store.settle(try await store.take(), .fail(.undecodable, .block, error: "e"))
        try await store.add("a", by: .integer(1))
        #expect(try await store.claim().word == "parked")
        try await store.liftUndecodable()
        #expect(try await store.drain() == ["a", "b"])
    }

    @Test("G11: what others have changed is taken in again when the write that took it in fails")
    func takenInAgain() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a", by: .integer(1))
        let count = fixture.commits.elements.count
        try fixture.execute(
            "INSERT INTO sluice_actions (queue, kind, payload, sort_key) VALUES ('q', 'note', '\"b\"', 2)"
        )
        #expect(await refusal { try await fixture.store.add("c", by: .text("c")) } == .sortKeyMismatch)
        #expect(fixture.commits.elements.count == count)
        try await fixture.store.readForeignChanges()
        let reports = fixture.commits.elements.dropFirst(count)
        #expect(reports.flatMap(\.foreignChanges).map(\.action?.rawValue) == [2])
        #expect(try fixture.row("SELECT count(*) FROM sluice_changes") == "0")
    }
}
