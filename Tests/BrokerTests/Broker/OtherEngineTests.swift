import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Actions of another process", .watched) struct OtherEngineTests {
    @Test("G2: what another process schedules for later runs when it is due")
    func scheduled() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            await broker.waitUntilIdle()
            // What the engine of another process writes: the row, and a word to the one that runs.
            try site.shell(
                """
                BEGIN IMMEDIATE;
                UPDATE sluice_counters SET value = value + 1 WHERE name = 'action';
                INSERT INTO sluice_action_rows
                    (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload)
                SELECT n.value, q.queue_id, 0, \(site.clock.wallMicroseconds + 5_000_000), 0, 0, 'note',
                       '{"text":"later"}'
                FROM sluice_counters AS n JOIN sluice_queue_rows AS q WHERE n.name = 'action';
                INSERT INTO sluice_changes (epoch, queue_id, change)
                SELECT epoch, queue_id, 'wake' FROM sluice_runner_rows JOIN sluice_queue_rows;
                COMMIT
                """
            )
            try await broker.file?.flush()
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            #expect(log.elements == ["a"])
            site.clock.advance(by: .seconds(5))
            _ = try await log.wait(forCount: 2)
        }
        #expect(log.elements == ["a", "later"])
        await broker.close()
    }
}
