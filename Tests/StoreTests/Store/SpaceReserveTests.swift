#if os(Linux)
import Foundation
import SluiceSQLite
import SluiceTestKit
import Subprocess
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// A file system of its own of a few megabytes, in memory; only root may mount it.
private final class SmallDisk {
    let path: String
    private var isMounted = true

    /// `nil` if this user may not mount.
    init?(megabytes: Int) async throws {
        path = NSTemporaryDirectory() + "sluice-small-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let words = ["-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", path]
        let result = try await Subprocess.run(.name("mount"), arguments: Arguments(words), output: .discarded)
        guard result.terminationStatus.isSuccess else {
            try FileManager.default.removeItem(atPath: path)
            return nil
        }
    }

    func close() async throws {
        _ = try await Subprocess.run(.name("umount"), arguments: [path], output: .discarded)
        try FileManager.default.removeItem(atPath: path)
    }

    var freeBytes: Int { SpaceReserve.freeSpace(path) ?? 0 }

    /// Takes all the space that is left, as another program does.
    func fill(_ name: String = "filling") throws {
        let handle = try #require(fopen("\(path)/\(name)", "w"))
        let bytes = [UInt8](repeating: 1, count: 4_096)
        while fwrite(bytes, 1, bytes.count, handle) == bytes.count, fflush(handle) == 0 {}
        fclose(handle)
    }

    func empty(_ name: String = "filling") throws {
        try FileManager.default.removeItem(atPath: "\(path)/\(name)")
    }
}

@Suite("The engine's own use of a small disk", .watched(minutes: 3)) struct SpaceReserveTests {
    /// Runs a body with a store on a small disk; says so and passes over where none can be mounted.
    private func onSmallDisk(
        _ megabytes: Int,
        _ freeSpace: (@Sendable (String) -> Int?)? = nil,
        _ body: (SmallDisk, Store, String) async throws -> Void
    ) async throws {
        guard let disk = try await SmallDisk(megabytes: megabytes) else {
            print("reliability: passed over: this user may not mount a file system")
            return
        }
        let path = disk.path + "/q.sqlite"
        do {
            var options = BrokerOptions.on(ManualClock())
            options.file.foreignChangeInterval = .seconds(365 * 86_400)
            if let freeSpace { options.file.freeSpace = freeSpace }
            let store = try Store(.file(path), options: options) { _ in }
            try await store.startRunning()
            try await body(disk, store, path)
            await store.close()
        } catch {
            try await disk.close()
            throw error
        }
        try await disk.close()
    }

    /// Does something again until it is not refused for want of space: each refusal has the WAL copied.
    private func insist<Output>(_ body: () async throws -> Output) async throws -> Output {
        while true {
            do { return try await body() } catch let error as SluiceError where error.code == .diskFull {
                try Task.checkCancellation()
                await Task.yield()
            }
        }
    }

    /// Runs some actions of the queue, or all, and returns how many there were.
    private func run(_ store: Store, _ most: Int = .max) async throws -> Int {
        var count = 0
        while count < most {
            let result = try await insist { try await store.finishedClaim() }
            guard case .claimed(let action) = result else { return count }
            _ = try await insist { try await store.settle(action, .success) }
            count += 1
        }
        return count
    }

    /// Enqueues until the disk is full, many at a time and then one by one; returns how many were stored.
    private func enqueueUntilFull(_ store: Store, size: Int) async throws -> Int {
        let text = String(repeating: "x", count: size)
        var stored = 0
        for count in [200_000 / size, 1] where count > 0 {
            let drafts = (0..<count).map { _ in ActionDraft(text) }
            var error: SluiceError?
            while error == nil {
                do {
                    try await store.add(drafts)
                    stored += count
                } catch let refusal as SluiceError { error = refusal }
            }
            #expect(error?.code == .diskFull, "\(String(describing: error))")
        }
        return stored
    }

    /// Claims, and retries what was claimed, until there is no room for that; returns what runs then.
    private func runUntilFull(_ store: Store) async throws -> ClaimedAction? {
        var running: ClaimedAction?
        do {
            while true {
                running = nil
                running = try await store.take()
                if let running { try await store.settle(running, .retry(after: .zero, error: "e")) }
            }
        } catch let refusal as SluiceError where refusal.code == .diskFull { return running }
    }

    @Test(
        "G12: the WAL leaves room for its checkpoint, however the disk is filled",
        arguments: [(12, 4_000), (36, 100_000)]
    )
    func filled(megabytes: Int, least: Int) async throws {
        try await onSmallDisk(megabytes) { _, store, _ in
            for size in [least, 300_000] {
                let count = try await enqueueUntilFull(store, size: size)
                #expect(count > 0)
                // What is stored is run, and its space is used again.
                try await #expect(run(store) == count)
            }
            try await until { try await store.truncateWAL() }
        }
    }

    @Test("G12: the limit of the WAL on a small disk outlasts a suspension")
    func suspended() async throws {
        try await onSmallDisk(12) { _, store, _ in
            func limit() async throws -> Int? {
                try await store.write(sync: .later) {
                    try $0.core.connection.cached("PRAGMA journal_size_limit").first { $0.int(0) }
                }
            }
            try await store.add((0..<200).map { ActionDraft("\($0)") })
            let before = try #require(try await limit())
            #expect(before < DatabaseFile.journalSizeLimit)
            await store.suspend()
            try await store.resume()
            try await #expect(limit() == before)
        }
    }

    @Test("G12: a reader that stays lets the WAL fill the disk; when it has gone, writes go on by themselves")
    func reader() async throws {
        try await onSmallDisk(12) { disk, store, path in
            try await store.add((0..<200).map { ActionDraft("\($0)") })
            let reader = try Connection(path: path, mode: .read)
            try reader.execute("BEGIN; SELECT count(*) FROM sluice_action_rows")
            _ = try await enqueueUntilFull(store, size: 2_000)
            let before = try await store.actionCount()
            let running = try await runUntilFull(store)
            try reader.execute("COMMIT")
            reader.close()
            if let running {
                _ = try await insist { try await store.settle(running, .release(after: .zero)) }
            }
            _ = try await insist { try await store.add("after") }
            try await #expect(run(store) == before + 1)
        }
    }

    @Test(
        "G12: on a disk that another program has filled, what is stored is run, and the rest waits for room"
    )
    func others() async throws {
        try await onSmallDisk(12) { disk, store, _ in
            _ = try await enqueueUntilFull(store, size: 4_000)
            try disk.fill()
            let count = try await store.actionCount()
            try await #expect(run(store, count / 2) == count / 2)
            try disk.empty()
            _ = try await insist { try await store.add("after") }
            try await #expect(run(store) == count - count / 2 + 1)
        }
    }

    @Test("G12: beside a reader that stays, others cannot take the space that the next checkpoint needs")
    func strangers() async throws {
        try await onSmallDisk(12) { disk, store, path in
            try await store.add((0..<200).map { ActionDraft("\($0)") })
            let reader = try Connection(path: path, mode: .read)
            try reader.execute("BEGIN; SELECT count(*) FROM sluice_action_rows")
            // Each time its checkpoint, which the reader holds back, meets a full disk, and others fill it.
            var running: ClaimedAction?
            for round in 0..<5 {
                if running == nil { running = try await runUntilFull(store) }
                try disk.fill("filling-\(round)")
                try await #expect(!store.truncateWAL())
            }
            let count = try await store.actionCount()
            try reader.execute("COMMIT")
            reader.close()
            if let running {
                _ = try await insist { try await store.settle(running, .release(after: .zero)) }
            }
            try await #expect(run(store, count / 2) == count / 2)
            for round in 0..<5 { try disk.empty("filling-\(round)") }
            _ = try await insist { try await store.add("after") }
            try await #expect(run(store) == count - count / 2 + 1)
        }
    }

    @Test("G12: the only transaction of a process leaves room for the checkpoint too")
    func shortProcesses() async throws {
        try await onSmallDisk(12) { disk, store, path in
            let reader = try Connection(path: path, mode: .read)
            try reader.execute("BEGIN; SELECT count(*) FROM sluice_action_rows")
            let text = String(repeating: "x", count: 50_000)
            var refusal: SluiceError?
            while refusal == nil {
                var options = BrokerOptions.on(ManualClock())
                options.file.sharesFile = true
                let other = try Store(.file(path), options: options) { _ in }
                do { try await other.add(text) } catch let error as SluiceError { refusal = error }
                await other.close()
            }
            #expect(refusal?.code == .diskFull)
            try reader.execute("COMMIT")
            reader.close()
            let count = try await store.actionCount()
            try await #expect(run(store) == count)
        }
    }

    @Test("G12: what is not written yet of a database counts as missing, however long its file is")
    func holes() throws {
        let file = try TemporaryFile()
        let (wal, pages) = (file.path + "-wal", 2_048)
        let reserve = SpaceReserve(file.path, walPath: wal) { _ in 100 << 20 }
        _ = reserve.look(at: 1, pageSize: 4_096)
        let short = SpaceReserve(file.path, walPath: wal) { _ in 1 << 20 }
        _ = short.look(at: 1, pageSize: 4_096)
        let bytes = pages * 4_096
        for path in [file.path, wal] {
            try Data().write(to: URL(filePath: path))
            try #require(truncate(path, off_t(bytes)) == 0)
        }
        #expect(!short.mayCommit(pages: pages))
        try Data(repeating: 1, count: bytes).write(to: URL(filePath: file.path))
        #expect(short.mayCommit(pages: pages))
        reserve.release()
    }

    @Test("G12: a process that ends leaves the reserve to those that go on")
    func endsBeside() async throws {
        try await onSmallDisk(12) { disk, store, path in
            try await store.add("a")
            let reserve = path + "-reserve"
            #expect(FileManager.default.fileExists(atPath: reserve))
            var options = BrokerOptions.on(ManualClock())
            options.file.sharesFile = true
            let other = try Store(.file(path), options: options) { _ in }
            try await other.add("b")
            await other.close()
            #expect(FileManager.default.fileExists(atPath: reserve))
            await store.close()
            #expect(!FileManager.default.fileExists(atPath: reserve))
        }
    }

    @Test("G12: while the reserve has given space to a checkpoint, nobody can commit")
    func guarded() async throws {
        let file = Mutex<String?>(nil)
        let looks = EventLog<Bool>()
        let freeSpace: @Sendable (String) -> Int? = { path in
            if let file = file.withLock({ $0 }), let other = try? Connection(path: file, mode: .write) {
                looks.append((try? other.beginImmediate()) != nil)
                other.close()
            }
            return SpaceReserve.freeSpace(path)
        }
        try await onSmallDisk(12, freeSpace) { disk, store, path in
            try await store.add((0..<200).map { ActionDraft("\($0)") })
            let reader = try Connection(path: path, mode: .read)
            try reader.execute("BEGIN; SELECT count(*) FROM sluice_action_rows")
            _ = try await runUntilFull(store)
            try disk.fill()
            file.withLock { $0 = path }
            try reader.execute("COMMIT")
            reader.close()
            try await until { try await store.truncateWAL() }
            file.withLock { $0 = nil }
        }
        #expect(!looks.elements.isEmpty && looks.elements.allSatisfy { !$0 }, "\(looks.elements)")
    }

    @Test("G12: a long file of a WAL that is copied gives its space back, if there is none but that")
    func longFile() async throws {
        try await onSmallDisk(12) { disk, store, path in
            try await store.add((0..<200).map { ActionDraft("\($0)") })
            let reader = try Connection(path: path, mode: .read)
            try reader.execute("BEGIN; SELECT count(*) FROM sluice_action_rows")
            _ = try await runUntilFull(store)
            await store.suspend()
            // Its checkpoint has room, but no commit would have the room for another one.
            unlink(path + "-reserve")
            try reader.execute("COMMIT")
            let stranger = try Connection(path: path, mode: .write)
            try stranger.execute("SELECT count(*) FROM sluice_action_rows")
            let result = try stranger.checkpoint(.passive)
            #expect(result.copied == result.frames && !result.wasRefused)
            stranger.close()
            try disk.fill()
            try await store.resume()
            reader.close()
            _ = try await insist { try await store.add("after") }
        }
    }

    @Test("G12: the file gives what a checkpoint lacks, and takes back what that has left free")
    func givesAndTakesBack() throws {
        let file = try TemporaryFile()
        let free = Mutex(100 << 20)
        let reserve = SpaceReserve(file.path, walPath: file.path + "-wal") { _ in free.withLock { $0 } }
        _ = reserve.look(at: 1, pageSize: 4_096)
        func size() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: reserve.path)[.size] as? Int ?? 0
        }
        #expect(try size() == SpaceReserve.largest)
        free.withLock { $0 = 4_096 }
        let gives = reserve.give(forPages: 100)
        let given = 99 * 4_096 + SpaceReserve.smallest
        #expect(try gives && size() == SpaceReserve.largest - given)
        // The checkpoint was held back, and others have taken some.
        free.withLock { $0 = 200_000 }
        reserve.takeBack()
        #expect(try size() == SpaceReserve.largest - given + 200_000)
        reserve.takeBack()
        #expect(try size() == SpaceReserve.largest - given + 200_000 && reserve.byteCount == size())
        reserve.release()
    }

    @Test(
        "With room enough nothing is kept, and what a killed process has left is deleted; others' files stay"
    )
    func ample() async throws {
        let file = try TemporaryFile()
        let path = file.path + "-reserve"
        let small = 100 << 20
        let limit = small / 4 / 4_096
        let reserve = SpaceReserve(file.path, walPath: file.path + "-wal") { _ in small }
        let hasChanged = reserve.look(at: 1, pageSize: 4_096)
        #expect(hasChanged && reserve.walLimit == limit)
        #expect(FileManager.default.fileExists(atPath: path))
        let next = SpaceReserve(file.path, walPath: file.path + "-wal") { _ in .max }
        let hasChangedNext = next.look(at: 1, pageSize: 4_096)
        #expect(!hasChangedNext && next.walLimit == nil)
        #expect(!FileManager.default.fileExists(atPath: path))
        try "a person's".write(toFile: path, atomically: true, encoding: .utf8)
        let last = SpaceReserve(file.path, walPath: file.path + "-wal") { _ in small }
        _ = last.look(at: 1, pageSize: 4_096)
        let hasReleased = last.release()
        #expect(last.byteCount == 0 && !hasReleased)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "a person's")
        try FileManager.default.removeItem(atPath: path)
    }
}
#endif
