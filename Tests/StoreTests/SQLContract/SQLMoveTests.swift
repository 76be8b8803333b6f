import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What UPDATE of sluice_actions writes beside the action", .watched)
struct SQLMoveTests {
    @Test("An edit and a move of an action that has not run add no facts of attempts, and take no number")
    func addsNothing() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for text in ["a", "b"] { try await store.add(text) }
        try await shell.run("UPDATE sluice_actions SET kind = 'other', payload = '1', next_attempt_at = NULL")
        try await shell.run("UPDATE sluice_actions SET queue = 'target' WHERE id = 1")
        #expect(try await shell.line("SELECT count(*) FROM sluice_state_rows") == "0")
        // The facts of one that runs are recorded: an edit and a move, each for itself.
        _ = try await store.take("q")
        _ = try await store.take("target")
        try await shell.run("UPDATE sluice_actions SET payload = '2' WHERE id = 1")
        try await shell.run("UPDATE sluice_actions SET queue = 'target' WHERE id = 2")
        #expect(
            try await shell.run(
                """
                SELECT action_id, edited_claim IS NOT NULL, moves_to_queue_id IS NOT NULL
                FROM sluice_state_rows ORDER BY action_id
                """
            ) == ["1|1|0", "2|0|1"]
        )
        #expect(try await shell.line("SELECT value FROM sluice_counters WHERE name = 'action'") == "2")
    }

    @Test("UPDATE of queue moves a key in use with its action, and takes the place of that queue's own")
    func moveOfKey() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        for queue: QueueName in ["q", "target", "ended"] { try await store.add("a", in: queue) }
        try await shell.run(
            """
            INSERT INTO sluice_key_rows (queue_id, key, action_id, keep_us, until_us)
            SELECT queue_id, 'k', id, 0, iif(id = 3, 1, NULL) FROM sluice_action_rows;
            UPDATE sluice_actions SET queue = 'target' WHERE id IN (1, 3)
            """
        )
        let keys = """
            SELECT name, action_id FROM sluice_key_rows JOIN sluice_queue_rows USING (queue_id) ORDER BY name
            """
        #expect(try await shell.run(keys) == ["ended|3", "target|1"])
    }

    @Test("G2: a queue to which a running action moves keeps the type of its sort key, for INSERT too")
    func moveKeepsType() async throws {
        let fixture = try await StoreFixture()
        let (store, shell) = (fixture.store, fixture.shell)
        try await store.add("a", by: .integer(1))
        let action = try await store.take()
        try await shell.run("UPDATE sluice_actions SET queue = 'target' WHERE id = 1")
        let insert =
            "INSERT INTO sluice_actions (queue, kind, payload, sort_key) VALUES ('target', 'note', '1', 'x')"
        #expect(await shell.refusal(insert).contains("sluice_actions.sort_key must be an integer"))
        try await store.settle(action, .success)
        try await shell.run(insert)
    }
}
