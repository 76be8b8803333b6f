import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("A disk whose syncs fail", .watched)
struct StoreSyncTests {
    private func fixture(_ disk: FaultyDisk) async throws -> StoreFixture {
        try await StoreFixture(adjust: { $0.file.vfs = disk.name })
    }

    private func walSize(_ fixture: StoreFixture) throws -> Int {
        try Data(contentsOf: URL(fileURLWithPath: fixture.file.path + "-wal")).count
    }

    /// What the file would hold if the machine stopped now and all that was written had reached the disk.
    private func payloadsAfterLossOfPower(_ fixture: StoreFixture) async throws -> [String] {
        let copy = try TemporaryFile()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: fixture.file.path + suffix, toPath: copy.path + suffix)
        }
        let found = try await StoreFixture(file: copy, isRunning: false)
        defer { withExtendedLifetime(found) {} }
        return try found.rows("SELECT payload FROM sluice_actions ORDER BY id")
    }

    @Test("G1, G14: an enqueue whose sync fails once throws and is not stored: its pages have left the log")
    func once() async throws {
        let disk = try FaultyDisk()
        let fixture = try await fixture(disk)
        let store = fixture.store
        try await store.add("before")
        disk.failSyncs(1)
        #expect(await refusal { try await store.add("lost") } == .inputOutput)
        #expect(disk.failedSyncs == 1)
        #expect(try walSize(fixture) == 0)
        #expect(try await store.actionCount() == 1)
        #expect(try await payloadsAfterLossOfPower(fixture) == ["\"before\""])
        // The disk is whole again, and the store goes on.
        try await store.add("after")
        #expect(try await payloadsAfterLossOfPower(fixture) == ["\"before\"", "\"after\""])
        #expect(try await store.drain() == ["before", "after"])
        #expect(try fixture.row("PRAGMA integrity_check") == "ok")
        await store.close()
    }

    @Test("G14: that its pages have left the log has reached the disk before its enqueue throws")
    func syncedCut() async throws {
        let (disk, journal) = (try FaultyDisk(), PowerJournal())
        disk.observe(journal)
        let fixture = try await fixture(disk)
        try await fixture.store.add("before")
        disk.failSyncs(1)
        #expect(await refusal { try await fixture.store.add("lost") } == .inputOutput)
        #expect(logSteps(journal).suffix(2) == ["cut", "synced"])
        await fixture.store.close()
    }

    private func logSteps(_ journal: PowerJournal) -> [String] {
        journal.entries.compactMap { entry -> String? in
            switch entry {
            case .truncated(let path, 0) where path.hasSuffix("-wal"): "cut"
            case .synced(let path) where path.hasSuffix("-wal"): "synced"
            case .written(let path, _, _) where path.hasSuffix("-wal"): "written"
            default: nil
            }
        }
    }

    /// Leaves more in the log, unsynced, than a commit syncs while it holds the write lock.
    ///
    /// - Parameter waiting: What then waits in the queue.
    private func leaveUnsynced(_ store: Store, waiting: String? = nil) async throws {
        for number in 0..<100 { try await store.add("\(number)") }
        if let waiting { try await store.add(waiting) }
        for _ in 0..<100 { try await store.settle(store.take(), .success) }
    }

    @Test(
        "G1: an enqueue that finds the action of its key unsynced has it on the disk when it returns",
        arguments: [false, true]
    )
    func foundByKey(inOwn: Bool) async throws {
        let (disk, journal) = (try FaultyDisk(), PowerJournal())
        disk.observe(journal)
        let fixture = try await fixture(disk)
        let store = fixture.store
        let key = DeduplicationKey("key", retention: .seconds(60))
        let draft = ActionDraft("found", extras: DraftExtras(key: key))
        // As an action that another's settling enqueues.
        let stored = try await store.write(sync: .later) { try $0.enqueues.enqueue([draft]).get() }
        #expect(logSteps(journal).last == "written")
        if inOwn {
            let connection = try Connection(path: fixture.file.path, mode: .write, vfs: disk.name)
            let found = try connection.immediate { try store.enqueue([draft], in: connection.rawHandle) }
            #expect(found == stored)
            connection.close()
        } else {
            #expect(try await store.enqueue([draft]) == stored)
        }
        #expect(logSteps(journal).last == "synced")
        await store.close()
    }

    @Test("What is unsynced is synced before a commit takes the write lock, for which others wait")
    func syncedAhead() async throws {
        let (disk, journal) = (try FaultyDisk(), PowerJournal())
        disk.observe(journal)
        let fixture = try await fixture(disk)
        try await leaveUnsynced(fixture.store)
        let earlier = logSteps(journal).count
        try await fixture.store.add("synced")
        let steps = logSteps(journal).dropFirst(earlier)
        #expect(steps.first == "synced" && steps.last == "synced")
        #expect(steps.count { $0 == "synced" } == 2 && steps.contains("written"))
        try await fixture.store.add("alone")
        #expect(logSteps(journal).dropFirst(earlier + steps.count).count { $0 == "synced" } == 1)
        await fixture.store.close()
    }

    @Test("G1, G14: if that sync fails, the enqueue throws, and what may be lost leaves the log")
    func aheadFails() async throws {
        let disk = try FaultyDisk()
        let fixture = try await fixture(disk)
        try await leaveUnsynced(fixture.store)
        disk.failSyncs(1)
        #expect(await refusal { try await fixture.store.add("lost") } == .inputOutput)
        #expect(disk.failedSyncs == 1)
        #expect(try walSize(fixture) == 0)
        try await fixture.store.add("after")
        #expect(try await payloadsAfterLossOfPower(fixture) == ["\"after\""])
        await fixture.store.close()
    }

    @Test("G1: if a checkpoint fails to sync the log, what may be lost leaves it at once")
    func checkpointFails() async throws {
        let disk = try FaultyDisk()
        let fixture = try await fixture(disk)
        try await leaveUnsynced(fixture.store)
        disk.failSyncs(1)
        try await fixture.store.checkpointPinnedWAL()
        #expect(disk.failedSyncs == 1)
        #expect(try walSize(fixture) == 0)
        try await fixture.store.add("after")
        #expect(try await payloadsAfterLossOfPower(fixture) == ["\"after\""])
        await fixture.store.close()
    }

    @Test("G1, G14: while syncs fail nothing is acknowledged, and nobody is told what was not found out")
    func breakdown() async throws {
        let disk = try FaultyDisk()
        let fixture = try await fixture(disk)
        let store = fixture.store
        try await store.add("before")
        disk.breakDown()
        // The log could not be cleared: what stands in it may be found after a crash, or not.
        #expect(await refusal { try await store.add("unknown") } == .unknownCommit)
        // A claim is not synced: only the log that is still to be cut keeps it from being acknowledged.
        let refusals = [
            await refusal { try await store.claim() },
            await refusal { try await store.add("refused") },
            await refusal { try store.enqueueBlocking([ActionDraft("refused")]) },
        ]
        #expect(refusals == [.inputOutput, .inputOutput, .inputOutput])
        #expect(try await store.actionCount() == 1)
        let failed = disk.failedSyncs
        #expect(failed >= 5)

        disk.mend()
        // The first write, though it needs no sync of its own, comes behind the cut.
        let action = try await store.take()
        #expect(action.text == "before")
        #expect(try await payloadsAfterLossOfPower(fixture) == ["\"before\""])
        try await store.settle(action, .success)
        try await store.add("after")
        #expect(disk.failedSyncs == failed)
        #expect(try await store.drain() == ["after"])
        await store.close()
    }

    @Test(
        "G14: a sync that fails once harms nobody in its group: each is stored by a commit of its own",
        arguments: [false, true]
    )
    func group(isAhead: Bool) async throws {
        let disk = try FaultyDisk()
        let fixture = try await fixture(disk)
        let store = fixture.store
        if isAhead {
            try await leaveUnsynced(store, waiting: "before")
        } else {
            try await store.add("before")
        }
        let other = try fixture.connect()
        try other.beginImmediate()
        // The first one leads and waits for the lock; it is a claim, which needs no sync. The others follow.
        let leader = Task { try await store.claim() }
        try await until { store.writer.load.isLed }
        let tasks = (0..<3).map { number in Task { try await store.add("\(number)") } }
        try await until { store.writer.load.waiting == 3 }
        disk.failSyncs(1)
        other.rollback()
        _ = try await leader.value
        for task in tasks { _ = try await task.value }
        #expect(disk.failedSyncs == 1)
        #expect(try await store.actionCount() == 4)
        await store.close()
    }

    /// A store on what a process that died has left, with one enqueue in its log.
    private func afterDeath(_ disk: FaultyDisk) async throws -> StoreFixture {
        let (dead, file) = (try await StoreFixture(), try TemporaryFile())
        try await dead.store.add("before")
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: dead.file.path + suffix, toPath: file.path + suffix)
        }
        await dead.store.close()
        return try await StoreFixture(file: file, isRunning: false, adjust: { $0.file.vfs = disk.name })
    }

    @Test("G1: a log that a dead process has left is cut before an enqueue is acknowledged, and only then")
    func inherited() async throws {
        let (disk, journal) = (try FaultyDisk(), PowerJournal())
        disk.observe(journal)
        let fixture = try await afterDeath(disk)
        for (number, cuts) in [1, 1].enumerated() {
            try await fixture.store.add("\(number)")
            #expect(logSteps(journal).count { $0 == "cut" } == cuts)
        }
        await fixture.store.close()
    }

    @Test("The log of a process that lives is not cut by an opening beside it", arguments: [true, false])
    func notInherited(lives: Bool) async throws {
        let file = try TemporaryFile()
        let (disk, journal) = (try FaultyDisk(), PowerJournal())
        disk.observe(journal)
        let other = try await StoreFixture(
            file: file,
            adjust: {
                $0.file.identity = .of(Int64(getppid()))
                $0.file.sharesFile = true
            }
        )
        try await other.store.add("before")
        // Without its connection it has no pin, which would be in the way.
        await other.store.suspend()
        // The last connection to close would cut the log.
        let shell = try other.connect()
        if !lives { try shell.execute("DELETE FROM sluice_runner_rows") }
        let fixture = try await StoreFixture(
            file: file,
            isRunning: false,
            adjust: {
                $0.file.vfs = disk.name
                $0.file.sharesFile = true
            }
        )
        try await fixture.store.add("after")
        #expect(logSteps(journal).contains("cut") == !lives)
        for fixture in [fixture, other] { await fixture.store.close() }
        shell.close()
    }

    @Test("G1: if a sync fails while such a log is copied, the next write copies it again")
    func inheritedFails() async throws {
        let (disk, journal) = (try FaultyDisk(), PowerJournal())
        disk.observe(journal)
        let fixture = try await afterDeath(disk)
        disk.failSyncs(1)
        #expect(await refusal { try await fixture.store.add("lost") } == .inputOutput)
        #expect(!logSteps(journal).contains("cut"))
        try await fixture.store.add("after")
        #expect(logSteps(journal).contains("cut"))
        #expect(try await payloadsAfterLossOfPower(fixture) == ["\"before\"", "\"after\""])
        await fixture.store.close()
    }

    @Test("G9: of two processes whose syncs have failed, one clears the log while the other does nothing")
    func twoClear() async throws {
        let (file, clock) = (try TemporaryFile(), ManualClock())
        let disks = [try FaultyDisk(), try FaultyDisk()]
        var stores: [StoreFixture] = []
        for (number, disk) in disks.enumerated() {
            let store = try await StoreFixture.process(Int64(number + 1), on: file, clock: clock) {
                $0.file.vfs = disk.name
                $0.file.lockTimeout = .milliseconds(200)
            }
            stores.append(store)
            try await store.store.add("before")
        }
        let reader = try stores[0].connect()
        try reader.beginDeferred()
        _ = try reader.prepare("SELECT count(*) FROM sluice_actions").hasRow()
        for (disk, fixture) in zip(disks, stores) {
            disk.failSyncs(1)
            #expect(await refusal { try await fixture.store.add("unknown") } == .unknownCommit)
        }
        reader.rollback()
        try await stores[1].store.add("after")
        for fixture in stores { await fixture.store.close() }
    }

    @Test("G9: who must clear the log, and is refused, releases its pin for the checkpoint that waits for it")
    func refusedClear() async throws {
        let disk = try FaultyDisk()
        let fixture = try await StoreFixture(adjust: {
            $0.file.vfs = disk.name
            $0.file.lockTimeout = .milliseconds(700)
        })
        let store = fixture.store
        try await store.add("before")
        let checkpointer = try Connection(path: fixture.file.path, mode: .write, vfs: disk.name)
        _ = try checkpointer.pragma("user_version")
        var refusals: [SluiceError.Code?] = []
        func enqueue() {
            do throws(SluiceError) {
                _ = try store.enqueueBlocking([ActionDraft("refused")])
                refusals.append(nil)
            } catch { refusals.append(error.code) }
        }
        try await store.add("more")
        // The sync fails while another checkpoint is under way: the pin protects the commit from it.
        disk.onCheckpoint {
            disk.failSyncs(1)
            enqueue()
        }
        _ = try checkpointer.checkpoint(.passive)
        var waits = 0
        let result = try checkpointer.checkpoint(.truncate) {
            waits += 1
            if waits == 1 { enqueue() }
            return waits == 1
        }
        #expect(waits == 1 && !result.wasBlocked)
        #expect(refusals == [.unknownCommit, .inputOutput])
        try await store.add("after")
        await store.close()
    }

    @Test("G9: a group whose sync fails waits once for a reader that keeps the log, not once for each member")
    func groupWaitsOnce() async throws {
        let disk = try FaultyDisk()
        let timeout = Duration.seconds(1)
        let fixture = try await StoreFixture(adjust: {
            $0.file.vfs = disk.name
            $0.file.lockTimeout = timeout
        })
        let store = fixture.store
        try await leaveUnsynced(store, waiting: "before")
        let reader = try fixture.connect()
        try reader.beginDeferred()
        _ = try reader.prepare("SELECT count(*) FROM sluice_actions").hasRow()
        let other = try fixture.connect()
        try other.beginImmediate()
        let leader = Task { await refusal { try await store.claim() } }
        try await until { store.writer.load.isLed }
        let tasks = (0..<30).map { number in Task { await refusal { try await store.add("\(number)") } } }
        try await until { store.writer.load.waiting == 30 }
        disk.failSyncs(1)
        let start = ContinuousClock.now
        other.rollback()
        _ = await leader.value
        for task in tasks { #expect(await task.value == .inputOutput) }
        #expect(start.duration(to: .now) < timeout * 15)
        reader.rollback()
        try await store.add("after")
        await store.close()
    }

    @Test("A suspension does not wait for a reader that keeps the log after a failed sync")
    func suspension() async throws {
        let (file, clock, disk) = (try TemporaryFile(), ManualClock(), try FaultyDisk())
        // One that is to be notified of the suspension, and commits nothing that a write would answer.
        let other = try await StoreFixture.process(2, on: file, clock: clock)
        await other.store.suspend()
        let timeout = Duration.seconds(2)
        let fixture = try await StoreFixture.process(1, on: file, clock: clock) {
            $0.file.vfs = disk.name
            $0.file.lockTimeout = timeout
        }
        let reader = try fixture.connect()
        try reader.beginDeferred()
        _ = try reader.prepare("SELECT count(*) FROM sluice_actions").hasRow()
        disk.failSyncs(1)
        #expect(await refusal { try await fixture.store.add("unknown") } == .unknownCommit)
        let start = ContinuousClock.now
        await fixture.store.suspend()
        #expect(start.duration(to: .now) < timeout)
        reader.rollback()
        try await fixture.store.resume()
        try await fixture.store.add("after")
        for fixture in [fixture, other] { await fixture.store.close() }
    }
}
