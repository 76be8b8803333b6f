import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("INSERT INTO sluice_actions", .watched)
struct SQLInsertTests {
    private static let insert = "INSERT INTO sluice_actions (queue, kind, payload"

    @Test("A plain INSERT enqueues while no broker has the file, and the engine runs it in its order")
    func enqueues() async throws {
        let (file, shell) = try await closedFile()
        try await shell.run("\(Self.insert)) VALUES ('q', 'note', '\"a\"'), ('q', 'note', '\"b\"');")
        #expect(
            try await shell.run("SELECT id, queue, sort_key, kind, payload, attempts FROM sluice_actions")
                == ["1|q||note|\"a\"|0", "2|q||note|\"b\"|0"]
        )
        // Nobody is there to be told.
        #expect(try await shell.line("SELECT count(*) FROM sluice_changes") == "0")
        let fixture = try await StoreFixture(file: file)
        #expect(try await fixture.store.add("c").rawValue == 3)
        #expect(try await fixture.store.drain() == ["a", "b", "c"])
    }

    @Test("Several writers take numbers from one counter")
    func counter() async throws {
        let fixture = try await StoreFixture()
        let shell = fixture.shell
        try await fixture.store.add("1")
        try await shell.run("\(Self.insert)) VALUES ('q', 'note', '\"2\"')")
        try await fixture.store.add("3")
        try await shell.run("BEGIN; \(Self.insert)) VALUES ('q', 'note', '\"never\"'); ROLLBACK")
        try await shell.run("\(Self.insert)) VALUES ('q', 'note', '\"4\"')")
        #expect(try await shell.run("SELECT id FROM sluice_actions") == ["1", "2", "3", "4"])
        #expect(try await fixture.store.drain() == ["1", "2", "3", "4"])
    }

    @Test("Sort keys order as the engine's do; ISO times where the queue's keys are dates")
    func sortKeys() async throws {
        let fixture = try await StoreFixture()
        let shell = fixture.shell
        try await shell.run(
            """
            \(Self.insert), sort_key) VALUES ('integers', 'note', '"3"', 30), ('integers', 'note', '"1"', -1),
                ('texts', 'note', '"2"', 'é'), ('texts', 'note', '"1"', 'Z'),
                ('reals', 'note', '"2"', 0.5), ('reals', 'note', '"1"', -1), ('reals', 'note', '"3"', 9e999);
            """
        )
        try await fixture.store.add("2", in: "integers", by: .integer(5))
        #expect(try await fixture.store.drain("integers") == ["1", "2", "3"])
        #expect(try await fixture.store.drain("texts") == ["1", "2"])
        #expect(try await fixture.store.drain("reals") == ["1", "2", "3"])
        try await fixture.store.add("2", in: "dates", by: .date(Date(timeIntervalSince1970: 0.5)))
        try await shell.run(
            """
            \(Self.insert), sort_key) VALUES ('dates', 'note', '"5"', '2026-01-01T00:00:00.000001Z'),
                ('dates', 'note', '"4"', '2026-01-01 00:00:00'), ('dates', 'note', '"3"', 500001),
                ('dates', 'note', '"1"', '1969-12-31T23:59:59.999999Z');
            """
        )
        #expect(
            try await shell.run("SELECT sort_key FROM sluice_actions WHERE queue = 'dates' ORDER BY payload")
                == [
                    "1969-12-31T23:59:59.999999Z", "1970-01-01T00:00:00.500000Z",
                    "1970-01-01T00:00:00.500001Z",
                    "2026-01-01T00:00:00.000000Z", "2026-01-01T00:00:00.000001Z",
                ]
        )
        #expect(try await fixture.store.drain("dates") == ["1", "2", "3", "4", "5"])
    }

    @Test("not_before schedules, by an ISO time or by microseconds")
    func scheduled() async throws {
        let fixture = try await StoreFixture()
        let shell = fixture.shell
        try await shell.run(
            """
            \(Self.insert), not_before) VALUES ('q', 'note', '"b"', '2026-01-01T00:01:00.000001Z'),
                ('q', 'note', '"a"', \(fixture.clock.wallMicroseconds + 60_000_000)),
                ('q', 'note', '"now"', NULL);
            """
        )
        #expect(
            try await shell.run("SELECT not_before FROM sluice_actions ORDER BY id") == [
                "2026-01-01T00:01:00.000001Z", "2026-01-01T00:01:00.000000Z", "",
            ]
        )
        #expect(try await fixture.store.drain() == ["now"])
        fixture.clock.advance(by: .seconds(60))
        _ = try await fixture.store.admitScheduled()
        #expect(try await fixture.store.drain() == ["a"])
        fixture.clock.advance(by: .microseconds(1))
        _ = try await fixture.store.admitScheduled()
        #expect(try await fixture.store.drain() == ["b"])
    }

    /// Columns, values, and the column that the refusal must name.
    static let refused: [(columns: String, values: String, named: String)] = [
        ("queue, kind, payload", "'', 'note', '1'", "queue"),
        ("queue, kind, payload", "NULL, 'note', '1'", "queue"),
        ("queue, kind, payload", "5, 'note', '1'", "queue"),
        ("queue, kind, payload", "'a' || char(0), 'note', '1'", "queue"),
        ("queue, kind, payload", "printf('%.*c', 513, 'q'), 'note', '1'", "queue"),
        ("queue, kind, payload", "'q', '', '1'", "kind"), ("queue, payload", "'q', '1'", "kind"),
        ("queue, kind, payload", "'q', printf('%.*c', 256, 'k'), '1'", "kind"),
        ("queue, kind, payload", "'q', x'6b', '1'", "kind"),
        ("queue, kind, payload", "'q', 'a' || char(0) || 'b', '1'", "kind"),
        ("queue, kind", "'q', 'note'", "payload"),
        ("queue, kind, payload", "'q', 'note', 'no JSON'", "payload"),
        ("queue, kind, payload", "'q', 'note', ''", "payload"),
        ("queue, kind, payload", "'q', 'note', 1", "payload"),
        ("queue, kind, payload", "'q', 'note', '{\"a\":1} x'", "payload"),
        ("queue, kind, payload, sort_key", "'q', 'note', '1', x'00'", "sort_key"),
        ("queue, kind, payload, sort_key", "'dates', 'note', '1', 'tomorrow'", "sort_key"),
        ("queue, kind, payload, sort_key", "'dates', 'note', '1', NULL", "sort_key"),
        ("queue, kind, payload, sort_key", "'dates', 'note', '1', 9e999", "sort_key"),
        ("queue, kind, payload, sort_key", "'numbers', 'note', '1', 'text'", "sort_key"),
        ("queue, kind, payload, sort_key", "'numbers', 'note', '1', 0.5", "sort_key"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', 'tomorrow'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-13-01T00:00:00Z'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-01-01T00:00:00+02:00'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-01-01'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', 0.5", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', 'now'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-02-31T00:00:00'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-05-01T12:00:00Z5'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-05-01T12:00:00ZZ'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-05-01T12:00:00. '", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-05-01T12:00:00.5x'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2026-05-01T12:00:00.1234567'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', x'00'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', 9e999", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '23:00:00.0000000000'", "not_before"),
        ("queue, kind, payload, not_before", "'q', 'note', '1', '2460000.50000000000'", "not_before"),
        ("queue, kind, payload", "'q', 'note', '1' || char(0) || 'x'", "payload"),
        ("queue, kind, payload, id", "'q', 'note', '1', 5", "id"),
        ("queue, kind, payload, attempts", "'q', 'note', '1', 5", "attempts"),
        ("queue, kind, payload, last_error", "'q', 'note', '1', 'e'", "last_error"),
        ("queue, kind, payload, next_attempt_at", "'q', 'note', '1', 5", "next_attempt_at"),
        ("queue, kind, payload, running_since", "'q', 'note', '1', 5", "running_since"),
        ("queue, kind, payload, enqueued_at", "'q', 'note', '1', 5", "enqueued_at"),
        ("queue, kind, payload, expires_at", "'q', 'note', '1', 'soon'", "expires_at"),
        ("queue, kind, payload, tag", "'q', 'note', '1', ''", "tag"),
        ("queue, kind, payload, tag", "'q', 'note', '1', 'a' || char(0)", "tag"),
        ("queue, kind, payload, tag", "'q', 'note', '1', 5", "tag"),
        ("queue, kind, payload, tag", "'q', 'note', '1', printf('%.*c', 256, 't')", "tag"),
        ("queue, kind, payload, gate", "'q', 'note', '1', x'00'", "gate"),
        ("queue, kind, payload, gate", "'q', 'note', '1', ''", "gate"),
        ("queue, kind, payload, gate", "'q', 'note', '1', 'a' || char(0)", "gate"),
        ("queue, kind, payload, gate", "'q', 'note', '1', printf('%.*c', 256, 'g')", "gate"),
        ("queue, kind, payload, version", "'q', 'note', '1', 0", "version"),
    ]

    @Test("A bad value is refused with a message that names the column, and nothing is stored")
    func refusals() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("1", in: "dates", by: .date(Date(timeIntervalSince1970: 0)))
        try await fixture.store.add("1", in: "numbers", by: .integer(0))
        let before = try fixture.rows("SELECT queue || id FROM sluice_actions")
        for (columns, values, named) in Self.refused {
            let message = await fixture.shell.refusal(
                "INSERT INTO sluice_actions (\(columns)) VALUES (\(values));"
            )
            #expect(message.contains("sluice_actions"), "\(columns) = \(values): \(message)")
            #expect(message.contains(named), "\(columns) = \(values): \(message)")
        }
        #expect(try fixture.rows("SELECT queue || id FROM sluice_actions") == before)
        #expect(try fixture.row("SELECT count(*) FROM sluice_queue_rows") == "2")
        #expect(try fixture.row("SELECT value FROM sluice_counters WHERE name = 'action'") == "2")
    }

    @Test("Of several bad values, the message names the first in one order")
    func firstProblem() async throws {
        let (_, shell) = try await closedFile()
        let values = [
            ("id", "5"), ("attempts", "5"), ("queue", "''"), ("kind", "''"), ("payload", "'x'"),
            ("sort_key", "x'00'"), ("not_before", "'x'"), ("expires_at", "'x'"), ("tag", "''"),
            ("gate", "''"), ("version", "0"),
        ]
        let needed = ["queue", "kind", "payload"]
        for first in values.indices {
            // The values before it are good, or left out.
            let good = values[..<first].filter { needed.contains($0.0) }.map { ($0.0, "'1'") }
            let row = good + values[first...]
            let columns = row.map(\.0).joined(separator: ", ")
            let given = row.map(\.1).joined(separator: ", ")
            let message = await shell.refusal("INSERT INTO sluice_actions (\(columns)) VALUES (\(given))")
            let named = first == 1 ? "sluice_actions: leave out" : "sluice_actions.\(values[first].0) "
            #expect(message.contains(named), "\(columns): \(message)")
        }
        #expect(try await shell.line("SELECT count(*) FROM sluice_queue_rows") == "0")
    }

    @Test("A time has up to six digits after the second, with or without a Z")
    func times() async throws {
        let (_, shell) = try await closedFile()
        let forms = [
            "'2026-01-01T00:00:00'": "2026-01-01T00:00:00.000000Z",
            "'2026-01-01 00:00:00Z'": "2026-01-01T00:00:00.000000Z",
            "'2026-01-01T00:00:00.5'": "2026-01-01T00:00:00.500000Z",
            "'2026-01-01T00:00:00.123456Z'": "2026-01-01T00:00:00.123456Z",
            "'1969-12-31T23:59:58.5Z'": "1969-12-31T23:59:58.500000Z",
            "'0000-01-01T00:00:00Z'": "0000-01-01T00:00:00.000000Z",
            "'9999-12-31T23:59:59.999999Z'": "9999-12-31T23:59:59.999999Z",
            "-1500001": "1969-12-31T23:59:58.499999Z",
            "9223372036854775807": "9223372036854775807",
            "-9223372036854775808": "-9223372036854775808",
        ]
        for (given, shown) in forms {
            try await shell.run(
                """
                DELETE FROM sluice_actions;
                \(Self.insert), not_before, expires_at) VALUES ('q', 'note', '1', \(given), \(given));
                """
            )
            let times = "SELECT not_before || ' ' || expires_at FROM sluice_actions"
            #expect(try await shell.line(times) == "\(shown) \(shown)", "\(given)")
            try await shell.run("UPDATE sluice_actions SET next_attempt_at = \(given)")
            #expect(try await shell.line("SELECT next_attempt_at FROM sluice_actions") == shown, "\(given)")
        }
    }

    @Test("Names of 512 bytes, kinds of 255 and any JSON value are taken")
    func limits() async throws {
        let (_, shell) = try await closedFile()
        for payload in ["null", "1", "\"é\"", "[]", "{\"a\":{\"b\":[1,2]}}", " true "] {
            try await shell.run(
                "\(Self.insert)) VALUES (printf('%.*c', 512, 'q'), printf('%.*c', 255, 'k'), '\(payload)')"
            )
        }
        #expect(try await shell.line("SELECT count(*) FROM sluice_actions WHERE length(queue) = 512") == "6")
        let path = "SELECT payload ->> '$.a.b[1]' FROM sluice_actions WHERE id = 5"
        #expect(try await shell.line(path) == "2")
    }

    @Test("A queue without actions takes the type of the next sort key, by SQL too")
    func emptied() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("1", by: .date(Date(timeIntervalSince1970: 0)))
        _ = try await fixture.store.drain()
        try await fixture.shell.run("\(Self.insert), sort_key) VALUES ('q', 'note', '\"2\"', 'some text')")
        #expect(await refusal { try await fixture.store.add("3", by: .integer(0)) } == .sortKeyMismatch)
        try await fixture.store.add("4", by: .text("another text"))
        #expect(try await fixture.store.drain() == ["4", "2"])
    }

    @Test("While no engine opens the file, INSERT writes places, of the oldest of many actions")
    func places() async throws {
        let (file, shell) = try await closedFile()
        let insert = "\(Self.insert), sort_key)"
        try await shell.run("\(insert) VALUES ('q', 'note', '\"2\"', 2), ('q', 'note', '\"1\"', 1)")
        let ordered = "SELECT value FROM sluice_counters WHERE name = 'ordered'"
        let places = "SELECT action_id FROM sluice_order_rows ORDER BY queue_id, sort_key, action_id"
        try await shell.run("UPDATE sluice_counters SET value = 131070 WHERE name = 'action'")
        try await shell.run("\(insert) VALUES ('q', 'note', '\"3\"', 3)")
        #expect(try await shell.line(ordered) == "0")
        #expect(try await shell.run(places) == [])
        try await shell.run("\(insert) VALUES ('q', 'note', '\"0\"', 0)")
        #expect(try await shell.line(ordered) == "16384")
        #expect(try await shell.run(places) == ["2", "1"])
        let fixture = try await StoreFixture(file: file)
        #expect(try await fixture.store.drain() == ["0", "1", "2", "3"])
    }

    @Test("G5: each action that SQL enqueues has an idempotency key of its own")
    func keys() async throws {
        let fixture = try await StoreFixture()
        try await fixture.shell.run("\(Self.insert)) VALUES ('q', 'note', '1'), ('q', 'note', '2')")
        var keys: Set<Substring> = []
        for _ in 0..<2 {
            let action = try await fixture.store.take()
            keys.insert(action.idempotencyKey.prefix(16))
            try await fixture.store.settle(action, .success)
        }
        #expect(keys.count == 2)
    }
}
