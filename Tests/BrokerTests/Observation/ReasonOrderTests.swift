import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The view of a server is compared in the same way, by `ServerReasonTests`.
@Suite("The order of the reasons", .watched) struct ReasonOrderTests {
    @Test(
        "G15: the view shows the first reason, and a broker all, for each combination of facts",
        arguments: [false, true]
    )
    func file(isRun: Bool) async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock.farAhead())
        let fixture = try await StoreFixture.process(1, on: file, clock: clock, isRunning: isRun)
        let combinations = ReasonCombination.all(withRuns: isRun)
        let now = clock.now
        let (retry, due) = (now + .seconds(60), now + .seconds(120))
        let ids = try await fixture.store.add(
            combinations.indices.map { ActionDraft("\($0)", in: QueueName("q/\($0)")) }
        )
        let epoch = fixture.store.runners.epoch ?? 0
        try fixture.execute(
            zip(combinations, ids).map { Self.sql($0, $1, epoch, now, retry, due) }.joined()
        )

        let view = try await fixture.shell.run(
            "SELECT head_id || '|' || state || '|' || because FROM sluice_queues ORDER BY head_id"
        )
        var options = BrokerOptions.on(clock)
        options.standFor(process: 2)
        let broker = try await Broker(file: file.path, options: options)
        let statuses = try await broker.statuses(limit: .max).reduce(into: [:]) { $0[$1.head] = $1.because }
        #expect(view.count == combinations.count)
        for ((combination, id), line) in zip(zip(combinations, ids), view) {
            var facts = combination.facts(
                id,
                runner: isRun ? HeadFacts.Runner.elsewhere : .none,
                at: now,
                retry: retry,
                due: due
            )
            if isRun { (facts.owners, facts.permit) = (["process 1"], .otherProcess) }
            let reasons = facts.reasons
            let first = try #require(reasons.first)
            #expect(line == "\(id)|\(first.state.rawValue)|\(first)", "\(combination)")
            #expect(statuses[id] == reasons, "\(combination)")
        }
        await broker.close()
        await fixture.store.close()
    }

    private static func sql(
        _ combination: ReasonCombination,
        _ action: ActionID,
        _ epoch: Int64,
        _ now: Timestamp,
        _ retry: Timestamp,
        _ due: Timestamp
    ) -> String {
        let queue = "(SELECT queue_id FROM sluice_action_rows WHERE id = \(action))"
        var sql = ""
        if let block = combination.block {
            let error = block == "gate" ? "route''s gate" : ReasonCombination.error
            let through = block == "failing" ? "\(action)" : "NULL"
            sql += """
                UPDATE sluice_queue_rows
                SET blocked_by = '\(block)', blocked_action_id = \(action), blocked_error = '\(error)',
                    blocked_at_us = \(now.microseconds), fail_through_id = \(through),
                    fail_key = iif(\(through) IS NULL, NULL, 0)
                WHERE queue_id = \(queue);
                """
        }
        if combination.isRunning {
            sql += """
                INSERT INTO sluice_claim_rows (queue_id, slot, action_id, claim, started_at_us, trial_size)
                VALUES (\(queue), 0, \(action), \(epoch << 32 + action.rawValue), \(now.microseconds), 0);
                """
        }
        if combination.isHeld {
            sql += """
                INSERT INTO sluice_hold_rows (scope, holder, reason, since_us)
                SELECT name, 'ops', 'look', \(now.microseconds)
                FROM sluice_queue_rows WHERE queue_id = \(queue);
                """
        }
        if combination.isAtGate {
            sql += "UPDATE sluice_action_rows SET gate = 'shut' WHERE id = \(action);"
        }
        if combination.waitsForRetry {
            sql += """
                INSERT INTO sluice_state_rows (action_id, next_attempt_at_us, retry_delay_us)
                VALUES (\(action), \(retry.microseconds), 60000000);
                """
        }
        if combination.isScheduled {
            sql += "UPDATE sluice_action_rows SET not_before_us = \(due.microseconds) WHERE id = \(action);"
        }
        return sql
    }
}
