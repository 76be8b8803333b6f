#if CommandLineTool
import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The application's type of sort key prevails over that of an INSERT", .watched)
struct SQLSortTypeTests {
    private static let insert = "INSERT INTO sluice_actions (queue, kind, payload"

    private func draft(_ text: String, _ key: SortKey) -> ActionDraft {
        ActionDraft(queue: "q", kind: "note", sortKey: key, fixesSortKind: true, payload: "\"\(text)\"")
    }

    @Test("G2: an INSERT without a key does not lock the application out of its queue of dates")
    func conversation() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try broker.configure("chat", QueueOptions(sortKey: .date))
        let log = EventLog<String>()
        try broker.routeNotes("chat", to: log)
        try site.shell("\(Self.insert)) VALUES ('chat', 'note', '{\"text\":\"by hand\"}')")
        let now = site.clock.now.date
        // The shell's row has the time of the machine, which is later than that of the test's clock.
        try await broker.enqueue(Note("first", in: "chat", order: .date(now)))
        try await broker.enqueue(Note("last", in: "chat", order: .date(.distantFuture)))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["first", "by hand", "last"])
        await broker.close()
    }

    @Test("What reads as the application's type is brought to it; what does not is set aside with the reason")
    func converted() async throws {
        let fixture = try await StoreFixture()
        let shell = fixture.shell
        try await shell.run(
            """
            \(Self.insert), sort_key) VALUES ('q', 'note', '"c"', '2026-01-03T00:00:00.000001Z'),
                ('q', 'note', '"a"', '2026-01-01 00:00:00'), ('q', 'note', '"none"', 'tomorrow'),
                ('q', 'note', '"d"', '2026-01-04T00:00:00Z');
            """
        )
        let b = try Date("2026-01-02T00:00:00Z", strategy: .iso8601)
        _ = try await fixture.store.enqueue([draft("b", .date(b))])
        #expect(
            try await shell.run("SELECT payload, sort_key FROM sluice_actions ORDER BY payload")
                == [
                    "\"a\"|2026-01-01T00:00:00.000000Z", "\"b\"|2026-01-02T00:00:00.000000Z",
                    "\"c\"|2026-01-03T00:00:00.000001Z", "\"d\"|2026-01-04T00:00:00.000000Z",
                ]
        )
        let dead = try await shell.line("SELECT payload || cause || error FROM sluice_dead")
        #expect(dead.hasPrefix("\"none\"undecodableits sort key, of the type text"), "\(dead)")
        #expect(try await fixture.store.drain() == ["a", "b", "c", "d"])
    }

    @Test("Numbers are brought from one type to another, and what runs keeps its handler")
    func numbers() async throws {
        let fixture = try await StoreFixture()
        let shell = fixture.shell
        try await shell.run(
            "\(Self.insert), sort_key) VALUES ('q', 'note', '\"1\"', 1), ('q', 'note', '\"3\"', 3)"
        )
        let running = try await fixture.store.take()
        _ = try await fixture.store.enqueue([draft("2", .real(2.5))])
        try await fixture.store.settle(running, .retry(after: .zero, error: "e"))
        #expect(try await fixture.store.drain() == ["1", "2", "3"])
    }

    @Test("An INSERT of another type into a queue that has its type is refused, and told the type")
    func refused() async throws {
        let fixture = try await StoreFixture()
        let keys: [(QueueName, SortKey, String, String)] = [
            ("arrival", .arrival, "1", "must be left out"),
            ("integers", .integer(1), "'x'", "must be an integer"),
            ("dates", .date(.distantPast), "'x'", "must be a date"),
            ("dates", .date(.distantPast), "NULL", "must be a date"),
            ("reals", .real(1), "'x'", "must be a number"), ("texts", .text("a"), "1", "must be text"),
        ]
        for (queue, key, value, message) in keys {
            try await fixture.store.add("1", in: queue, by: key)
            let said = await fixture.shell.refusal(
                "\(Self.insert), sort_key) VALUES ('\(queue)', 'note', '1', \(value))"
            )
            #expect(said.contains("sluice_actions.sort_key \(message)"), "\(said)")
            let edit = "UPDATE sluice_actions SET sort_key = \(value) WHERE queue = '\(queue)'"
            #expect(await fixture.shell.refusal(edit).contains("sluice_actions.sort_key \(message)"))
        }
    }
}
#endif
