import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A failure that concerns the whole queue, by discipline", .watched)
struct QueueFailureTests {
    private let dead = "SELECT json_extract(payload, '$') FROM sluice_dead ORDER BY id"

    @Test("G4: a second failure does not change why a queue is parked, whatever its policy")
    func secondFailure() async throws {
        let fixture = try await StoreFixture()
        for text in ["a", "b", "c"] { try await fixture.store.add(text) }
        let a = try await fixture.store.take(by: .by(.concurrent(2)))
        let b = try await fixture.store.take(by: .by(.concurrent(2)))
        try await fixture.store.settle(a, .fail(.failed, .block, error: "of a"))
        try await fixture.store.settle(b, .fail(.failed, .failQueue, error: "of b"))
        #expect(try await fixture.store.finishedClaim(by: .by(.concurrent(2))).word == "parked")
        #expect(try fixture.row("SELECT blocked_error FROM sluice_queue_rows") == "of a")
        #expect(try fixture.rows(dead) == [])
    }

    @Test("Last in, first out: what sorts before the failed one is behind it, and no other")
    func lastFirst() async throws {
        let fixture = try await StoreFixture()
        // Some have their place in the file, the newest in memory, one has none before it is due.
        let count = 9
        for number in 1...count { try await fixture.store.add("\(number)") }
        try await fixture.store.add("0", notBefore: fixture.clock.now + .seconds(60))
        try fixture.execute("UPDATE sluice_action_rows SET sort_key = -1 WHERE payload = '\"0\"'")
        let action = try await fixture.store.take(by: .by(.lastInFirstOut))
        #expect(action.text == "\(count)")
        try await fixture.store.add("in front")
        try await fixture.store.settle(action, .fail(.failed, .failQueue, error: "e"))
        try await fixture.store.add("later")
        #expect(try await fixture.store.drain(by: .by(.lastInFirstOut)) == ["later", "in front"])
        #expect(try fixture.rows(dead) == (1...count).map { "\($0)" } + ["0"])
    }

    @Test("Last in, first out: a long queue fails in batches, over a restart")
    func lastFirstInBatches() async throws {
        var fixture = try await StoreFixture()
        let count = 2 * Failures.failBatchSize + 3
        try await fixture.store.add((0..<count).map { ActionDraft("\($0)") })
        let action = try await fixture.store.take(by: .by(.lastInFirstOut))
        try await fixture.store.add("in front")
        try await fixture.store.settle(action, .fail(.failed, .failQueue, error: "e"))
        fixture = try await fixture.reopened()
        #expect(try await fixture.store.drain(by: .by(.lastInFirstOut)) == ["in front"])
        #expect(try fixture.row("SELECT count(*) FROM sluice_dead") == "\(count)")
    }

    @Test("A queue that fails as a whole leaves what runs in another process")
    func otherProcess() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let first = try await StoreFixture.process(1, on: file, clock: clock) {
            $0.file.writeBehind = WriteBehindLimits()
        }
        let second = try await StoreFixture.process(2, on: file, clock: clock) {
            $0.file.writeBehind = WriteBehindLimits()
        }
        for text in ["a", "b", "c"] { try await first.store.add(text) }
        let a = try await first.store.take(by: .by(.concurrent(2)))
        let b = try await second.store.take(by: .by(.concurrent(2)))
        #expect(b.text == "b")
        try await first.store.settle(a, .fail(.failed, .failQueue, error: "e"))
        #expect(try first.rows(dead) == ["a", "c"])
        #expect(try await second.store.settle(b, .success).result == .settled)
    }

    @Test("A queue that fails as a whole leaves what runs, also where a shell has edited that meanwhile")
    func editedMeanwhile() async throws {
        let fixture = try await StoreFixture(adjust: { $0.file.writeBehind = WriteBehindLimits() })
        for text in ["a", "b", "c"] { try await fixture.store.add(text) }
        let a = try await fixture.store.take(by: .by(.concurrent(2)))
        let b = try await fixture.store.take(by: .by(.concurrent(2)))
        try fixture.execute("UPDATE sluice_actions SET tag = 'x' WHERE id = \(b.receipt.action)")
        try await fixture.store.settle(a, .fail(.failed, .failQueue, error: "e"))
        #expect(try fixture.rows(dead) == ["a", "c"])
        #expect(try await fixture.store.settle(b, .success).result == .settled)
    }
}
