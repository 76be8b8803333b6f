import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What the contract lets a shell do, each with a broker that runs meanwhile and with none: the outcome is
/// the same.
@Suite("SQL with and without a broker", .serialized, .watched(minutes: 4))
struct SQLPresenceTests {
    enum Presence: String, CaseIterable { case running, none }

    /// Statements, and what runs behind them of the actions `first`, `b`, `c` and `d`, whose sort keys are 0,
    /// 10, 20 and 30.
    ///
    /// While a broker runs, `first` does when they are made.
    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sql: String
        /// What runs, in its order.
        let order: [String]
        /// What runs where no broker ran at the time, if it is something else.
        var orderWithout: [String]?
        /// What runs in another queue.
        var others: [String] = []
        /// The state that the queue comes to a stop in, with the words of its reason; `nil`: it is drained.
        var because: String?
        /// What lets it go on, and what runs then.
        var remedy: (sql: String, order: [String])?
    }

    static let changes = [
        Change(
            testDescription: "INSERT",
            sql: """
                INSERT INTO sluice_actions (queue, kind, payload, sort_key)
                VALUES ('q', 'note', '{"text":"new"}', 15)
                """,
            order: ["first", "b", "new", "c", "d"]
        ),
        Change(
            testDescription: "DELETE",
            sql: "DELETE FROM sluice_actions WHERE payload ->> 'text' = 'b'",
            order: ["first", "c", "d"]
        ),
        Change(
            testDescription: "DELETE of the head, which runs if any does",
            sql: "DELETE FROM sluice_actions WHERE sort_key = 0",
            order: ["first", "b", "c", "d"],
            orderWithout: ["b", "c", "d"]
        ),
        Change(
            testDescription: "UPDATE of sort_key",
            sql: "UPDATE sluice_actions SET sort_key = 5 WHERE sort_key = 30",
            order: ["first", "d", "b", "c"]
        ),
        Change(
            testDescription: "UPDATE of payload",
            sql: "UPDATE sluice_actions SET payload = '{\"text\":\"edited\"}' WHERE sort_key = 10",
            order: ["first", "edited", "c", "d"]
        ),
        Change(
            testDescription: "UPDATE of queue",
            sql: "UPDATE sluice_actions SET queue = 'other' WHERE sort_key = 10",
            order: ["first", "c", "d"],
            others: ["b"]
        ),
        Change(
            testDescription: "UPDATE of kind",
            sql: "UPDATE sluice_actions SET kind = 'novel' WHERE sort_key = 20",
            order: ["first", "b"],
            because: "unknown kind|unknown kind",
            remedy: ("UPDATE sluice_actions SET kind = 'note'", ["c", "d"])
        ),
        Change(
            testDescription: "UPDATE of next_attempt_at",
            sql: "UPDATE sluice_actions SET next_attempt_at = '2101-02-03T04:05:06Z' WHERE sort_key = 10",
            order: ["first"],
            because: "retry|waiting for retry until 2101-02-03T04:05:06.000000Z",
            remedy: ("UPDATE sluice_actions SET next_attempt_at = NULL", ["b", "c", "d"])
        ),
        Change(
            testDescription: "UPDATE of not_before",
            sql: "UPDATE sluice_actions SET not_before = '2101-02-03T04:05:06.7Z' WHERE sort_key = 10",
            order: ["first", "c", "d"],
            because: "scheduled|scheduled for 2101-02-03T04:05:06.700000Z",
            remedy: ("UPDATE sluice_actions SET not_before = NULL", ["b"])
        ),
        Change(
            testDescription: "INSERT of a hold, and its DELETE",
            sql: "INSERT INTO sluice_holds (scope, holder, reason) VALUES ('q', 'ops', 'a move')",
            order: ["first"],
            orderWithout: [],
            because: "held|held by ops: a move",
            remedy: ("DELETE FROM sluice_holds", ["b", "c", "d"])
        ),
        Change(
            testDescription: "DELETE of a gate, and its INSERT",
            sql: """
                INSERT INTO sluice_gates (gate) VALUES ('network');
                UPDATE sluice_actions SET gate = 'network' WHERE sort_key = 20;
                DELETE FROM sluice_gates WHERE gate = 'network'
                """,
            order: ["first", "b"],
            because: "gate|waiting for gate network",
            remedy: ("INSERT INTO sluice_gates (gate) VALUES ('network')", ["c", "d"])
        ),
    ]

    /// A broker whose first action waits for a signal while it runs.
    private func broker(
        _ site: Site,
        _ log: EventLog<String>,
        _ others: EventLog<String>,
        _ go: Signal
    ) async throws -> Broker {
        let broker = try await site.broker { $0.file.durability = .everything }
        try broker.route("q", Note.self) { note, _ in
            log.append(note.text)
            if note.text == "first" { await go.receivedInAnyCase() }
            return .success
        }
        try broker.routeNotes("other", to: others)
        return broker
    }

    private func fill(_ broker: Broker) async throws {
        let notes = ["first", "b", "c", "d"].enumerated().map { index, text in
            Note(text, in: "q", order: .integer(Int64(index * 10)))
        }
        try await broker.enqueue(notes)
    }

    @Test(
        "G11, G15: a shell's statement does the same whether a broker runs or not",
        arguments: Presence.allCases,
        changes
    )
    func statement(_ presence: Presence, _ change: Change) async throws {
        // Ahead of the shell's clock for as long as the test takes: to the broker it has not been set back.
        let ahead = SystemClock().wallMicroseconds + 600_000_000
        let site = try Site(clock: ManualClock(wallMicroseconds: ahead))
        let (log, others, go) = (EventLog<String>(), EventLog<String>(), Signal())
        let shell = SQLShell(try #require(site.file).path)
        var broker = try await broker(site, log, others, go)
        try await fill(broker)
        if presence == .none {
            await broker.close()
            try await shell.run(change.sql)
            // Nobody is there to be told.
            try await #expect(shell.line("SELECT count(*) FROM sluice_changes") == "0")
            broker = try await self.broker(site, log, others, go)
            go.send()
        }
        let order = presence == .none ? change.orderWithout ?? change.order : change.order
        let all = change.remedy.map { order.isEmpty ? change.order + $0.order : order + $0.order } ?? order
        try await running(broker) { [broker] in
            defer { go.send() }
            if presence == .running {
                _ = try await log.wait(forCount: 1)
                try await shell.run(change.sql)
                // The broker takes the change in before its next claim, without being given time for it.
                go.send()
            }
            try await #expect(log.wait(forCount: order.count) == order)
            try await #expect(others.wait(forCount: change.others.count) == change.others)
            let expected = change.because.map { [$0] } ?? []
            let because = "SELECT state || '|' || because FROM sluice_queues WHERE queue = 'q'"
            try await until { try await shell.run(because) == expected }
            #expect(log.elements == order)
            guard let remedy = change.remedy else { return }
            try await shell.run(remedy.sql)
            try await #expect(log.wait(forCount: all.count) == all)
            try await until { try await broker.actionCount() == 0 }
        }
        #expect(log.elements == all)
        // All was noticed without polling.
        #expect(site.clock.uptime == .zero)
        await broker.close()
    }

    private static let insert = "INSERT INTO sluice_actions (queue, kind, payload) VALUES"

    static let refused = [
        ("\(insert) ('', 'note', '{}')", "sluice_actions.queue"),
        ("\(insert) ('q', NULL, '{}')", "sluice_actions.kind"),
        ("\(insert) ('q', 'note', 'x')", "sluice_actions.payload"),
        ("UPDATE sluice_actions SET queue = NULL", "sluice_actions.queue"),
        ("UPDATE sluice_actions SET sort_key = 'text'", "sluice_actions.sort_key"),
        ("UPDATE sluice_actions SET payload = '{'", "sluice_actions.payload"),
        ("UPDATE sluice_actions SET next_attempt_at = 'soon'", "sluice_actions.next_attempt_at"),
        ("UPDATE sluice_actions SET not_before = '2101-02-30'", "sluice_actions.not_before"),
        ("UPDATE sluice_actions SET attempts = 7", "attempts"),
        ("INSERT INTO sluice_holds (scope) VALUES ('q*')", "sluice_holds.scope"),
        ("INSERT INTO sluice_gates (gate, state) VALUES ('g', 'ajar')", "sluice_gates.state"),
    ]

    @Test(
        "A bad value is refused with the column's name whether a broker runs or not, and the order stands",
        arguments: Presence.allCases
    )
    func refusals(_ presence: Presence) async throws {
        let site = try Site()
        let (log, others, go) = (EventLog<String>(), EventLog<String>(), Signal())
        let shell = SQLShell(try #require(site.file).path)
        var broker = try await broker(site, log, others, go)
        try await fill(broker)
        @Sendable func refuse() async throws {
            for (sql, column) in Self.refused {
                let message = await shell.refusal(sql + ";")
                #expect(message.contains(column), "\(sql): \(message)")
            }
            try await #expect(shell.line("SELECT count(*) FROM sluice_changes") == "0")
        }
        if presence == .none {
            await broker.close()
            try await refuse()
            broker = try await self.broker(site, log, others, go)
            go.send()
        }
        try await running(broker) { [broker] in
            defer { go.send() }
            if presence == .running {
                _ = try await log.wait(forCount: 1)
                try await refuse()
                go.send()
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["first", "b", "c", "d"])
        await broker.close()
    }

    @Test("The views show times in ISO 8601, whether a broker runs or not", arguments: Presence.allCases)
    func times(_ presence: Presence) async throws {
        let site = try Site(clock: ManualClock(wallMicroseconds: SystemClock().wallMicroseconds))
        let (log, others, go) = (EventLog<String>(), EventLog<String>(), Signal())
        let shell = SQLShell(try #require(site.file).path)
        let broker = try await broker(site, log, others, go)
        try await fill(broker)
        try await shell.run(
            """
            INSERT INTO sluice_actions (queue, kind, payload, not_before, expires_at)
            SELECT 'later', 'note', '{}', now_us + 3600000000, now_us + 7200000000 FROM sluice_clock;
            INSERT INTO sluice_holds (scope, until) SELECT 'none', now_us + 3600000000 FROM sluice_clock;
            INSERT INTO sluice_gates (gate) VALUES ('network');
            """
        )
        @Sendable func check() async throws {
            let shown = try await shell.run(
                """
                SELECT enqueued_at FROM sluice_actions UNION ALL
                SELECT not_before FROM sluice_actions WHERE queue = 'later' UNION ALL
                SELECT expires_at FROM sluice_actions WHERE queue = 'later' UNION ALL
                SELECT blocked_until FROM sluice_queues WHERE queue = 'later' UNION ALL
                SELECT since FROM sluice_holds UNION ALL SELECT until FROM sluice_holds UNION ALL
                SELECT since FROM sluice_gates UNION ALL
                SELECT running_since FROM sluice_actions WHERE running_since IS NOT NULL;
                """
            )
            #expect(shown.count == (presence == .running ? 12 : 11))
            let time = #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/#
            for text in shown { #expect(try time.wholeMatch(in: text) != nil, "\(text)") }
        }
        if presence == .running {
            try await running(broker) {
                defer { go.send() }
                _ = try await log.wait(forCount: 1)
                try await check()
            }
        }
        await broker.close()
        if presence == .none { try await check() }
    }
}
