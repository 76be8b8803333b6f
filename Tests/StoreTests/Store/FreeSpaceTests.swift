import Sluice
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import struct Sluice.DatabaseFile
@testable import struct Sluice.FreeSpace

@Suite("Free space", .watched)
struct FreeSpaceTests {
    @Test(
        "G12: pages are given back when more than half of the file is free, and then down to a fifth",
        arguments: [
            (all: 4_500, free: 2_303, isUnderWay: false, step: 0), (4_500, 2_304, false, 256),
            (10_000, 5_000, false, 0), (10_000, 5_001, false, 256), (10_000, 5_000, true, 256),
            (20_000, 4_001, true, 256), (20_000, 4_000, true, 0), (2_048, 2_048, true, 0),
            (2_100, 2_100, true, 52), (2_100, 2_100, false, 0),
        ]
    )
    func steps(all: Int, free: Int, isUnderWay: Bool, step: Int) {
        #expect(FreeSpace.step(free: free, of: all, isUnderWay: isUnderWay) == step)
    }

    @Test("G12: a drained backlog leaves a small file, and what stays is whole")
    func drained() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let large = "\"" + String(repeating: "x", count: 8_000) + "\""
        for _ in 0..<3 {
            try await broker.enqueue(
                raw: (0..<1_000).map { _ in RawAction(queue: "drained", kind: "k", payload: large) }
            )
        }
        let kept = try await broker.enqueue(raw: [RawAction(queue: "kept", kind: "k", payload: large)])
        let path = try #require(site.file).path
        try await broker.fileEngine.store.checkpointPinnedWAL()
        let full = try #require(DatabaseFile.byteCount(of: path))
        _ = try await broker.cancel(queues: "drained")
        // Each write comes behind the upkeep that is due: a step, and then the checkpoint that cuts the file.
        for _ in 0..<40 { try await broker.fileEngine.store.checkpointPinnedWAL() }
        let drained = try #require(DatabaseFile.byteCount(of: path))
        #expect(full > 24_000_000 && drained < 12_000_000, "\(full), then \(drained)")
        #expect(try await broker.actionSummaries("kept", limit: 2).map(\.id) == kept)
        await broker.close()
        #expect(try Connection(path: path, mode: .read).pragma("integrity_check") == "ok")
    }

    @Test("A file of an application that does not ask for it keeps its pages")
    func applicationsFile() async throws {
        let site = try Site(.file)
        let path = try #require(site.file).path
        let application = try Connection(path: path, mode: .create)
        try application.execute(
            "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(20000000)); DELETE FROM t"
        )
        application.close()
        let before = try #require(DatabaseFile.byteCount(of: path))
        let broker = try await site.broker()
        for _ in 0..<10 { try await broker.fileEngine.store.checkpointPinnedWAL() }
        await broker.close()
        #expect(try #require(DatabaseFile.byteCount(of: path)) >= before)
    }
}
