import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("UPDATE and DELETE on sluice_actions", .watched)
struct SQLEditTests {
    @Test("DELETE removes an action with all that is known of it, and lifts the parking that it caused")
    func delete() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for text in ["a", "b", "c"] { try await store.add(text) }
        try await store.settle(try await store.take(), .fail(.failed, .block, error: "e"))
        try await shell.run("DELETE FROM sluice_actions WHERE payload = '\"b\"'")
        #expect(try await store.claim().word == "parked")
        try await shell.run("DELETE FROM sluice_actions WHERE id = 1")
        #expect(try await store.drain() == ["c"])
        for table in ["state_rows", "attempt_rows", "changes"] {
            #expect(try await shell.line("SELECT count(*) FROM sluice_\(table)") == "0", "\(table)")
        }
    }

    @Test("DELETE works without a broker, for one action and for all")
    func deleteAll() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add((0..<10).map { ActionDraft("\($0)", in: "q/\($0 % 3)") })
        let parked = try await fixture.store.take("q/0")
        try await fixture.store.settle(parked, .fail(.failed, .block, error: "e"))
        try await fixture.store.stopRunning()
        await fixture.store.close()
        let shell = fixture.shell
        try await shell.run("DELETE FROM sluice_actions WHERE queue = 'q/1'")
        #expect(try await shell.line("SELECT count(*) FROM sluice_actions") == "7")
        try await shell.run("DELETE FROM sluice_actions")
        #expect(try await shell.run("SELECT * FROM sluice_queues") == [])
        #expect(
            try await shell.line("SELECT count(*) FROM sluice_queue_rows WHERE blocked_by IS NOT NULL") == "0"
        )
        #expect(try await shell.line("SELECT count(*) FROM sluice_changes") == "0")
    }

    @Test("UPDATE edits kind, payload and sort key, each alone and together")
    func edits() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for key: Int64 in 1...3 { try await store.add("\(key)", by: .integer(key)) }
        try await shell.run("UPDATE sluice_actions SET payload = '\"third\"' WHERE id = 3")
        try await shell.run("UPDATE sluice_actions SET sort_key = 10 WHERE id = 1")
        try await shell.run("UPDATE sluice_actions SET kind = 'other', sort_key = sort_key - 5 WHERE id = 3")
        let first = try await store.take()
        #expect(first.text == "third" && first.kind == "other")
        try await store.settle(first, .success)
        #expect(try await store.drain() == ["2", "1"])
    }

    @Test("G2: a key keeps its type when its action moves to a queue without actions, new or drained")
    func keepsType() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        let keys: [(QueueName, SortKey)] = [
            ("date", .date(Date(timeIntervalSince1970: 1.5))), ("integer", .integer(1)),
            ("real", .real(1)), ("text", .text("2026-01-01T00:00:00Z")), ("arrival", .arrival),
        ]
        for (index, (name, key)) in keys.enumerated() {
            // One that was ordered by text, or by integers, before.
            try await store.add("x", in: "drained \(name)", by: index < 3 ? .text("x") : .integer(1))
            #expect(try await store.drain("drained \(name)") == ["x"])
            for target in ["new \(name)", "drained \(name)"] {
                let id = try await store.add("moved", in: name, by: key)
                try await shell.run("UPDATE sluice_actions SET queue = '\(target)' WHERE id = \(id)")
                let type = "SELECT sort_type FROM sluice_queue_rows WHERE name = '\(target)'"
                #expect(try await shell.line(type) == name.rawValue, "\(target)")
                try await store.add("added", in: QueueName(target), by: key)
                #expect(try await store.drain(QueueName(target)) == ["moved", "added"])
            }
        }
    }

    @Test("UPDATE of one column leaves the others as they were, dates to the microsecond")
    func untouched() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        let dates = [
            -62_135_596_800.0, -0.000_001, -1.5, 0, 1_767_225_600.123_457, 253_402_300_800, 1e13, -1e13,
            -7e10,
        ]
        for (index, date) in dates.enumerated() {
            try await store.add("\(index)", in: "dates", by: .date(Date(timeIntervalSince1970: date)))
            let time = Timestamp(Date(timeIntervalSince1970: date))
            try await store.add("\(index)", in: "later", notBefore: time)
        }
        for key in [SortKey.real(.infinity), .real(0.1), .real(-0.0), .real(1e300)] {
            try await store.add("r", in: "reals", by: key)
        }
        for key in ["", "a\u{0}b", "2026-01-01T00:00:00Z", "12"] {
            try await store.add("t", in: "texts", by: .text(key))
        }
        let dump =
            """
            SELECT id || ' ' || quote(sort_key) || ' ' || quote(not_before_us)
            FROM sluice_action_rows ORDER BY id
            """
        let before = try fixture.rows(dump)
        #expect(before.count == 2 * dates.count + 8)
        for id in 1...before.count {
            let message = await shell.refusal("UPDATE sluice_actions SET payload = '2' WHERE id = \(id)")
            #expect(message.isEmpty, "\(before[id - 1]): \(message)")
            try await shell.run("UPDATE sluice_actions SET kind = 'other', payload = '3' WHERE id = \(id)")
        }
        #expect(try fixture.rows(dump) == before)
        #expect(
            try fixture.row("SELECT count(*) FROM sluice_actions WHERE payload = '3'") == "\(before.count)"
        )
    }

    @Test("UPDATE of queue moves, with attempts and deadline, and wakes both queues")
    func moves() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        try await store.add("b")
        try await store.settle(try await store.take(), .retry(after: .seconds(60), error: "e"))
        let seen = fixture.commits.elements.count
        try await shell.run("UPDATE sluice_actions SET queue = 'new' WHERE id = 1")
        try await store.readForeignChanges()
        let told = fixture.commits.elements[seen...].reduce(into: Set<QueueID>()) { $0.formUnion($1.queues) }
        #expect(told == [try await store.queueID("q"), try await store.queueID("new")])
        #expect(try await store.drain() == ["b"])
        #expect(try await store.claim("new").word == "waiting")
        fixture.clock.advance(by: .seconds(60))
        let action = try await store.take("new")
        #expect(action.number == 2 && action.lastError == "e" && action.queue == "new")
    }

    @Test(
        "A move of the head that parked its queue lifts the parking; so does a new time for its next attempt"
    )
    func lifts() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for queue in ["q/1", "q/2", "q/3"] {
            for text in ["a", "b"] { try await store.add(text, in: QueueName(queue)) }
            try await store.settle(try await store.take(QueueName(queue)), .fail(.failed, .block, error: "e"))
        }
        try await shell.run("UPDATE sluice_actions SET payload = '\"c\"' WHERE id = 1")
        #expect(try await store.claim("q/1").word == "parked")
        try await shell.run("UPDATE sluice_actions SET queue = 'elsewhere' WHERE id = 1")
        #expect(try await store.drain("q/1") == ["b"])
        #expect(try await store.drain("elsewhere") == ["c"])
        try await shell.run("UPDATE sluice_actions SET next_attempt_at = '2026-01-01T00:00:00Z' WHERE id = 3")
        #expect(try await store.drain("q/2") == ["a", "b"])
        try await shell.run("UPDATE sluice_actions SET next_attempt_at = '2026-01-01T00:00:00Z' WHERE id = 6")
        #expect(try await store.claim("q/3").word == "parked")
    }

    @Test("An edit of what could not be decoded or routed has it looked at again")
    func looksAgain() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        try await store.settle(try await store.take(), .fail(.undecodable, .block, error: "e"))
        #expect(try await store.claim().word == "parked")
        try await shell.run("UPDATE sluice_actions SET payload = '\"b\"' WHERE id = 1")
        #expect(try await store.drain() == ["b"])
    }

    @Test("UPDATE of next_attempt_at to NULL lifts a parking, though the parked head had no such time")
    func nextAttemptOfAParkedHead() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        try await store.add("b")
        try await store.settle(try await store.take(), .fail(.failed, .block, error: "e"))
        let hasNone = try await shell.line("SELECT next_attempt_at IS NULL FROM sluice_actions WHERE id = 1")
        #expect(hasNone == "1")
        try await shell.run("UPDATE sluice_actions SET next_attempt_at = NULL WHERE id = 2")
        #expect(try await store.claim().word == "parked")
        try await shell.run("UPDATE sluice_actions SET next_attempt_at = NULL WHERE id = 1")
        #expect(try await store.drain() == ["a", "b"])
    }

    @Test("UPDATE of next_attempt_at and not_before sets and clears the wait")
    func times() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        let inAnHour = fixture.clock.wallMicroseconds + 3_600_000_000
        try await shell.run("UPDATE sluice_actions SET next_attempt_at = \(inAnHour) WHERE id = 1")
        #expect(
            try await shell.line("SELECT next_attempt_at FROM sluice_actions")
                == "2026-01-01T01:00:00.000000Z"
        )
        guard case .waiting(let wait, _) = try await store.claim() else {
            throw Unexpected(description: "it does not wait")
        }
        #expect(wait.nextAttemptAt == Timestamp(microseconds: inAnHour))
        try await shell.run("UPDATE sluice_actions SET next_attempt_at = NULL WHERE id = 1")
        #expect(try await store.claim(by: .full).word == "lacksPermit")
        try await shell.run("UPDATE sluice_actions SET not_before = '2026-01-01T01:00:00Z' WHERE id = 1")
        #expect(try await store.claim().word == "empty")
        try await shell.run("UPDATE sluice_actions SET not_before = NULL WHERE id = 1")
        #expect(try await store.drain() == ["a"])
    }

    /// Assignments, and what the refusal must name.
    static let refused: [(assignment: String, named: String)] = [
        ("id = 9", "id"), ("attempts = 9", "attempts"),
        ("last_error = 'e'", "last_error"), ("enqueued_at = NULL", "enqueued_at"),
        ("running_since = '2026-01-01T00:00:00Z'", "running_since"), ("queue = ''", "queue"),
        ("queue = NULL", "queue"), ("queue = 'numbers'", "sort_key"), ("kind = NULL", "kind"),
        ("kind = ''", "kind"), ("kind = 'a' || char(0)", "kind"), ("tag = 'a' || char(0)", "tag"),
        ("payload = 'no JSON'", "payload"), ("payload = NULL", "payload"),
        ("sort_key = 5", "sort_key"), ("sort_key = x'00'", "sort_key"),
        ("next_attempt_at = 'soon'", "next_attempt_at"), ("next_attempt_at = 1.5", "next_attempt_at"),
        ("next_attempt_at = x'00'", "next_attempt_at"),
        ("not_before = '2026-02-30'", "not_before"),
        ("expires_at = 'soon'", "expires_at"), ("tag = ''", "tag"), ("gate = 5", "gate"),
        ("version = 0", "version"), ("version = 'two'", "version"),
    ]

    @Test("A bad value is refused with a message that names the column, and nothing is changed")
    func refusals() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a", by: .text("key"))
        try await fixture.store.add("b", in: "numbers", by: .integer(1))
        let dump =
            """
            SELECT group_concat(quote(id) || quote(queue_id) || quote(sort_key) || kind || payload)
            FROM sluice_action_rows
            """
        let before = try fixture.row(dump)
        for (assignment, named) in Self.refused {
            let message = await fixture.shell.refusal("UPDATE sluice_actions SET \(assignment) WHERE id = 1;")
            #expect(
                message.contains("sluice_actions") && message.contains(named),
                "\(assignment): \(message)"
            )
        }
        #expect(try fixture.row(dump) == before)
        #expect(try fixture.row("SELECT count(*) FROM sluice_state_rows") == "0")
        #expect(try fixture.row("SELECT count(*) FROM sluice_queue_rows") == "2")
    }

    @Test("While an action runs an edit waits for its next attempt, and a move for the attempt's end")
    func whileRunning() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        try await store.add("b")
        let action = try await store.take()
        try await shell.run("UPDATE sluice_actions SET queue = 'target', payload = '\"edited\"' WHERE id = 1")
        #expect(try await shell.line("SELECT queue FROM sluice_actions WHERE id = 1") == "q")
        #expect(try await store.claim().word == "taken")
        #expect(try await store.claim("target").word == "empty")
        #expect(
            await shell.refusal("UPDATE sluice_actions SET not_before = 5 WHERE id = 1").contains(
                "not_before"
            )
        )
        try await store.settle(action, .retry(after: .zero, error: "e"))
        #expect(try await store.drain() == ["b"])
        let again = try await store.take("target")
        #expect(again.text == "edited" && again.number == 2)
        // Once moved, it stays.
        try await store.settle(again, .retry(after: .zero, error: "e"))
        #expect(try await store.drain("target") == ["edited"])
    }

    @Test("G7: a move and a cancellation are carried out too when the process dies while the action runs")
    func moveAndDeath() async throws {
        let fixture = try await StoreFixture()
        for text in ["moved", "stays", "cancelled"] {
            try await fixture.store.add(text, in: text == "cancelled" ? "r" : "q", by: .integer(2))
        }
        _ = try await fixture.store.take("q")
        let cancelled = try await fixture.store.take("r")
        try await fixture.store.add("earlier", in: "r", by: .integer(1))
        try await fixture.shell.run("UPDATE sluice_actions SET queue = 'target' WHERE id = 1")
        #expect(try await fixture.store.cancel(cancelled.receipt.action) == .deferred)
        let reopened = try await fixture.reopened()
        #expect(
            try await reopened.shell.run("SELECT queue || ' ' || payload FROM sluice_actions ORDER BY id")
                == ["target \"moved\"", "q \"stays\"", "r \"earlier\""]
        )
        #expect(try await reopened.store.take("target").number == 1)
        #expect(try await reopened.store.drain("q") == ["stays"])
    }

    static let ends: [Settlement] = [
        .success, .fail(.failed, .block, error: "e"), .fail(.failed, .skip, error: "e"),
        .release(after: .zero), .stop,
    ]

    @Test(
        "A move is carried out whatever the attempt ends with, if the action is still there",
        arguments: ends
    )
    func moveAndEnd(_ settlement: Settlement) async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        try await store.add("b")
        let action = try await store.take()
        try await shell.run("UPDATE sluice_actions SET queue = 'target' WHERE id = 1")
        try await store.settle(action, settlement)
        #expect(try await store.drain() == ["b"])
        let isGone = settlement == .success || settlement == .fail(.failed, .skip, error: "e")
        #expect(try await store.drain("target") == (isGone ? [] : ["a"]))
    }

    @Test("G2: a move does not bring a sort key of another type, even if the target took one meanwhile")
    func moveAndType() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a", by: .integer(1))
        let action = try await store.take()
        try await shell.run("UPDATE sluice_actions SET queue = 'target' WHERE id = 1")
        _ = await refusal { try await store.add("b", in: "target", by: .text("b")) }
        try await store.settle(action, .retry(after: .zero, error: "e"))
        let types = try fixture.rows(
            """
            SELECT DISTINCT q.name FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q USING (queue_id)
            WHERE typeof(a.sort_key) <> q.sort_type
            """
        )
        #expect(types == [])
        #expect(try await store.actionCount() >= 1)
    }

    @Test("DELETE FROM sluice_dead purges a dead letter with its history")
    func purge() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for text in ["a", "b"] {
            try await store.add(text)
            try await store.settle(try await store.take(), .fail(.failed, .skip, error: text))
        }
        #expect(
            try await shell.run(
                "SELECT id, queue, kind, payload, cause, error, attempts, died_at FROM sluice_dead"
            ) == [
                "1|q|note|\"a\"|failed|a|1|2026-01-01T00:00:00.000000Z",
                "2|q|note|\"b\"|failed|b|1|2026-01-01T00:00:00.000000Z",
            ]
        )
        try await shell.run("DELETE FROM sluice_dead WHERE id = 1")
        #expect(try await shell.run("SELECT action_id FROM sluice_attempts") == ["2"])
        #expect(try await store.deadLetters(limit: 10).map(\.error) == ["b"])
    }
}
