import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Suspension that others have used", .watched(minutes: 5)) struct ResumptionTests {
    @Test(
        "A file that was replaced meanwhile is not gone on with, and what waits is told so",
        arguments: [true, false]
    )
    func replaced(_ hasSameInode: Bool) async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        try await broker.enqueue(Note("1"))
        await broker.file?.suspend()
        let write = Task { try await broker.enqueue(Note("2")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        let read = Task { try await broker.actionCount() }
        let other = try TemporaryFile()
        try await openAndClose(other.path)
        for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        let bytes = try Data(contentsOf: URL(fileURLWithPath: other.path))
        if hasSameInode {
            let handle = try #require(FileHandle(forWritingAtPath: path))
            try handle.truncate(atOffset: 0)
            try handle.write(contentsOf: bytes)
            try handle.close()
            // Made at another time, as the clock of this test does not tell.
            let connection = try Connection(path: path, mode: .write)
            try connection.execute("UPDATE sluice_migrations SET applied_at_us = applied_at_us + 1")
            connection.close()
        } else {
            // Made while the old one is there, so that it has another number.
            try bytes.write(to: URL(fileURLWithPath: path + ".new"))
            #expect(rename(path + ".new", path) == 0)
        }
        #expect(await refusal { try await broker.file?.resume() } == .fileReplaced)
        #expect(await refusal { try await write.value } == .fileReplaced)
        #expect(await refusal { try await read.value } == .fileReplaced)
        #expect(await refusal { try await broker.enqueue(Note("3")) } == .fileReplaced)
        await broker.close()
        let second = try await site.broker()
        try await #expect(second.actionCount() == 0)
        await second.close()
    }

    @Test("The number of a file that went while its broker was suspended may be another file's by then")
    func reusedNumber() async throws {
        let site = try Site()
        let path = try #require(site.file).path
        let broker = try await site.broker()
        await broker.file?.suspend()
        #expect(await refusal { try await Broker(file: path) } == .alreadyOpen)
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.moveItem(atPath: path + suffix, toPath: path + ".other" + suffix)
        }
        let other = try await Broker(file: path + ".other")
        #expect(await refusal { try await broker.file?.resume() } == .fileReplaced)
        await broker.close()
        // The first one's end is not the end of the other's entry.
        #expect(await refusal { try await Broker(file: path + ".other") } == .alreadyOpen)
        await other.close()
        try await openAndClose(path + ".other")
    }

    @Test("A file that cannot be opened for now leaves it suspended, and what waits waits on")
    func cannotOpen() async throws {
        let disk = try FaultyDisk()
        let site = try Site()
        let broker = try await site.broker { $0.file.vfs = disk.name }
        await broker.file?.suspend()
        let write = Task { try await broker.enqueue(Note("1")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        disk.setReadOnly()
        #expect(await refusal { try await broker.file?.resume() } == .readOnly)
        #expect(broker.fileEngine.suspension.isOn && broker.fileEngine.store.writer.load.waiting == 1)
        disk.setWritable()
        try await broker.file?.resume()
        _ = try await write.value
        await broker.file?.suspend()
        let vain = Task { try await broker.enqueue(Note("2")) }
        try await until { broker.fileEngine.store.writer.load.waiting == 1 }
        disk.setReadOnly()
        await broker.close()
        #expect(await refusal { try await vain.value } == .readOnly)
        disk.setWritable()
        let second = try await site.broker()
        try await #expect(second.actionCount() == 1)
        await second.close()
    }

    @Test("A newer version that migrated it meanwhile is found")
    func newerSchema() async throws {
        let site = try Site()
        let broker = try await site.broker()
        await broker.file?.suspend()
        try site.shell("INSERT INTO sluice_migrations VALUES (99, 'later', 0)")
        #expect(await refusal { try await broker.file?.resume() } == .newerSchema)
        #expect(await refusal { try await broker.enqueue(Note("1")) } == .newerSchema)
        await broker.close()
    }

    @Test("G3: what another process has taken over meanwhile is its own; the handler here is cancelled")
    func takenOver() async throws {
        let site = try Site()
        let broker = try await site.broker { $0.standFor(process: 1) }
        let (started, cancelled) = (Signal(), Signal())
        try broker.route("*", Note.self) { _, _ in
            started.send()
            do { try await untilCancelled() } catch { cancelled.send() }
            return .success
        }
        try await broker.enqueue([Note("1"), Note("2")])
        let run = Task { try await broker.run() }
        try await started.received()
        await broker.file?.suspend()
        // Of the same start of the machine: nobody can tell it dead.
        try site.shell(
            """
            DELETE FROM sluice_runner_rows;
            DELETE FROM sluice_claim_rows;
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us)
            VALUES (99, 2, 'machine namespace-2 start', 0, \(site.clock.now.microseconds + 3_600_000_000));
            INSERT INTO sluice_claim_rows (queue_id,slot,action_id,claim, started_at_us, trial_size, opening)
            SELECT queue_id, 0, min(id), 99 << 32, 0, 0, 0 FROM sluice_action_rows;
            """
        )
        try await broker.file?.resume()
        try await cancelled.received()
        try await until { broker.statistics.staleCompletions == 1 }
        await broker.stop()
        try await run.value
        #expect(started.elements.count == 1 && broker.statistics.succeeded == 0)
        try await #expect(broker.actionCount() == 2)
        await broker.close()
    }
}
