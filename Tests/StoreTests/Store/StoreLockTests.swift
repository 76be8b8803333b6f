import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Locks of other connections", .watched)
struct StoreLockTests {
    private func fixture() async throws -> StoreFixture {
        try await StoreFixture(adjust: { $0.file.lockTimeout = .milliseconds(1) })
    }

    @Test("G14: BUSY reaches nobody; after the lock timeout the typed error says what happened")
    func typed() async throws {
        let fixture = try await fixture()
        let store = fixture.store
        let id = try await store.add("a")
        let other = try fixture.connect()
        try other.beginImmediate()
        let refusals = [
            await refusal { try await store.add("b") },
            await refusal { try store.enqueueBlocking([ActionDraft("c")]) },
            await refusal { try await store.claim() },
            await refusal { try await store.cancel(id) },
            await refusal { try await store.retryNow(.prefix([])) },
            await refusal { try await store.renewLease() },
            await refusal { try await store.sync() },
        ]
        #expect(refusals == Array(repeating: .databaseLocked, count: refusals.count))
        other.rollback()
        #expect(try await store.drain() == ["a"])
    }

    @Test("Reading goes on while another connection writes")
    func reading() async throws {
        let fixture = try await fixture()
        try await fixture.store.add("a")
        let other = try fixture.connect()
        try other.beginImmediate()
        try other.execute("DELETE FROM sluice_action_rows")
        #expect(try await fixture.store.actionCount() == 1)
        #expect(try await fixture.store.queueFacts().map(\.depth) == [1])
        other.rollback()
    }

    @Test("G14: writes that wait are stored as soon as the lock is given up")
    func waits() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let other = try fixture.connect()
        try other.beginImmediate()
        let tasks = (0..<8).map { number in Task { try await store.add("\(number)") } }
        try await until { store.writer.load.waiting >= 7 }
        try other.commit()
        var ids: Set<Int64> = []
        for task in tasks { ids.insert(try await task.value.rawValue) }
        #expect(ids == Set(1...8))
    }

    @Test("What waits when the store closes is committed, what comes later is refused")
    func closing() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let other = try fixture.connect()
        try other.beginImmediate()
        let task = Task { try await store.add("a") }
        try await until { store.writer.load.isLed }
        let closing = Task { await store.close() }
        try await until { store.writer.load.isClosed }
        #expect(await refusal { try await store.add("b") } == .closed)
        other.rollback()
        #expect(try await task.value.rawValue == 1)
        await closing.value
        #expect(await refusal { try await store.actionCount() } == .closed)
        #expect(await refusal { try store.enqueueBlocking([ActionDraft("c")]) } == .closed)
        #expect(try fixture.rows("SELECT payload FROM sluice_actions") == ["\"a\""])
    }

    @Test("A commit of another connection is noticed: what the writer knew of the file is read again")
    func foreignCommit() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("a", in: "q")
        try fixture.execute("INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '\"b\"')")
        #expect(try await store.add("c", in: "q").rawValue == 3)
        // The queue goes and comes back under another number.
        try fixture.execute("DELETE FROM sluice_actions; DELETE FROM sluice_queue_rows")
        try fixture.execute(
            "INSERT INTO sluice_queue_rows (queue_id, name, sort_type) VALUES (77, 'q', 'arrival')"
        )
        try await store.add("d", in: "q")
        #expect(try await store.queueID("q") == QueueID(rawValue: 77))
        #expect(try await store.drain() == ["d"])
    }

    @Test("Writes that are owed are synced, others are told to be synced later")
    func durability() async throws {
        let fixture = try await StoreFixture()
        func synced() -> Bool? { fixture.commits.elements.last.map { !$0.awaitsSync } }
        try await fixture.store.add("a")
        #expect(synced() == true)
        let action = try await fixture.store.take()
        #expect(synced() == false)
        try await fixture.store.settle(action, .retry(after: .zero, error: "e"))
        #expect(synced() == false)
        try await fixture.store.settle(try await fixture.store.take(), .fail(.failed, .failQueue, error: "e"))
        #expect(synced() == true)
        let level = try await fixture.store.write(sync: .later) { try $0.connection.pragma("synchronous") }
        #expect(level == "1")
        let owed = try await fixture.store.write(sync: .owed) { try $0.connection.pragma("synchronous") }
        #expect(owed == "2")
    }

    @Test(
        "The durability decides which writes are synced",
        arguments: [Durability.everything, .standard, .relaxed]
    )
    func levels(_ durability: Durability) async throws {
        let fixture = try await StoreFixture(adjust: { $0.file.durability = durability })
        var levels: [String] = []
        for need in [SyncNeed.later, .owed, .forced] {
            levels.append(
                try await fixture.store.write(sync: need) { try $0.connection.pragma("synchronous") }
            )
        }
        let expected: [Durability: [String]] = [
            .everything: ["2", "2", "2"], .standard: ["1", "2", "2"], .relaxed: ["1", "1", "2"],
        ]
        #expect(levels == expected[durability])
    }

    @Test("The writer checkpoints when the log has grown, and then the log begins anew")
    func checkpoints() async throws {
        let fixture = try await StoreFixture()
        let large = String(repeating: "x", count: 3_000_000)
        for _ in 0..<14 { try await fixture.store.add(large) }
        // Fourteen payloads of 733 pages make more than 10,000 frames; a checkpoint then copies them, and the
        // next commit begins the log anew.
        var frames: [Int] = []
        for _ in 0..<3 {
            frames.append(
                try await fixture.store.write(sync: .owed) { transaction in
                    try transaction.core.writeBarrier()
                    return transaction.core.connection.walFrames
                }
            )
        }
        #expect(frames[0] >= CheckpointPolicy.longWAL)
        #expect(frames[2] < 100, "\(frames)")
        #expect(try fixture.row("PRAGMA integrity_check") == "ok")
    }

    @Test("Small commits that are synced keep to a short log, and those that are not do not")
    func shortWAL() async throws {
        for (need, isShort) in [(SyncNeed.owed, true), (.later, false)] {
            let fixture = try await StoreFixture()
            var longest = 0
            for _ in 0..<1_500 {
                let frames = try await fixture.store.write(sync: need) { transaction in
                    try transaction.core.writeBarrier()
                    return transaction.core.connection.walFrames
                }
                longest = max(longest, frames)
            }
            #expect((longest < CheckpointPolicy.shortWAL + 10) == isShort, "\(longest) frames")
            #expect(try fixture.row("PRAGMA integrity_check") == "ok")
        }
    }
}
