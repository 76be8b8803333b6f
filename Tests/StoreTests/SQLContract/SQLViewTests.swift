import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What `sluice_queues` and its siblings answer.
///
/// They look at the system's wall clock. So the engine's is ahead of it, and no time comes while a test runs.
@Suite("Views", .watched)
struct SQLViewTests {
    private func fixture(isRunning: Bool = true) async throws -> StoreFixture {
        try await StoreFixture(clock: .farAhead(), isRunning: isRunning)
    }

    private func iso(_ time: Timestamp) -> String {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "UTC")
        formatter.dateFormat = "yyyy-MM-dd'T'HH:mm:ss"
        let seconds = formatter.string(
            from: Date(timeIntervalSince1970: Double(time.microseconds / 1_000_000))
        )
        let fraction = String(time.microseconds % 1_000_000)
        return "\(seconds).\(String(repeating: "0", count: 6 - fraction.count))\(fraction)Z"
    }

    /// Six queues, each in another state: running, parked, undecodable, unknown kind, no route, retry,
    /// scheduled, and one that only waits for its turn.
    private func fill(_ fixture: StoreFixture) async throws {
        let store = fixture.store
        for queue in ["running", "parked", "undecodable", "unknown", "unrouted", "retry", "idle"] {
            try await store.add("\(queue) 1", in: QueueName(queue))
            try await store.add("\(queue) 2", in: QueueName(queue))
        }
        try await store.add("later", in: "scheduled", notBefore: fixture.clock.now + .seconds(3_600))
        _ = try await store.take("running")
        try await store.settle(try await store.take("parked"), .fail(.exhausted, .block, error: "no room"))
        try await store.settle(
            try await store.take("undecodable"),
            .fail(.undecodable, .block, error: "no number")
        )
        _ = try await store.claim("unknown", by: .forOthers)
        _ = try await store.claim("unrouted", by: .none)
        try await store.settle(try await store.take("retry"), .retry(after: .seconds(60), error: "busy line"))
    }

    @Test("G15: sluice_queues says for each queue with work why it does not move, while a broker runs")
    func queues() async throws {
        let fixture = try await fixture()
        try await fill(fixture)
        let (now, shell) = (fixture.clock.now, fixture.shell)
        let columns = "queue, depth, state, because, head_id, head_kind, attempt, blocked_until, last_error"
        #expect(
            try await shell.run("SELECT \(columns) FROM sluice_queues ORDER BY head_id") == [
                "running|2|running|running since \(iso(now)), attempt 1|1|note|1||",
                "parked|2|parked|parked by action 3 after failure (exhausted): no room|3|note|1||no room",
                "undecodable|2|undecodable|undecodable|5|note|0||no number",
                "unknown|2|unknown kind|unknown kind|7|note|0||", "unrouted|2|no route|no route|9|note|0||",
                "retry|2|retry|waiting for retry until \(iso(now + .seconds(60)))|11|note|1"
                    + "|\(iso(now + .seconds(60)))|busy line",
                "idle|2|ready|waiting for a permit|13|note|0||",
                "scheduled|1|scheduled|scheduled for \(iso(now + .seconds(3_600)))|15|note|0"
                    + "|\(iso(now + .seconds(3_600)))|",
            ]
        )
        #expect(try await shell.line("SELECT running_since FROM sluice_actions WHERE id = 1") == iso(now))
        #expect(try await shell.line("SELECT count(running_since) FROM sluice_actions") == "1")
    }

    @Test("G15: sluice_queues is right while no broker runs, be it stopped or dead")
    func queuesWithoutBroker() async throws {
        let fixture = try await fixture()
        try await fill(fixture)
        let expected = [
            "running|stopped|broker stopped",
            "parked|parked|parked by action 3 after failure (exhausted): no room",
            "undecodable|undecodable|undecodable", "unknown|unknown kind|unknown kind",
            "unrouted|no route|no route",
            "retry|retry|waiting for retry until \(iso(fixture.clock.now + .seconds(60)))",
            "idle|stopped|broker stopped",
            "scheduled|scheduled|scheduled for \(iso(fixture.clock.now + .seconds(3_600)))",
        ]
        let select = "SELECT queue, state, because FROM sluice_queues ORDER BY head_id"
        // Dead: its lease ends.
        try fixture.execute("UPDATE sluice_runner_rows SET lease_until_us = 0")
        #expect(try await fixture.shell.run(select) == expected)
        try await fixture.store.stopRunning()
        await fixture.store.close()
        #expect(try await fixture.shell.run(select) == expected)
    }

    @Test("A queue whose only action was deleted after its process died is no queue with work")
    func orphanedClaim() async throws {
        let fixture = try await fixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for (text, queue) in [("a", "one"), ("b", "two"), ("c", "two")] {
            try await store.add(text, in: QueueName(queue))
        }
        _ = try await store.take("one")
        _ = try await store.take("two")
        await store.close()
        try fixture.execute("UPDATE sluice_runner_rows SET lease_until_us = 0")
        try await shell.run("DELETE FROM sluice_actions WHERE id IN (1, 2)")
        #expect(
            try await shell.run("SELECT queue, depth, state, because, head_id FROM sluice_queues")
                == ["two|1|stopped|broker stopped|3"]
        )
    }

    @Test("The head that is shown is the one that the order says, by any key")
    func head() async throws {
        let fixture = try await fixture()
        try await fixture.store.add("scheduled", by: .text(""), notBefore: fixture.clock.now + .seconds(60))
        for key in ["b", "a", "é"] { try await fixture.store.add(key, by: .text(key)) }
        #expect(try await fixture.shell.line("SELECT head_id || ' ' || depth FROM sluice_queues") == "3 4")
        _ = try await fixture.store.drain()
        #expect(
            try await fixture.shell.line("SELECT head_id || ' ' || depth || ' ' || state FROM sluice_queues")
                == "1 1 scheduled"
        )
    }

    @Test("The age is that of the oldest action, in seconds")
    func age() async throws {
        let clock = ManualClock(wallMicroseconds: SystemClock().wallMicroseconds - 7_200_000_000)
        let fixture = try await StoreFixture(clock: clock)
        try await fixture.store.add("a", by: .integer(2))
        clock.advance(by: .seconds(3_600))
        try await fixture.store.add("b", by: .integer(1))
        let age = try #require(Int(try await fixture.shell.line("SELECT oldest_age_s FROM sluice_queues")))
        // The younger one's would be 3,600, and more by what the machine keeps the test waiting.
        #expect((7_200..<10_800).contains(age))
        let facts = try #require(await fixture.store.queueFacts().first)
        #expect(facts.oldest.map { clock.now - $0 } == .seconds(3_600))
        #expect(facts.head?.rawValue == 2)
    }

    @Test("Migrations, attempts and dead letters can be read, with times in ISO 8601")
    func others() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a")
        let action = try await store.take()
        fixture.clock.advance(by: .microseconds(1_500_001))
        try await store.settle(action, .fail(.failed, .skip, error: "e"))
        #expect(
            try await shell.run("SELECT * FROM sluice_attempts")
                == ["1|1|failed|e|2026-01-01T00:00:00.000000Z|2026-01-01T00:00:01.500001Z"]
        )
        #expect(try await shell.line("SELECT died_at FROM sluice_dead") == "2026-01-01T00:00:01.500001Z")
        #expect(try await shell.run("SELECT number, name FROM sluice_migrations").first == "1|0001_tables")
    }

    @Test("A dead letter shows its sort key as its action did, by any type of key")
    func deadSortKeys() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        let keys: [SortKey] = [
            .arrival, .integer(-5), .real(0.5), .text("k"), .date(Date(timeIntervalSince1970: 1.5)),
            .date(Date(timeIntervalSince1970: -0.25)), .date(.distantPast),
        ]
        for (index, key) in keys.enumerated() {
            try await store.add("a", in: QueueName("q/\(index)"), by: key)
        }
        let shown = try await shell.run("SELECT quote(sort_key) FROM sluice_actions ORDER BY id")
        #expect(shown.prefix(5) == ["NULL", "-5", "0.5", "'k'", "'1970-01-01T00:00:01.500000Z'"])
        for index in keys.indices { _ = try await store.skipHead(of: QueueName("q/\(index)"), error: "e") }
        #expect(try await shell.run("SELECT quote(sort_key) FROM sluice_dead ORDER BY id") == shown)
    }

    @Test("The clock of the views is that of the system, to the millisecond")
    func clock() async throws {
        let (_, shell) = try await closedFile()
        let before = SystemClock().wallMicroseconds / 1_000
        let shown = try #require(Int64(try await shell.line("SELECT now_us FROM sluice_clock")))
        let after = SystemClock().wallMicroseconds / 1_000
        #expect((before...after).contains(shown / 1_000))
    }

    @Test(
        "Times before 1970 and far away are shown as times, or as numbers where SQLite has no time for them"
    )
    func farTimes() async throws {
        let fixture = try await StoreFixture()
        try await fixture.store.add("a", by: .date(Date(timeIntervalSince1970: -0.000_001)))
        try await fixture.store.add("b", by: .date(.distantFuture))
        try await fixture.store.add("c", by: .date(Date(timeIntervalSince1970: 1e13)))
        try await fixture.store.add("d", in: "past", notBefore: Timestamp(microseconds: -1))
        #expect(
            try await fixture.shell.run("SELECT sort_key FROM sluice_actions WHERE queue = 'q' ORDER BY id")
                == [
                    "1969-12-31T23:59:59.999999Z", "4001-01-01T00:00:00.000000Z", "\(Int64.max)",
                ]
        )
        #expect(
            try await fixture.shell.line("SELECT not_before FROM sluice_actions WHERE queue = 'past'")
                == "1969-12-31T23:59:59.999999Z"
        )
        // Beyond the years that SQLite can name, nothing that blocks a queue is NULL.
        let far = Int64(300_000_000_000_000_000)
        try await fixture.store.add("e", in: "far", notBefore: Timestamp(microseconds: far))
        try await fixture.store.add("f", in: "held")
        _ = try await fixture.shell.run(
            """
            INSERT INTO sluice_holds (scope, holder, reason, until) VALUES ('held', 'ops', '', \(far));
            INSERT INTO sluice_actions (queue, kind, payload) VALUES ('retry', 'k', '1');
            UPDATE sluice_actions SET next_attempt_at = \(far) WHERE queue = 'retry'
            """
        )
        #expect(
            try await fixture.shell.run(
                """
                SELECT because, blocked_until FROM sluice_queues WHERE queue IN ('far', 'held', 'retry')
                ORDER BY queue
                """
            ) == [
                "scheduled for \(far)|\(far)", "held by ops|\(far)",
                "waiting for retry until \(far)|\(far)",
            ]
        )
        #expect(try await fixture.shell.line("SELECT until FROM sluice_holds") == "\(far)")
    }
}
