import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A full disk", .watched)
struct StoreFullTests {
    /// Lets the database grow by so many pages at most, which fails as a full disk does.
    private func limit(_ fixture: StoreFixture, pages: Int) async throws {
        try await fixture.store.write(sync: .owed) { transaction in
            let count = Int(try transaction.core.connection.pragma("page_count")) ?? 0
            try transaction.core.connection.execute("PRAGMA max_page_count = \(count + pages)")
        }
    }

    @Test("G14: a full disk is the typed error, nothing is stored, and what is stored can still be settled")
    func full() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await store.add("before")
        try await limit(fixture, pages: 20)
        let large = String(repeating: "x", count: 200_000)
        for _ in 0..<3 { #expect(await refusal { try await store.add(large) } == .diskFull) }
        #expect(await refusal { try store.enqueueBlocking([ActionDraft(large)]) } == .diskFull)
        let both = [ActionDraft("small"), ActionDraft(large)]
        #expect(await refusal { try await store.enqueue(both) } == .diskFull)
        #expect(try await store.actionCount() == 1)
        #expect(try await store.add("small").rawValue == 2)
        #expect(try await store.drain() == ["before", "small"])
        try await limit(fixture, pages: 1_000)
        try await store.add(large)
        #expect(try await store.drain() == [large])
        #expect(try fixture.row("PRAGMA integrity_check") == "ok")
    }

    @Test("G14: a write that finds the disk full harms no other of its group")
    func group() async throws {
        let fixture = try await StoreFixture()
        let store = fixture.store
        try await limit(fixture, pages: 20)
        let other = try fixture.connect()
        try other.beginImmediate()
        let tasks = (0..<9).map { number in
            let text = number == 4 ? String(repeating: "x", count: 200_000) : "\(number)"
            return Task { await refusal { try await store.add(text) } }
        }
        try await until { store.writer.load.waiting >= 8 }
        other.rollback()
        var codes: [SluiceError.Code?] = []
        for task in tasks { codes.append(await task.value) }
        #expect(codes.map { $0 == nil } == (0..<9).map { $0 != 4 })
        #expect(codes[4] == .diskFull)
        #expect(Set(try await store.drain()) == Set((0..<9).filter { $0 != 4 }.map { "\($0)" }))
    }

    @Test("G12, G14: on a full disk the log is used again, so that what is stored can be settled")
    func logIsUsedAgain() async throws {
        let disk = try FaultyDisk()
        let fixture = try await StoreFixture(adjust: { $0.file.vfs = disk.name })
        let store = fixture.store
        try await store.add((0..<200).map { ActionDraft("\($0)") })
        for _ in 0..<20 { try await store.settle(try await store.take(), .success) }
        try await store.checkpointPinnedWAL()
        disk.setFull(true)
        var refusals = 0
        func insist<Output>(_ body: () async throws -> Output) async throws -> Output {
            // Each refusal has the log copied before the next write.
            for _ in 0..<5 {
                do {
                    return try await body()
                } catch let error as SluiceError where error.code == .diskFull {
                    refusals += 1
                }
            }
            return try await body()
        }
        for number in 20..<200 {
            let action = try await insist { try await store.take() }
            #expect(action.text == "\(number)")
            try await insist { _ = try await store.settle(action, .success) }
        }
        #expect(refusals > 0)
        #expect(try await store.actionCount() == 0)
        disk.setFull(false)
        try await store.add("after")
        #expect(try await store.drain() == ["after"])
        await store.close()
    }
}
