import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Constraints and query plans", .watched)
struct SQLConstraintTests {
    private static let action = """
        INSERT INTO sluice_action_rows (id, queue_id, sort_key, enqueued_at_us, nonce, kind, payload) VALUES
        """

    /// The tables that grow with the backlog, and what the engine's statements call them.
    private static let large: Set<Substring> = [
        "a", "d", "h", "q", "sluice_action_rows", "sluice_dead_rows", "sluice_attempt_rows",
        "sluice_queue_rows",
    ]

    /// Statements on the tables that would leave a bad state.
    static let refused = [
        "INSERT INTO sluice_queue_rows (name, sort_type) VALUES ('', 'arrival')",
        "INSERT INTO sluice_queue_rows (name, sort_type) VALUES ('q', 'arrival')",
        "INSERT INTO sluice_queue_rows (name, sort_type) VALUES ('a' || char(0), 'arrival')",
        "INSERT INTO sluice_queue_rows (name, sort_type) VALUES (printf('%.*c', 513, 'q'), 'arrival')",
        "INSERT INTO sluice_queue_rows (name, sort_type) VALUES ('new', 'blob')",
        "UPDATE sluice_queue_rows SET blocked_by = 'bored', blocked_action_id = 1, blocked_at_us = 1",
        "UPDATE sluice_queue_rows SET blocked_by = 'failed'",
        "UPDATE sluice_queue_rows SET blocked_action_id = 1",
        "UPDATE sluice_queue_rows SET blocked_by = 'failing', blocked_action_id = 1, blocked_at_us = 1",
        "UPDATE sluice_queue_rows SET fail_through_id = 1", "UPDATE sluice_queue_rows SET fail_key = 1",
        """
        UPDATE sluice_queue_rows
        SET blocked_by = 'failing', blocked_action_id = 1, blocked_at_us = 1, fail_through_id = 1
        """,
        "\(action) (9, 1, NULL, 0, 0, 'k', '1')", "\(action) (9, 1, x'00', 0, 0, 'k', '1')",
        "\(action) (9, 1, 0, 0, 0, '', '1')", "\(action) (9, 1, 0, 0, 0, printf('%.*c', 256, 'k'), '1')",
        "\(action) (9, 1, 0, 0, 0, 'k', NULL)", "\(action) (9, 1, 0, 'now', 0, 'k', '1')",
        "\(action) (1, 1, 0, 0, 0, 'k', '1')", "\(action) (9, NULL, 0, 0, 0, 'k', '1')",
        "INSERT INTO sluice_state_rows (action_id, attempts) VALUES (1, -1)",
        "INSERT INTO sluice_state_rows (action_id, next_attempt_at_us) VALUES (1, 1)",
        "INSERT INTO sluice_state_rows (action_id, retry_delay_us) VALUES (1, 1)",
        "INSERT INTO sluice_state_rows (action_id, next_attempt_at_us, retry_delay_us) VALUES (1, 1, -1)",
        "INSERT INTO sluice_state_rows (action_id, is_suspect) VALUES (1, 2)",
        "INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (1, NULL)",
        "INSERT INTO sluice_state_rows (action_id, crashes) VALUES (1, -1)",
        "INSERT INTO sluice_claim_rows VALUES (1, -1, 1, 1, 1, 0, 0, 1)",
        "INSERT INTO sluice_claim_rows VALUES (1, 0, 1, 1, 1, -1, 0, 1)",
        "INSERT INTO sluice_claim_rows VALUES (1, 0, 1, 1, 1, 0, 0, 1), (1, 0, 2, 2, 1, 0, 0, 1)",
        "INSERT INTO sluice_attempt_rows VALUES (1, 1, 1, 'bored', '', 0, 0)",
        "INSERT INTO sluice_attempt_rows VALUES (1, 1, 1, 'retry', NULL, 0, 0)",
        """
        INSERT INTO sluice_dead_rows
        VALUES (1, 1, 0, 'arrival', 0, 0, 'k', 0, 0, 'bored', '', '1', 1, NULL, NULL, NULL)
        """,
        "UPDATE sluice_action_rows SET version = 0", "UPDATE sluice_action_rows SET tag = ''",
        "UPDATE sluice_action_rows SET tag = 'a' || char(0)",
        "UPDATE sluice_action_rows SET kind = 'a' || char(0)",
        "UPDATE sluice_action_rows SET kind = char(0, 233)",
        "INSERT INTO sluice_gate_rows VALUES ('', 1, 1, 1, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO sluice_gate_rows VALUES ('a' || char(0), 1, 1, 1, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO sluice_gate_rows VALUES ('g', 2, 1, 1, NULL, NULL, NULL, NULL, NULL)",
        "INSERT INTO sluice_gate_rows VALUES ('g', 1, 1, 1, 7, NULL, NULL, NULL, NULL)",
        "INSERT INTO sluice_gate_rows VALUES ('g', 1, 1, 1, NULL, NULL, NULL, 2, 1)",
        "INSERT INTO sluice_gate_rows VALUES ('g', 0, 1, 1, NULL, NULL, NULL, 2, NULL)",
        "INSERT INTO sluice_gate_rows VALUES ('g', 0, 1, 1, NULL, NULL, NULL, 2, -1)",
        "INSERT INTO sluice_rate_rows VALUES ('', 1)",
        "INSERT INTO sluice_hold_rows VALUES (1, 'a*', 'h', '', 1, NULL)",
        "INSERT INTO sluice_hold_rows VALUES (1, '*/*', 'h', '', 1, NULL)",
        "INSERT INTO sluice_hold_rows VALUES (1, '', 'h', '', 1, NULL)",
        "INSERT INTO sluice_key_rows VALUES (1, '', 1, 1, NULL, 0)",
        "INSERT INTO sluice_key_rows VALUES (1, 'k', 1, -1, NULL, 0)",
        "INSERT INTO sluice_key_rows VALUES (1, 'k', 1, 1, NULL, 2)",
        "INSERT INTO sluice_changes (epoch, change) VALUES (1, 'wake')",
        "INSERT INTO sluice_changes (epoch, queue_id, change) VALUES (1, 1, 'gate')",
        "INSERT INTO sluice_changes (queue_id, change) VALUES (1, 'wake')",
        "INSERT INTO sluice_runner_rows VALUES (1, 1, NULL, 0, 0, NULL, '{}')",
        "INSERT INTO sluice_checkpointer VALUES (2, 1, 1, '', 0, NULL)",
        "INSERT INTO sluice_changes (epoch, queue_id, change) VALUES (1, 1, 'bored')",
        "UPDATE sluice_counters SET value = -1", "INSERT INTO sluice_counters VALUES ('action', 0)",
    ]

    @Test("The tables refuse bad states, whoever writes them", arguments: refused)
    func constraints(_ sql: String) async throws {
        let fixture = try await StoreFixture(isRunning: false)
        try await fixture.store.add("a")
        let error = #expect(throws: SQLiteError.self) { try fixture.execute(sql) }
        #expect(error?.code.primary == .constraint, "\(error as Any)")
        #expect(try await fixture.store.actionCount() == 1)
    }

    @Test("All tables are STRICT, and all names begin with sluice_")
    func strict() async throws {
        let (_, shell) = try await closedFile()
        let loose =
            """
            SELECT name FROM pragma_table_list
            WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite%'
            """
        #expect(try await shell.run(loose) == [])
        #expect(try await shell.line("SELECT count(*) > 5 FROM pragma_table_list WHERE strict") == "1")
        let strangers =
            "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sluice_%' AND name NOT LIKE 'sqlite_%'"
        #expect(try await shell.run(strangers) == [])
    }

    @Test("After all kinds of work the file is whole, by SQLite's own check")
    func integrity() async throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SplitMix(seed: seed)
        var fixture = try await StoreFixture()
        let settlements: [Settlement] = [
            .success, .success, .retry(after: .zero, error: "e"), .release(after: .zero), .stop,
            .fail(.failed, .skip, error: "e"), .fail(.failed, .block, error: "e"),
            .fail(.failed, .failQueue, error: "e"),
        ]
        for round in 0..<300 {
            let queue = QueueName("q/\(Int.random(in: 0..<5, using: &generator))")
            try await fixture.store.add(
                "\(round)",
                in: queue,
                by: .integer(.random(in: 0..<9, using: &generator))
            )
            if case .claimed(let action) = try await fixture.store.claim(queue) {
                try await fixture.store.settle(
                    action,
                    try #require(settlements.randomElement(using: &generator))
                )
            }
            if round % 10 == 0 { _ = try await fixture.store.retryNow(.prefix([])) }
            if round % 100 == 99 { fixture = try await fixture.reopened() }
        }
        let shell = fixture.shell
        #expect(try await shell.line("PRAGMA integrity_check") == "ok", "seed \(seed)")
        // What refers to actions refers to some.
        let lost = """
            SELECT 'place', id FROM sluice_action_rows AS a
                WHERE not_before_us IS NULL
                  AND id <= (SELECT value FROM sluice_counters WHERE name = 'ordered')
                  AND NOT EXISTS (SELECT 1 FROM sluice_order_rows AS o WHERE o.queue_id = a.queue_id
                                  AND o.sort_key = a.sort_key AND o.action_id = a.id)
            UNION ALL
            SELECT 'state', action_id FROM sluice_state_rows
                WHERE action_id NOT IN (SELECT id FROM sluice_action_rows)
            UNION ALL SELECT 'claim', action_id FROM sluice_claim_rows
            UNION ALL SELECT 'attempt', action_id FROM sluice_attempt_rows
                WHERE action_id NOT IN
                    (SELECT id FROM sluice_action_rows UNION SELECT id FROM sluice_dead_rows)
            UNION ALL SELECT 'blocked', blocked_action_id FROM sluice_queue_rows
                WHERE blocked_by <> 'failing' AND blocked_action_id NOT IN (SELECT id FROM sluice_action_rows)
            UNION ALL SELECT 'both', id FROM sluice_dead_rows WHERE id IN (SELECT id FROM sluice_action_rows);
            """
        #expect(try await shell.run(lost) == [], "seed \(seed)")
        await fixture.store.close()
    }

    /// Has the engine prepare what it uses.
    private func statementsOfUse(_ store: Store) async throws -> [String] {
        let ids = try await store.add((0..<8).map { ActionDraft("\($0)", depthLimit: 99) })
        for settlement in [
            Settlement.retry(after: .zero, error: "e"), .release(after: .zero), .stop, .success,
            .fail(.failed, .skip, error: "e"), .fail(.failed, .block, error: "e"),
        ] {
            try await store.settle(try await store.take(), settlement)
        }
        _ = try await store.retryNow(.exact("q"))
        _ = try await store.cancel(ids[7])
        _ = try await store.admitScheduled()
        _ = try await store.queuesWithWork(.newest(thenLimit: 10))
        _ = try await store.queuesWithWork(.ordered(after: QueueID(rawValue: 0), limit: 10))
        try await store.settle(try await store.take(), .fail(.failed, .failQueue, error: "e"))
        _ = try await store.requeue(ids[1])
        try await store.readForeignChanges()
        return try await store.write(sync: .later) { $0.connection.cachedTexts }
    }

    @Test(
        "G9: no statement of the engine scans or sorts the actions, the claim's and the start's least of all"
    )
    func plans() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let texts = try await statementsOfUse(store)
        let statements = texts.filter {
            !["BEGIN", "COMMIT", "ROLLBACK", "PRAGMA"].contains($0.prefix { $0.isLetter })
        }
        #expect(statements.count > 30)
        let heads = statements.filter { $0.contains("SELECT sort_key, action_id FROM sluice_order_rows") }
        let starts = statements.filter { $0.contains("WITH RECURSIVE busy") }
        try #require(heads.count == 2 && starts.count == 1)
        let connection = try fixture.connect()
        func plan(_ sql: String) throws -> [String] {
            try connection.prepare("EXPLAIN QUERY PLAN \(sql)").all { $0.text(3) }
        }
        for statement in statements {
            let plan = try plan(statement)
            // One batch, by its ids.
            if statement.contains("ORDER BY queue_id, sort_key, id") {
                #expect(plan.contains { $0.contains("(rowid>? AND rowid<?)") }, "\(plan)")
                continue
            }
            #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(statement): \(plan)")
            // Scans of what is few are fine: of the recursion, of states, of claims.
            let scans = plan.filter { line in
                let words = line.split(separator: " ")
                guard words.count > 1, words[0] == "SCAN" else { return false }
                // These indexes hold only what is scheduled or blocked.
                if line.contains("INDEX sluice_action_schedule") || line.contains("sluice_queue_blocked") {
                    return false
                }
                return Self.large.contains(words[1])
            }
            #expect(scans == [], "\(statement): \(plan)")
        }
        for head in heads {
            #expect(
                try plan(head).contains {
                    $0.contains("SEARCH sluice_order_rows USING PRIMARY KEY (queue_id=?")
                }
            )
        }
        let steps = try plan(starts[0]).filter {
            $0.contains("sluice_order_rows USING PRIMARY KEY (queue_id>?)")
        }
        #expect(steps.count == 2)
    }

    @Test("What runs for each action makes no table for the time of the statement")
    func noEphemeralTables() async throws {
        let fixture = try await StoreFixture()
        let texts = try await statementsOfUse(fixture.store)
        let tables = ["sluice_action_rows", "sluice_claim_rows", "sluice_state_rows"]
        let hot = texts.filter { text in
            tables.contains { text.hasPrefix("INSERT INTO \($0)") || text.hasPrefix("DELETE FROM \($0)") }
                && !text.contains("RETURNING") && !text.contains("SELECT")
        }
        #expect(hot.count >= 5)
        let connection = try fixture.connect()
        for statement in hot + texts.filter({ $0.hasPrefix("SELECT q.name, q.blocked_by") }) {
            let operations = try connection.prepare("EXPLAIN \(statement)").all { $0.text(1) }
            #expect(!operations.contains("OpenEphemeral"), "\(statement)")
        }
    }

    @Test("The head of a queue is found by one look-up in the views too")
    func viewPlans() async throws {
        let (_, shell) = try await closedFile()
        let one = try await shell.run("EXPLAIN QUERY PLAN SELECT * FROM sluice_queues WHERE queue = 'q'")
        #expect(one.contains { $0.contains("SEARCH o USING PRIMARY KEY (queue_id=?)") }, "\(one)")
        // The newest actions, which are few, are sorted; of the others those of the queue are looked up.
        #expect(
            one.filter { $0.contains("SEARCH a USING INTEGER PRIMARY KEY (rowid>?)") }.count == 1,
            "\(one)"
        )
        #expect(!one.contains { $0.contains("SCAN a") || $0.contains("SCAN o") }, "\(one)")
        let actionsOfOne = try await shell.run(
            "EXPLAIN QUERY PLAN SELECT * FROM sluice_actions WHERE queue = 'q'"
        )
        #expect(
            actionsOfOne.contains { $0.contains("SEARCH o USING PRIMARY KEY (queue_id=?)") },
            "\(actionsOfOne)"
        )
        let actions = try await shell.run("EXPLAIN QUERY PLAN DELETE FROM sluice_actions WHERE id = 1")
        #expect(
            !actions.contains { $0.contains("SCAN a") || $0.contains("SCAN sluice_action_rows") },
            "\(actions)"
        )
    }
}
