#if CommandLineTool
import Foundation
import SluiceSQLite
import SluiceTestKit
import Subprocess
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Who is in the broker's way.
@Suite("Health", .watched)
struct HealthTests {
    @Test("The health says since when writes wait for another connection's lock, and waits for none itself")
    func locked() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await #expect(broker.fileEngine.store.health().lockedSince == nil)
        let other = try Connection(path: #require(site.file).path, mode: .write)
        try other.beginImmediate()
        let enqueued = Task { try await broker.enqueue(Note("a")) }
        try await until { try await broker.fileEngine.store.health().lockedSince != nil }
        try await #expect(broker.fileEngine.store.health().lockedSince == site.clock.now.date)
        #if os(Linux)
        // A connection of this very process, which the engine does not know of.
        try await #expect(broker.fileEngine.store.health().lockHolders == [Int(getpid())])
        #endif
        other.rollback()
        _ = try await enqueued.value
        try await #expect(broker.fileEngine.store.health().lockedSince == nil)
        try await #expect(broker.fileEngine.store.health().walByteCount > 0)
        await broker.close()
    }

    @Test("The reason of a lock in the way names its processes, and this one as such")
    func lockNames() {
        let own = Int(getpid())
        for (processes, name) in [
            ([], "another connection"), ([own], "this process"), ([7], "process 7"),
            ([7, 8], "processes 7, 8"), ([own, 7], "process 7 and this process"),
        ] {
            let words = WaitReason.locked(since: .now, by: processes).description
            #expect(words.hasPrefix("waiting for the write lock of \(name) since 20"), "\(words)")
        }
    }

    @Test("The pages that a reader keeps from being copied are counted at each checkpoint")
    func pinned() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        try await broker.enqueue(Note("a"))
        let reader = try Connection(path: #require(site.file).path, mode: .write)
        try reader.execute("BEGIN; SELECT * FROM sluice_action_rows;")
        let large = String(repeating: "x", count: 1_000_000)
        // About 250 pages each; a checkpoint comes with 10,000.
        for _ in 0..<45 { try await broker.enqueue(Note(large)) }
        try await until { try await broker.fileEngine.store.health().pinnedPageCount > 0 }
        try reader.execute("COMMIT")
        for _ in 0..<45 { try await broker.enqueue(Note(large)) }
        try await until { try await broker.fileEngine.store.health().pinnedPageCount == 0 }
        try await #expect(broker.fileEngine.store.health().walByteCount > 10_000 * 4_096)
        await broker.close()
    }

    @Test("The holders of locks are read from the system's table, by byte; who waits for one has none")
    func table() {
        let text = """
            1: POSIX  ADVISORY  WRITE 100 fe:00:7 120 120
            2: POSIX  ADVISORY  READ 100 fe:00:7 124 124
            3: POSIX  ADVISORY  READ 200 fe:00:7 124 124
            3: -> POSIX  ADVISORY  WRITE 300 fe:00:7 120 120
            4: POSIX  ADVISORY  READ 400 fe:00:7 128 128
            5: POSIX  ADVISORY  WRITE 500 fe:00:8 120 120
            5: POSIX  ADVISORY  READ 500 fe:00:8 120 120
            5: OFDLCK ADVISORY  WRITE -1 fe:00:8 120 120
            6: FLOCK  ADVISORY  WRITE 600 fe:00:7 0 EOF
            7: POSIX  ADVISORY  WRITE 700 fe:00:7 0 EOF
            """
        let table = LockTable(text, inode: 7)
        #expect(table.writers == [100, 700] && table.readers == [100, 200, 700])
        #expect(LockTable(text, inode: 8).writers == [500])
        #expect(LockTable(text, inode: 9) == LockTable("", inode: 0))
    }

    #if os(Linux)
    @Test("The health names the process of a shell that holds the write lock")
    func holder() async throws {
        let site = try Site(.file)
        let broker = try await site.broker()
        let path = try #require(site.file).path
        let pipe = path + ".pipe"
        #expect(mkfifo(pipe, 0o600) == 0)
        // It waits inside its transaction until somebody has opened the pipe for writing and closed it.
        async let shell = Subprocess.run(
            .name("sqlite3"),
            arguments: [
                "-batch", "-init", "/dev/null", "-cmd", "BEGIN IMMEDIATE", "-cmd", ".shell cat '\(pipe)'",
                path,
                "ROLLBACK",
            ],
            output: .string(limit: 1_000),
            error: .string(limit: 1_000)
        )
        try await until { try await !broker.fileEngine.store.health().lockHolders.isEmpty }
        let health = try await broker.fileEngine.store.health()
        try FileHandle(forWritingTo: URL(filePath: pipe)).close()
        let result = try await shell
        #expect(result.terminationStatus.isSuccess)
        #expect(health.lockHolders == [Int(result.processIdentifier.value)])
        try await #expect(broker.fileEngine.store.health().lockHolders.isEmpty)
        await broker.close()
    }
    #endif
}
#endif
