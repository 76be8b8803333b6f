#if PostgreSQL
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice
@testable import SluicePostgres

/// The same as `ReasonOrderTests` for a file.
@Suite(
    "The order of the reasons on PostgreSQL",
    .watched,
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct ServerReasonTests {
    private static let worker: Int64 = 1

    @Test(
        "G15: the view shows the first reason, and a broker all, for each combination of facts",
        arguments: [false, true]
    )
    func server(isRun: Bool) async throws {
        let site = PostgresSite(try #require(TestServer.shared))
        let broker = try await site.broker()
        let calls = broker.serverEngine.calls
        let now = site.clock.now
        let (retry, due) = (now + .seconds(60), now + .seconds(120))
        if isRun { for statement in Self.routes(now) { _ = try await calls.call(statement, []) } }
        let combinations = ReasonCombination.all(withRuns: isRun)
        let notes = zip(combinations, 0...).map { Note("\($1)", in: Self.queue($0, $1)) }
        let ids = try await broker.enqueue(notes)
        _ = try await calls.call(
            """
            INSERT INTO @sluice_lane_rows (queue_id, pool)
            SELECT queue_id, pool FROM @sluice_queue_rows ON CONFLICT DO NOTHING
            """,
            []
        )
        let statements = zip(combinations, ids).flatMap { Self.sql($0, $1, now, retry, due) }
        // One commit for all: there are thousands.
        let all = statements.joined(separator: ";\n")
        _ = try await calls.call("DO $statements$ BEGIN\n\(all);\nEND $statements$", [])

        let rows = try await calls.call("SELECT head_id, state, because FROM @sluice_queues", [])
        let view = rows.reduce(into: [:]) { view, row in
            view[row.integer("head_id") ?? 0] = "\(row.text("state"))|\(row.text("because"))"
        }
        let statuses = try await broker.statuses(limit: .max).reduce(into: [:]) { $0[$1.head] = $1.because }
        #expect(view.count == combinations.count)
        for (combination, id) in zip(combinations, ids) {
            var facts = combination.facts(
                id,
                runner: isRun ? HeadFacts.Runner.elsewhere : .none,
                at: now,
                retry: retry,
                due: due
            )
            if isRun { (facts.owners, facts.permit) = (facts.run == nil ? [] : ["host/1"], .otherProcess) }
            let reasons = facts.reasons
            let first = try #require(reasons.first)
            #expect(view[id.rawValue] == "\(first.state.rawValue)|\(first)", "\(combination)")
            #expect(statuses[id] == reasons, "\(combination)")
        }
        await broker.close()
    }

    /// Queues of one route, of a route at a gate, of a route for another kind, and of none.
    private static func queue(_ combination: ReasonCombination, _ number: Int) -> QueueName {
        switch combination.block {
        case "gate": "gated/\(number)"
        case "unknown kind": "other/\(number)"
        case "no route": "none/\(number)"
        default: "q/\(number)"
        }
    }

    private static func time(_ time: Timestamp) -> String {
        "(to_timestamp(0) + \(time.microseconds) * interval '1 microsecond')"
    }

    /// A living worker and its routes.
    private static func routes(_ now: Timestamp) -> [String] {
        var sql = [
            """
            INSERT INTO @sluice_worker_rows (name, nonce, lease_until, continuous_since)
            VALUES ('host/1', 1, \(time(now + .seconds(600))), \(time(now)))
            """
        ]
        let gate = ReasonCombination.routeGate.replacing("'", with: "''")
        for (number, (pattern, kind, gates)) in [
            ("q/*", "NULL", "'{}'"), ("gated/*", "NULL", "ARRAY['\(gate)']"),
            ("other/*", "'another'", "'{}'"),
        ].enumerated() {
            sql.append("INSERT INTO @sluice_pool_rows (pattern) VALUES ('\(pattern)')")
            sql.append(
                """
                INSERT INTO @sluice_route_rows (worker, route, pool, kind, gates, expired, crashed)
                SELECT \(worker), \(number), pool, \(kind), \(gates), 'skip', 'skip'
                FROM @sluice_pool_rows WHERE pattern = '\(pattern)'
                """
            )
        }
        return sql
    }

    private static func sql(
        _ combination: ReasonCombination,
        _ action: ActionID,
        _ now: Timestamp,
        _ retry: Timestamp,
        _ due: Timestamp
    ) -> [String] {
        let queue = "(SELECT queue_id FROM @sluice_action_rows WHERE id = \(action))"
        var sql: [String] = []
        if let block = combination.block {
            let error = block == "gate" ? ReasonCombination.routeGate : ReasonCombination.error
            sql.append(
                """
                UPDATE @sluice_lane_rows
                SET blocked_by = '\(block)', blocked_action_id = \(action), blocked_at = \(time(now)),
                    blocked_error = '\(error.replacing("'", with: "''"))' WHERE queue_id = \(queue)
                """
            )
        }
        if combination.isRunning {
            sql.append("UPDATE @sluice_lane_rows SET worker = \(worker) WHERE queue_id = \(queue)")
            sql.append(
                """
                INSERT INTO @sluice_claim_rows
                    (claim, action_id, queue_id, worker, term, started_at, opening)
                VALUES (\(worker << 32 + action.rawValue), \(action), \(queue), \(worker), 0, \(time(now)), 0)
                """
            )
        }
        if combination.isHeld {
            sql.append(
                """
                INSERT INTO @sluice_hold_rows (scope, holder, reason, since)
                SELECT name, 'ops', 'look', \(time(now)) FROM @sluice_queue_rows WHERE queue_id = \(queue)
                """
            )
        }
        if combination.isAtGate {
            let gate = ReasonCombination.gate
            sql.append("UPDATE @sluice_action_rows SET gate = '\(gate)' WHERE id = \(action)")
        }
        if combination.waitsForRetry {
            sql.append(
                """
                INSERT INTO @sluice_state_rows (action_id, next_attempt_at, retry_delay)
                VALUES (\(action), \(time(retry)), interval '60 s')
                """
            )
        }
        if combination.isScheduled {
            let set = "SET not_before = \(time(due))"
            sql.append("UPDATE @sluice_action_rows \(set) WHERE id = \(action)")
        }
        return sql
    }
}
#endif
