import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A file that has something of everything, small pages, and a row in each of its tables.
struct FullFile: Sendable {
    /// So small that most tables have several.
    static let pageSize = 1_024

    let bytes: [UInt8]
    /// What waits, by its number, and the queue of each.
    let actions: [ActionID: QueueName]
    let deadLetters: Set<ActionID>
    /// The row of each that waits.
    private let rows: [ActionID: [Value]]

    /// What a broker runs that has the routes and gates for it: all but what has parked its queue, and what
    /// stands behind that.
    var runnable: Set<ActionID> { Set(actions.filter { $0.value != "parked/a" }.keys) }

    var pageCount: Int { bytes.count / Self.pageSize }

    static func make() async throws -> FullFile {
        let site = try Site()
        let path = try #require(site.file).path
        try begin(path)
        let broker = try await site.broker {
            // So few that some have their order in the file and some have it not.
            $0.file.writeBehind.newest = 40
            $0.file.writeBehind.batch = 20
        }
        try await fill(broker, site.clock)
        await broker.close()
        try site.shell(leftovers)
        let connection = try Connection(path: path, mode: .write)
        try connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try #require(connection.pragma("page_size") == "\(pageSize)")
        let actions = try connection.prepare(
            "SELECT a.id, q.name FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q USING (queue_id)"
        )
        .all { (ActionID(rawValue: $0.int64(0)), QueueName($0.text(1))) }
        let dead = try connection.prepare("SELECT id FROM sluice_dead_rows").all {
            ActionID(rawValue: $0.int64(0))
        }
        connection.close()
        return FullFile(
            bytes: [UInt8](try Data(contentsOf: URL(fileURLWithPath: path))),
            actions: Dictionary(uniqueKeysWithValues: actions),
            deadLetters: Set(dead),
            rows: try rows(path)
        )
    }

    /// The actions whose rows are in another file as they are in this one.
    func untouched(in path: String) -> Set<ActionID> {
        let found = try? Self.rows(path)
        return Set((found ?? [:]).filter { rows[$0.key] == $0.value }.keys)
    }

    /// The actions that stand in another file, waiting or dead.
    static func kept(in path: String) throws -> Set<ActionID> {
        let connection = try Connection(path: path, mode: .read)
        defer { connection.close() }
        return Set(
            try connection.prepare("SELECT id FROM sluice_action_rows UNION SELECT id FROM sluice_dead_rows")
                .all { ActionID(rawValue: $0.int64(0)) }
        )
    }

    private static func rows(_ path: String) throws -> [ActionID: [Value]] {
        let connection = try Connection(path: path, mode: .read)
        defer { connection.close() }
        let found = try connection.prepare("SELECT * FROM sluice_action_rows")
            .all { row in (ActionID(rawValue: row.int64(0)), (0..<13).map { row.value($0) }) }
        return Dictionary(found) { $1 }
    }

    /// Writes it, or what was made of it, to a place of its own.
    static func write(_ bytes: [UInt8]) throws -> TemporaryFile {
        let place = try TemporaryFile()
        try Data(bytes).write(to: URL(fileURLWithPath: place.path))
        return place
    }
}

// MARK: - Making it

extension FullFile {
    /// An application's file, as the page size is that of the first write.
    private static func begin(_ path: String) throws {
        let connection = try Connection(path: path, mode: .create)
        defer { connection.close() }
        try connection.execute(
            """
            PRAGMA page_size = \(pageSize);
            PRAGMA auto_vacuum = INCREMENTAL;
            CREATE TABLE own (id INTEGER PRIMARY KEY);
            """
        )
    }

    private static func fill(_ broker: Broker, _ clock: ManualClock) async throws {
        try RoughUse.setDisciplines(of: broker)
        let skipping = RouteOptions(retry: .fixed(.seconds(600)), failure: .all(.skip))
        try broker.route("dead/*", Note.self, skipping) { _, _ in .fail("no such room") }
        try broker.route("parked/*", Note.self) { _, _ in .fail("no such room") }
        try broker.route("retry/*", Note.self, skipping) { _, _ in .retry }
        try broker.route("pass/*", Note.self, skipping) { note, _ in
            note.text.hasPrefix("start") ? .fail("closed") : .retry
        }
        var gated = RouteOptions()
        gated.gates = ["route"]
        try broker.route("gated/*", Note.self, gated) { _, _ in .success }
        try await broker.openGate("open", isPersistent: true)
        try await broker.closeGate("shut", isPersistent: true)
        try await broker.hold("held/*", by: "operator", reason: "a look at it")
        try await broker.audit("Hold: queue held/*", by: "operator", result: "held")
        for (name, count) in [("dead/a", 5), ("parked/a", 3), ("retry/a", 3), ("gated/a", 2), ("none/a", 2)] {
            for number in 0..<count { try await broker.enqueue(Note("\(number)", in: QueueName(name))) }
        }
        try await broker.enqueue(Note("start", in: "pass/a"), EnqueueOptions(startsGroups: ["g"]))
        try await broker.enqueue(Note("member", in: "pass/a"), EnqueueOptions(memberOf: ["g"]))
        try await broker.enqueue(Note("other", in: "pass/a"))
        try await running(broker) {
            try await until { broker.fileEngine.isAtRest(butFor: 0) }
        }
        try await wait(broker, Date(timeIntervalSince1970: Double(clock.wallMicroseconds) / 1e6))
    }

    /// What waits for the next broker.
    private static func wait(_ broker: Broker, _ now: Date) async throws {
        let filling = String(repeating: "x", count: 300)
        for number in 0..<40 {
            try await broker.enqueue(Note("\(number) \(filling)", in: QueueName("run/\(number % 5)")))
        }
        for number in 0..<4 {
            let key = Double(number) / 3
            try await broker.enqueue(Note("\(number)", in: "run/real", order: .real(-key)))
            try await broker.enqueue(Note("\(number)", in: "run/text", order: .text("k\(9 - number)")))
            try await broker.enqueue(Note("\(number)", in: "run/date", order: .date(now - key)))
            try await broker.enqueue(Note("\(number)", in: "held/a"))
            try await broker.enqueue(Note("\(number)", in: "batch/a"))
            try await broker.enqueue(Note("\(number)", in: "suspect/a"))
            try await broker.enqueue(Note("\(number)", in: "wide/a"), EnqueueOptions(gate: "shut"))
        }
        for (number, gate) in ["open", "shut"].enumerated() {
            let options = EnqueueOptions(
                notBefore: now + 60,
                expiresAt: now + 6_000,
                tag: "tag \(number)",
                gate: GateName(gate),
                key: DeduplicationKey("key \(number)", retention: .seconds(60)),
                startsGroups: ["first"],
                memberOf: ["second"]
            )
            try await broker.enqueue(Note("later", in: "run/later"), options)
        }
        try await broker.enqueue(Note("large " + String(repeating: "y", count: 5_000), in: "run/large"))
    }

    /// What a process that has died leaves behind, and rows that come only with a second process.
    private static let leftovers = """
        INSERT INTO sluice_runner_rows
        SELECT value, 7, 'another start-of-the machine', 7, 0, 0, '{}'
        FROM sluice_counters WHERE name = 'epoch';
        INSERT INTO sluice_claim_rows (queue_id, slot, action_id, claim, started_at_us, trial_size)
        SELECT a.queue_id, 0, min(a.id), (n.value << 32) + 4000000, a.enqueued_at_us, 0
        FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q USING (queue_id) JOIN sluice_counters AS n
        WHERE q.name = 'suspect/a' AND n.name = 'epoch';
        INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
        SELECT n.value, a.queue_id, a.id, 'insert' FROM sluice_action_rows AS a JOIN sluice_counters AS n
        WHERE n.name = 'epoch' ORDER BY a.id LIMIT 2;
        INSERT INTO sluice_rate_rows VALUES ('run/*', 0);
        INSERT INTO sluice_checkpointer VALUES (1, 7, 7, 'another start-of-the machine', 0, 0);
        INSERT OR IGNORE INTO sluice_closed_group_rows
        SELECT queue_id, 'closed' FROM sluice_queue_rows WHERE name = 'pass/a';
        INSERT OR IGNORE INTO sluice_pass_rows
        SELECT a.queue_id, a.sort_key, a.id, 1
        FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q USING (queue_id)
        WHERE q.name = 'pass/a' ORDER BY a.id LIMIT 1;
        INSERT OR IGNORE INTO sluice_batch_rows (queue_id, due_us, is_open)
        SELECT queue_id, 0, 0 FROM sluice_queue_rows WHERE name = 'batch/a';
        INSERT OR IGNORE INTO sluice_deferred_rows (action_id, gate)
        SELECT a.id, 'shut' FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q USING (queue_id)
        WHERE q.name = 'wide/a' LIMIT 1;
        UPDATE sluice_action_rows SET not_before_us = 9223372036854775806
        WHERE id IN (SELECT action_id FROM sluice_deferred_rows);
        INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id)
        SELECT queue_id, sort_key, id FROM sluice_action_rows WHERE id <= 60 AND not_before_us IS NULL;
        UPDATE sluice_counters SET value = 60 WHERE name = 'ordered' AND value < 60;
        """
}
