import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Retry waits and history", .watched)
struct StoreRetryTests {
    private func waiting(_ fixture: StoreFixture) async throws -> (wait: RetryWait, remaining: Duration) {
        guard case .waiting(let wait, let time) = try await fixture.store.claim() else {
            throw Unexpected(description: "the head does not wait")
        }
        return (wait, time - fixture.clock.uptime)
    }

    @Test("G8: a wait ends at its time, however long the transaction takes that finds it")
    func longTransaction() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(
            try await fixture.store.take(),
            .retry(after: .seconds(60), error: "e")
        )
        let (began, queue) = (fixture.clock.uptime, try await fixture.store.queueID("q"))
        let result = try await fixture.store.write(sync: .later) { [clock = fixture.clock] transaction in
            clock.advance(by: .seconds(10))
            return try transaction.claims.claim(ClaimRequest(queue: queue), by: Admission())
        }
        guard case .waiting(_, let time) = result else { throw Unexpected(description: "\(result)") }
        #expect(time == began + .seconds(60))
    }

    @Test("G8: deadline, error, attempts and history survive a restart")
    func persisted() async throws {
        var fixture = try await StoreFixture()
        try await fixture.store.add("a")
        fixture.clock.advance(by: .seconds(5))
        let action = try await fixture.store.take()
        fixture.clock.advance(by: .seconds(1))
        try await fixture.store.settle(action, .retry(after: .seconds(30), error: "no route to host"))
        fixture = try await fixture.reopened()
        #expect(try await waiting(fixture).remaining == .seconds(30))
        fixture.clock.advance(by: .seconds(29))
        #expect(try await waiting(fixture).remaining == .seconds(1))
        #expect(
            try fixture.rows(
                """
                SELECT number || ' ' || outcome || ' ' || error || ' ' || started_at || ' ' || ended_at
                FROM sluice_attempts
                """
            ) == ["1 retry no route to host 2026-01-01T00:00:05.000000Z 2026-01-01T00:00:06.000000Z"]
        )
        #expect(
            try fixture.row("SELECT next_attempt_at || ' ' || last_error FROM sluice_actions")
                == "2026-01-01T00:00:36.000000Z no route to host"
        )
        fixture.clock.advance(by: .seconds(1))
        let again = try await fixture.store.take()
        #expect(again.number == 2)
        #expect(again.lastError == "no route to host")
    }

    @Test("G8: when the wall clock jumps back a retry waits no longer than the delay that was asked")
    func jumpBack() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(
            try await fixture.store.take(),
            .retry(after: .seconds(30), error: "e")
        )
        fixture.clock.jumpWall(by: .seconds(-86_400))
        let (wait, remaining) = try await waiting(fixture)
        #expect(remaining == .seconds(30))
        // The scheduler has waited by its own clock: then the wall clock no longer counts.
        #expect(try await fixture.store.take(waitedFor: wait).text == "a")
    }

    @Test("G8: when the wall clock jumps forward a retry is due")
    func jumpForward() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(
            try await fixture.store.take(),
            .retry(after: .seconds(30), error: "e")
        )
        fixture.clock.jumpWall(by: .seconds(86_400))
        #expect(try await fixture.store.take().text == "a")
    }

    @Test("A wait that was over does not end another one of the same action")
    func otherWait() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(try await fixture.store.take(), .retry(after: .seconds(1), error: "e"))
        let first = try await waiting(fixture).wait
        let action = try await fixture.store.take(waitedFor: first)
        try await fixture.store.settle(action, .retry(after: .seconds(60), error: "e"))
        #expect(try await fixture.store.claim(waitedFor: first).word == "waiting")
    }

    @Test("A release spends no attempt, keeps the error and leaves no trace in the history")
    func release() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(try await fixture.store.take(), .retry(after: .zero, error: "first"))
        try await fixture.store.settle(try await fixture.store.take(), .release(after: .seconds(2)))
        #expect(try await waiting(fixture).remaining == .seconds(2))
        fixture.clock.advance(by: .seconds(2))
        let action = try await fixture.store.take()
        #expect(action.number == 2)
        #expect(action.lastError == "first")
        #expect(try fixture.row("SELECT count(*) FROM sluice_attempts") == "1")
    }

    @Test("A stop spends no attempt and waits for nothing")
    func stop() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(try await fixture.store.take(), .stop)
        #expect(try fixture.row("SELECT count(*) FROM sluice_state_rows") == "0")
        #expect(try await fixture.store.take().number == 1)
    }

    @Test("Delays below zero are none, and endless ones a hundred years")
    func extremes() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(
            try await fixture.store.take(),
            .retry(after: .seconds(-5), error: "e")
        )
        try await fixture.store.settle(
            try await fixture.store.take(),
            .retry(after: .seconds(Int64.max), error: "e")
        )
        let years = try await waiting(fixture).remaining / .seconds(365.25 * 86_400)
        #expect((99...101).contains(years))
        #expect(try fixture.row("SELECT next_attempt_at FROM sluice_actions").hasPrefix("2126-"))
    }

    @Test("G12: the history keeps the newest 50 attempts, whatever starts the numbers anew")
    func historyLimit() async throws {
        let fixture = try await StoreFixture()
        let id = try await fixture.store.add("a")
        for number in 1...60 {
            let action = try await fixture.store.take()
            try await fixture.store.settle(action, .retry(after: .zero, error: "\(number)"))
        }
        let kept = try fixture.rows("SELECT error FROM sluice_attempts ORDER BY number")
        #expect(kept == (11...60).map { "\($0)" })
        for round in 1...30 {
            let action = try await fixture.store.take()
            try await fixture.store.settle(action, .fail(.failed, .skip, error: "death \(round)"))
            #expect(try await fixture.store.requeue(id))
        }
        #expect(try fixture.row("SELECT count(*) FROM sluice_attempts") == "50")
        #expect(try fixture.row("SELECT count(*) FROM sluice_attempts WHERE error LIKE 'death%'") == "30")
    }

    @Test("The history of an action that could not be decoded is bounded over any number of starts")
    func undecodableHistory() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        for _ in 1...60 {
            let action = try await fixture.store.take()
            try await fixture.store.settle(action, .fail(.undecodable, .block, error: "it is no number"))
            try await fixture.store.liftUndecodable()
        }
        #expect(try fixture.row("SELECT count(*) FROM sluice_attempts") == "50")
        #expect(try await fixture.store.take().number == 1)
    }

    @Test("G12: nothing is left of an action that was done, with whatever history")
    func nothingLeft() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        for text in ["a", "b", "c"] { try await store.add(text) }
        // Retried and done.
        try await store.settle(try await store.take(), .retry(after: .zero, error: "e"))
        try await store.settle(try await store.take(), .success)
        // A dead letter, requeued and done.
        let dead = try await store.take()
        try await store.settle(dead, .fail(.failed, .skip, error: "e"))
        #expect(try await store.requeue(dead.receipt.action))
        try await store.settle(try await store.take(), .success)
        // A dead letter, requeued and cancelled.
        let other = try await store.take()
        try await store.settle(other, .fail(.failed, .skip, error: "e"))
        #expect(try await store.requeue(other.receipt.action))
        #expect(try await store.cancel(other.receipt.action) == .done)
        for table in ["action_rows", "state_rows", "claim_rows", "attempt_rows", "dead_rows", "changes"] {
            #expect(try fixture.row("SELECT count(*) FROM sluice_\(table)") == "0", "\(table)")
        }
    }

    static let long: [(text: String, kept: Int)] = [
        (String(repeating: "a", count: 1_999), 1_999), (String(repeating: "a", count: 2_001), 2_000),
        (String(repeating: "é", count: 1_001), 2_000), ("a" + String(repeating: "é", count: 1_001), 1_999),
        ("ab" + String(repeating: "😀", count: 600), 1_998),
        ("a" + String(repeating: "👩‍👩‍👧‍👦", count: 100), 1 + 79 * 25),
        ("a" + String(repeating: "\r\n", count: 1_001), 1_999),
    ]

    @Test("The text of an error is cut to 2,000 bytes, at the end of a character", arguments: long)
    func errorText(_ text: String, _ kept: Int) async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a")
        try await fixture.store.settle(try await fixture.store.take(), .retry(after: .zero, error: text))
        let action = try await fixture.store.take()
        let error = try #require(action.lastError)
        #expect(error.utf8.count == kept)
        #expect(text.hasPrefix(error))
        try await fixture.store.settle(action, .fail(.failed, .block, error: text))
        let lengths =
            """
            length(CAST(last_error AS BLOB)) || ' '
            || (SELECT max(length(CAST(error AS BLOB))) FROM sluice_attempts)
            """
        #expect(try fixture.row("SELECT \(lengths) FROM sluice_queues") == "\(kept) \(kept)")
        _ = try await fixture.store.cancel(action.receipt.action)
        try await fixture.store.add("b")
        try await fixture.store.settle(
            try await fixture.store.take(),
            .fail(.failed, .failQueue, error: text)
        )
        #expect(try fixture.row("SELECT length(CAST(error AS BLOB)) FROM sluice_dead") == "\(kept)")
    }
}
