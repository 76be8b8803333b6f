#if CommandLineTool && PostgreSQL
import Foundation
import Subprocess
import Sluice
import TestSupport
import Testing

@testable import SluiceCLI
@testable import SluicePostgres

/// `sluice doctor` on a server.
@Suite(
    "sluice doctor on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresDoctorTests {
    private static func findings(_ result: Tool.Result) throws -> [(isProblem: Bool, text: String)] {
        let answer = try #require(try result.objects().first)
        let findings = try #require(answer["findings"] as? [[String: Any]])
        return findings.map { ($0["is_problem"] as? Bool ?? false, $0["finding"] as? String ?? "") }
    }

    @Test("A healthy server has notes alone, and ends with 0")
    func healthy() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        let result = try await place.sluice("doctor")
        // The server of the tests does not sync.
        #expect(result.status == .exited(1), "\(result)")
        #expect(result.lines.contains { $0.hasPrefix("doorbell") && $0.hasSuffix("works") }, "\(result)")
        #expect(result.lines.contains { $0.hasPrefix("queues") && $0.hasSuffix("1 stopped") }, "\(result)")
        #expect(result.output.contains("idle_in_transaction_session_timeout is not set"))
        #expect(result.output.contains("no synchronous standby is configured"))
        #expect(result.output.contains("actions wait and no process runs the queues"))
        #expect(result.output.contains("2 problems (!)"), "\(result)")
    }

    @Test("A lapsed lease, a parked queue, settings and tables without vacuum are found")
    func problems() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        _ = try await place.sluice("run", "--exec", "exit 65", "--until-empty")
        try await place.sql(
            """
            ALTER TABLE @sluice_claim_rows SET (autovacuum_enabled = false);
            INSERT INTO @sluice_worker_rows (name, nonce, lease_until, continuous_since)
            VALUES ('elsewhere/7', 1, now() - interval '2 minutes', now() - interval '1 hour')
            """
        )
        let url =
            place.server.url + "&options=-c%20synchronous_commit%3Doff%20-c%20"
            + "default_transaction_isolation%3Dserializable"
        let result = try await Tool.run(["doctor", "--json", "--postgres", url, "--schema", place.schema])
        #expect(result.status == .exited(1))
        let problems = try Self.findings(result).filter(\.isProblem).map(\.text)
        for text in [
            "the lease of elsewhere/7, which ran the queues, ended 2 min", "1 queue is parked",
            "synchronous_commit is off", "autovacuum is off for the table sluice_claim_rows",
            "default_transaction_isolation is serializable", "fsync is off",
        ] {
            #expect(problems.contains { $0.contains(text) }, "\(text): \(problems)")
        }
    }

    @Test("A living worker is shown with its lease")
    func workers() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        let pipe = try place.files.makePipe("go")
        let script = "echo started; read line < '\(pipe)'"
        let status = try await Tool.follow(["run", "--until-empty"] + place.options + ["--exec", script]) {
            line,
            _ in
            guard line == "started" else { return }
            let answer = try #require(try await place.sluice("doctor", "--json").objects().first)
            let runner = try #require((answer["runners"] as? [[String: Any]])?.first)
            #expect(runner["running"] as? Int == 1)
            #expect((runner["lease_left_s"] as? Double ?? 0) > 10)
            #expect(answer["rings"] as? Bool == true)
            let queues = try await place.output("queues")
            #expect(queues.contains("running"), "\(queues)")
            try place.files.release(pipe)
        }
        #expect(status == .exited(0))
    }

    @Test("A reader sees all but other roles' transactions, and is told so")
    func reader() async throws {
        let place = try ServerPlace()
        try await place.enqueue("q")
        let role = "reader_\(UInt64.random(in: 0 ... .max))"
        try await place.sql(
            """
            CREATE ROLE \(role) LOGIN; GRANT USAGE ON SCHEMA \(place.schema) TO \(role);
            GRANT SELECT ON @sluice_actions, @sluice_queues, @sluice_dead, @sluice_attempts, @sluice_holds,
                @sluice_gates, @sluice_runners, @sluice_migrations TO \(role);
            GRANT EXECUTE ON FUNCTION @sluice_now, @sluice_sort_text, @sluice_date_text, @sluice_double,
                @sluice_time_text, @sluice_status, @sluice_statuses, @sluice_action_states, @sluice_summaries,
                @sluice_action_count, @sluice_dead_letters, @sluice_failed_attempts, @sluice_work_left,
                @sluice_export, @sluice_export_front, @sluice_action_key, @sluice_queue_names,
                @sluice_arrived TO \(role)
            """
        )
        let url = place.server.url.replacing("user=postgres", with: "user=\(role)")
        let options = ["--postgres", url, "--schema", place.schema]
        for verb in [
            ["queues"], ["show", "q"], ["show", "--id", "1"], ["actions"], ["holds"], ["gate", "list"],
            ["dead", "list"], ["export"],
        ] {
            let result = try await Tool.run(verb + options)
            #expect(result.status == .exited(0), "\(verb) \(result)")
        }
        let doctor = try await Tool.run(["doctor"] + options)
        #expect(doctor.output.contains("GRANT pg_read_all_stats TO \(role)"), "\(doctor)")
        let act = try await Tool.run(["remove", "--all"] + options)
        #expect(act.status == .exited(73) && act.errors.contains("the role may not do this"), "\(act)")
        try await place.sql("DROP OWNED BY \(role); DROP ROLE \(role)")
    }

    @Test("Each finding about a server says what to do")
    func findings() {
        var health = PostgresHealth()
        health.versionNumber = 140_011
        health.isStandby = true
        health.settings = [
            "autovacuum": "off", "full_page_writes": "off", "synchronous_commit": "on",
            "synchronous_standby_names": "b", "idle_in_transaction_session_timeout": "0",
            "default_transaction_isolation": "read committed", "statement_timeout": "5000",
        ]
        health.seesSessions = true
        health.snapshots = [
            .init(owner: "process 7", application: "pg_dump", state: "active", age: .seconds(90)),
            .init(owner: "process 8", application: "psql", state: "idle in transaction", age: .seconds(59)),
        ]
        health.preparedCount = 1
        health.tables = [
            .init(name: "sluice_lane_rows", liveCount: 5, deadCount: 20_000, hasAutovacuum: true),
            .init(name: "sluice_claim_rows", liveCount: 5, deadCount: 9_000, hasAutovacuum: true),
            .init(name: "sluice_action_rows", liveCount: 50_000, deadCount: 20_000, hasAutovacuum: true),
        ]
        health.states = [.parked: 2, .noRoute: 1, .held: 1]
        health.clockAhead = .seconds(-90)
        let findings = DoctorFinding.all(health)
        let problems = findings.filter(\.isProblem).map(\.text)
        #expect(
            problems == [
                "the server is PostgreSQL ", "the server is a standby, which only reads",
                "process 7 (pg_dump) holds a snapshot, active since 1 min 30 s ago: deleted rows stay, and "
                    + "queues become slow",
                "autovacuum is off: deleted rows stay, and queues become slow",
                "the table sluice_lane_rows has 20000 deleted rows and 5 others",
                "full_page_writes is off: a crash of the machine can destroy the database",
                "no synchronous standby is connected (b): commits wait for it",
                "statement_timeout is 5000 for the role : in milliseconds; an enqueue can wait 10 seconds "
                    + "for a lock",
                "1 queue is without a route", "2 queues are parked",
            ],
            "\(problems)"
        )
        let notes = findings.filter { !$0.isProblem }.map(\.text)
        #expect(
            notes == [
                "the doorbell does not work: a notification did not arrive on a connection that listened",
                "this machine's clock is 1 min 30 s behind the server's",
                "there are prepared transactions: 1",
                "idle_in_transaction_session_timeout is not set", "1 queue is held",
            ],
            "\(notes)"
        )
        #expect(findings.allSatisfy { !$0.advice.isEmpty })
    }
}
#endif
