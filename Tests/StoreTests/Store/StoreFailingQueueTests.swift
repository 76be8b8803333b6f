import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// What comes and goes while a queue is being set aside as a whole.
@Suite("A queue that is failing", .watched) struct StoreFailingQueueTests {
    /// How many of the newest actions have their order in memory: few, or all.
    static let newest = [4, 65_536]

    private func fixture(_ newest: Int) async throws -> StoreFixture {
        try await StoreFixture(adjust: { $0.file.writeBehind.newest = newest })
    }

    /// Fails `q` by its first action, with three batches behind that by keys from 0 on.
    ///
    /// - Parameter meanwhile: Done while that action runs.
    /// - Returns: The action that failed.
    private func fail(_ store: Store, meanwhile: () async throws -> Void = {}) async throws -> ActionID {
        let count = 2 * Failures.failBatchSize + 10
        let id = try await store.add("first", by: .integer(-10))
        try await store.add((0..<count).map { ActionDraft("\($0)", by: .integer(Int64($0))) })
        let first = try await store.take()
        try await meanwhile()
        try await store.settle(first, .fail(.failed, .failQueue, error: "e"))
        return id
    }

    @Test("What is moved there or put back meanwhile is spared: it was not behind", arguments: newest)
    func newcomers(_ newest: Int) async throws {
        let fixture = try await fixture(newest)
        let store = fixture.store
        let dead = try await store.add("dead", by: .integer(9_001))
        _ = try await store.skipHead(of: "q", error: "by hand")
        let moved = try await store.add("moved", in: "1", by: .integer(9_002))
        let shell = try await store.add("by shell", in: "2", by: .integer(9_003))
        let deferred = try await store.add("deferred", in: "3", by: .integer(9_004))
        let later = fixture.clock.now + .seconds(60)
        let scheduled = try await store.add("scheduled", in: "4", by: .integer(9_005), notBefore: later)
        let running = try await store.take("3")
        let failed = try await fail(store)

        #expect(try await store.requeue(dead))
        #expect(try await store.move(moved, to: "q") == .done)
        try fixture.execute("UPDATE sluice_actions SET queue = 'q' WHERE id = \(shell)")
        #expect(try await store.move(deferred, to: "q") == .deferred)
        try await store.settle(running, .retry(after: .zero, error: "e"))
        #expect(try await store.move(scheduled, to: "q") == .done)
        // One that was behind, and was set aside, and the one that failed.
        let behind = try #require(
            try await store.deadLetters(DeadLetterFilter(cause: .behind), limit: 1).first
        )
        #expect(try await store.requeue(behind.id))
        #expect(try await store.requeue(failed))

        let back = String(behind.payload.dropFirst().dropLast())
        #expect(try await store.drain() == ["first", back, "dead", "moved", "by shell", "deferred"])
        #expect(try await store.deadLetters(limit: 9_999).allSatisfy { $0.cause == .behind })
        fixture.clock.advance(by: .seconds(60))
        _ = try await store.admitScheduled()
        #expect(try await store.drain() == ["scheduled"])
        #expect(
            try fixture.row("SELECT count(*) FROM sluice_dead") == "\(2 * Failures.failBatchSize + 9)"
        )
        #expect(try fixture.row("SELECT count(*) FROM sluice_state_rows") == "0")
    }

    @Test("What was spared is set aside like any other when the queue fails again", arguments: newest)
    func again(_ newest: Int) async throws {
        let fixture = try await fixture(newest)
        let store = fixture.store
        let ids = try await store.add(
            (0..<3).map { ActionDraft("\($0)", in: "x\($0)", by: .integer(Int64(9_000 + $0))) }
        )
        _ = try await fail(store)
        for id in ids { #expect(try await store.move(id, to: "q") == .done) }
        while try await store.claim(by: .full).word == "unfinished" {}
        let first = try await store.take()
        #expect(first.text == "0")
        fixture.clock.advance(by: .seconds(1))
        try await store.settle(first, .fail(.failed, .failQueue, error: "again"))
        #expect(try await store.drain() == [])
        let letters = try await store.deadLetters(limit: 3)
        #expect(Set(letters.map(\.id)) == Set(ids) && letters.allSatisfy { $0.error == "again" })
    }

    @Test("What was moved to the front before is spared, whatever place it had", arguments: newest)
    func movedToFront(_ newest: Int) async throws {
        let fixture = try await fixture(newest)
        let store = fixture.store
        let ids = try await store.add((0..<20).map { ActionDraft("\($0)") })
        let first = try await store.take()
        #expect(try await store.moveToFront(ids[5]) == .done)
        try await store.settle(first, .fail(.failed, .failQueue, error: "e"))
        #expect(try await store.drain() == ["5"])
        #expect(try await store.deadLetters(limit: 99).count == 19)
    }

    @Test("More places left behind than a batch has do not keep the queue failing")
    func manyMovedToFront() async throws {
        let batch = Failures.failBatchSize
        // So many that the places of what is moved are still in the file.
        let fixture = try await StoreFixture(adjust: {
            $0.file.writeBehind.newest = batch + 100
            $0.file.writeBehind.batch = batch + 100
        })
        let store = fixture.store
        let ids = try await store.add((0..<(3 * batch)).map { ActionDraft("\($0)") })
        let first = try await store.take()
        // The second is the first that waits, and stays where it is.
        for id in ids[2...(batch + 2)] { #expect(try await store.moveToFront(id) == .done) }
        try await store.settle(first, .fail(.failed, .failQueue, error: "e"))
        #expect(try await store.drain() == (2...(batch + 2)).reversed().map { "\($0)" })
        #expect(try fixture.row("SELECT count(*) FROM sluice_dead") == "\(2 * batch - 1)")
    }

    @Test("The dead letter of what failed may go meanwhile: what sorts before it is spared all the same")
    func purged() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        let failed = try await fail(store) { try await store.add("early", by: .integer(-20)) }
        #expect(try await store.purge(failed))
        #expect(try await store.drain() == ["early"])
    }
}
