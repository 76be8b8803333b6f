import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The WAL-reset bug, provoked without luck, and what keeps it away.
@Suite("The guard of the log", .watched)
struct WALGuardTests {
    /// What is done about the bug.
    enum Rule: String, CaseIterable, Sendable { case none, guarded }

    // MARK: - The bug itself

    @Test(
        "Without the guard a checkpoint that meets a commit which begins the log anew loses commits",
        .enabled(if: FileFacts.hasResetBug, "this version of SQLite has been mended")
    )
    func bug() throws {
        let site = try WALSite()
        let checkpointer = try site.connect(site.disk.name)
        try site.fill()
        #expect(try checkpointer.checkpoint(.passive).isComplete)
        site.disk.onCheckpoint { site.commit(rows: 1...4) }
        _ = try checkpointer.checkpoint(.passive)
        try site.fill()
        _ = try checkpointer.checkpoint(.passive)
        #expect(try !site.isIntact())
    }

    @Test("G1: a commit of ours that begins the log anew under a foreign checkpoint is not lost")
    func ownCommit() throws {
        let site = try WALSite()
        let guarded = try site.guarded()
        let checkpointer = try site.connect(site.disk.name)
        try site.fill()
        #expect(try checkpointer.checkpoint(.passive).isComplete)
        site.disk.onCheckpoint { site.commit(rows: 1...4, by: guarded) }
        _ = try checkpointer.checkpoint(.passive)
        #expect(site.commits == 2)
        for rows in [1...20, 21...40, 1...40] { site.commit(rows: rows, by: guarded) }
        _ = try checkpointer.checkpoint(.passive)
        #expect(try site.isIntact())
        #expect(try guarded.log.checkpoint().isComplete)
        #expect(try site.isIntact())
    }

    @Test("G1: a checkpoint of ours lets no foreign commit begin the log anew", arguments: Rule.allCases)
    func ownCheckpoint(_ rule: Rule) throws {
        let site = try WALSite()
        let guarded = try site.guarded(site.disk.name)
        site.commit(rows: 1...40, by: guarded)
        try guarded.letGo()
        site.commit(rows: 1...2)
        #expect(try site.foreign.checkpoint(.passive).isComplete)
        var hasRun = false
        site.disk.onCheckpoint {
            hasRun = true
            site.commit(rows: 1...4)
        }
        switch rule {
        case .none: _ = try guarded.connection.checkpoint(.passive)
        case .guarded: #expect(try guarded.log.checkpoint().isComplete)
        }
        #expect(hasRun)
        // Under the guard it was refused: the write lock was ours.
        #expect(site.refusals == (rule == .none ? 0 : 1))
        try site.fill()
        _ = try site.foreign.checkpoint(.passive)
        #expect(try site.isIntact() == (rule == .guarded || !FileFacts.hasResetBug))
    }

    @Test("G1: a checkpoint of ours that does not get the write lock loses nothing either")
    func lockedCheckpoint() throws {
        let site = try WALSite()
        let guarded = try site.guarded(site.disk.name)
        site.commit(rows: 1...40, by: guarded)
        try guarded.letGo()
        site.commit(rows: 1...2)
        #expect(try site.foreign.checkpoint(.passive).isComplete)
        try site.foreign.beginImmediate()
        var hasRun = false
        site.disk.onCheckpoint {
            hasRun = true
            site.write(rows: 1...4, site.foreign)
            site.commitForeign()
        }
        #expect(try guarded.log.checkpoint().wasBlocked)
        #expect(hasRun && site.commits == 3)
        try site.fill()
        _ = try site.foreign.checkpoint(.passive)
        #expect(try site.isIntact())
        // The pin is in the way of the foreign checkpoint and not of ours.
        #expect(guarded.log.isPinned)
        #expect(try guarded.log.checkpoint().isComplete)
        #expect(try site.isIntact())
    }

    @Test("G1: what a store enqueues under a foreign checkpoint is not lost", arguments: Rule.allCases)
    func store(_ rule: Rule) async throws {
        let disk = try FaultyDisk()
        let fixture = try await StoreFixture(
            isRunning: false,
            adjust: { $0.file.hasResetBug = rule == .guarded }
        )
        let store = fixture.store
        let checkpointer = try Connection(path: fixture.file.path, mode: .write, vfs: disk.name)
        _ = try checkpointer.pragma("user_version")
        let large = String(repeating: "x", count: 100_000)
        try await store.add(large)
        while store.writer.rest() {}
        #expect(try checkpointer.checkpoint(.passive).isComplete)
        disk.onCheckpoint { _ = try? store.enqueueBlocking([ActionDraft("b")]) }
        _ = try checkpointer.checkpoint(.passive)
        // Its pages are written once, and then as many more as the old log had.
        // Without the guard it may notice the damage itself.
        _ = try? await store.add(large)
        for _ in 0..<40 { _ = try? await store.add("c") }
        _ = try? checkpointer.checkpoint(.passive)
        checkpointer.close()
        let counts = try? fixture.rows("SELECT count(*) FROM sluice_action_rows")
        let damage = try? fixture.rows("PRAGMA integrity_check")
        let isIntact = counts == ["43"] && damage == ["ok"]
        #expect(isIntact == (rule == .guarded || !FileFacts.hasResetBug), "\(counts ?? []) \(damage ?? [])")
        await store.close()
    }

    // MARK: - Letting go

    @Test("G12: the pin is let go behind the last commit; until then foreign checkpoints copy nothing")
    func rests() throws {
        let site = try WALSite()
        let guarded = try site.guarded()
        site.commit(rows: 1...40, by: guarded)
        #expect(try guarded.log.checkpoint().isComplete)
        site.commit(rows: 1...4, by: guarded)
        #expect(try site.foreign.checkpoint(.passive).copied == 0)
        #expect(try guarded.log.rest() && guarded.log.isPinned)
        site.commit(rows: 1...4, by: guarded)
        #expect(try guarded.log.rest() && guarded.log.isPinned)
        #expect(try !guarded.log.rest() && !guarded.log.isPinned)
        #expect(try site.foreign.checkpoint(.passive).isComplete)
        #expect(guarded.calls.elements.count == 1)
        // From the next commit on it is to be let go again.
        site.commit(rows: 1...4, by: guarded)
        #expect(guarded.calls.elements.count == 2)
    }

    @Test("The pin stays while a foreign checkpoint is under way, and the question copies and syncs nothing")
    func staysForCheckpoint() throws {
        let site = try WALSite()
        let guarded = try site.guarded()
        let checkpointer = try site.connect(site.disk.name)
        site.commit(rows: 1...40, by: guarded)
        _ = try guarded.log.rest()
        var answers: [Bool] = []
        site.disk.onCheckpoint {
            answers.append((try? guarded.log.rest()) ?? false)
            answers.append(guarded.log.isPinned)
        }
        _ = try checkpointer.checkpoint(.passive)
        #expect(answers == [true, true])
        let copied = try checkpointer.checkpoint(.passive).copied
        #expect(try !guarded.log.rest())
        #expect(try guarded.connection.pragma("synchronous") == "2")
        site.commit(rows: 1...4)
        try #expect(!guarded.connection.isOtherCheckpointing())
        #expect(try site.connect().checkpoint(.passive).frames > copied)
    }

    /// How the engine comes to notice a checkpoint that waits for its pin.
    enum Notice: CaseIterable, Sendable { case commits, rests }

    @Test(
        "A foreign checkpoint that holds the write lock and waits for the pin gets it",
        arguments: Notice.allCases
    )
    func givesWay(_ notice: Notice) async throws {
        let fixture = try await StoreFixture(isRunning: false, adjust: { $0.file.hasResetBug = true })
        let store = fixture.store
        try await store.add("a")
        let foreign = try fixture.connect()
        _ = try foreign.pragma("user_version")
        var task: Task<Void, any Error>?
        let deadline = ContinuousClock.now + .seconds(60)
        let result = try foreign.checkpoint(.truncate) {
            switch notice {
            case .commits: if task == nil { task = Task { _ = try await store.add("b") } }
            case .rests: _ = store.writer.rest()
            }
            foreign.pause()
            return ContinuousClock.now < deadline
        }
        #expect(result.frames == 0 && !result.wasBlocked)
        try await task?.value
        try await #expect(store.actionCount() == (notice == .commits ? 2 : 1))
        await store.close()
    }

    @Test("A truncating checkpoint cuts the log that its own pin keeps, and waits for the write lock")
    func truncates() throws {
        let site = try WALSite()
        let guarded = try site.guarded()
        site.commit(rows: 1...40, by: guarded)
        let result = try guarded.log.truncate(within: .seconds(60))
        #expect(result.frames == 0 && !result.wasBlocked)
        site.commit(rows: 1...40, by: guarded)
        try site.foreign.beginImmediate()
        #expect(try guarded.log.truncate(within: .milliseconds(5)).wasBlocked)
        #expect(!guarded.log.isPinned)
        site.foreign.rollback()
        #expect(try site.isIntact())
    }

    @Test("A log of a store's size is copied while it pins, and its file does not grow")
    func storeCopies() async throws {
        let fixture = try await StoreFixture(isRunning: false, adjust: { $0.file.hasResetBug = true })
        let large = String(repeating: "x", count: 1_000_000)
        for _ in 0..<90 { try await fixture.store.add(large) }
        #expect(fixture.store.writer.trouble.pinnedPages == 0)
        let path = try await fixture.store.read { $0.walPath }
        // Two checkpoints' worth of pages are 80 MB.
        let log = try #require(path)
        let fact = try #require(FileFact(log))
        #expect(fact.byteCount < 60_000_000)
        // A process that is alone says nothing of it.
        #expect(try fixture.row("SELECT count(*) FROM sluice_checkpointer") == "0")
        await fixture.store.close()
    }

    @Test("G1: the pin stays while a checkpoint is under way that does not wait for it with the write lock")
    func strangersCheckpoint() throws {
        let site = try WALSite()
        let guarded = try site.guarded()
        let checkpointer = try site.connect(site.disk.name)
        site.commit(rows: 1...40, by: guarded)
        site.commit(rows: 1...4)
        var answers: [Bool] = []
        site.disk.onCheckpoint {
            do { for _ in 0..<5 { answers.append(try guarded.log.rest()) } } catch { Issue.record(error) }
        }
        _ = try checkpointer.checkpoint(.passive)
        #expect(answers == [true, true, true, true, true])
        #expect(guarded.log.isPinned)
        try guarded.letGo()
        #expect(!guarded.log.isPinned)
    }
}

extension Checkpoint {
    var isComplete: Bool { frames >= 0 && copied == frames && !wasBlocked }
}
