import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Readers that keep the log from being copied, for a while or for ever.
@Suite("Readers of the log", .watched)
struct WALReaderTests {
    private let site: WALSite
    private let guarded: WALSite.Guarded
    private let reader: Connection

    init() throws {
        site = try WALSite()
        guarded = try site.guarded()
        reader = try site.connect()
    }

    private func beginReading() throws {
        try reader.execute("BEGIN; SELECT count(*) FROM t")
    }

    /// A reader has kept a checkpoint of ours from copying all.
    private func meetReader() throws {
        site.commit(rows: 1...40, by: guarded)
        try beginReading()
        site.commit(rows: 1...40, by: guarded)
        #expect(try !guarded.log.checkpoint().isComplete)
        try guarded.log.checkpointed()
    }

    /// After a reader, a foreign connection has copied all: the next commit begins the log anew.
    private func copyAllByOther() throws -> Connection {
        let checkpointer = try site.connect(site.disk.name)
        try meetReader()
        site.commit(rows: 1...40, by: guarded)
        reader.rollback()
        #expect(try checkpointer.checkpoint(.passive).isComplete)
        return checkpointer
    }

    @Test("G12: a checkpoint does not wait again for a reader that stays")
    func waitsOnce() throws {
        try meetReader()
        // The quickest of them: one that waits takes longer, whatever else the machine does.
        var quickest = Duration.seconds(60)
        for _ in 0..<5 {
            site.commit(rows: 1...4, by: guarded)
            quickest = try min(quickest, ContinuousClock().measure { _ = try guarded.log.checkpoint() })
        }
        #expect(quickest < WALGuard.patience)
        reader.rollback()
        #expect(try guarded.log.checkpoint().isComplete)
    }

    @Test("G12: beside a reader that stays, who replicates the log can copy it, and it begins anew")
    func replicator() throws {
        try meetReader()
        let replicator = try site.connect()
        for _ in 0..<3 {
            site.commit(rows: 1...40, by: guarded)
            // As Litestream does: nobody commits while its own reader makes room for its checkpoint.
            try replicator.beginImmediate()
            reader.rollback()
            let result = try site.foreign.checkpoint(.passive)
            #expect(result.isComplete)
            try beginReading()
            replicator.rollback()
            site.commit(rows: 1...4, by: guarded)
            #expect(guarded.connection.walFrames < result.frames)
        }
        #expect(try site.isIntact())
    }

    @Test("G12: most of a long log is copied without the write lock, and no commit begins it anew meanwhile")
    func longWAL() throws {
        let long = try site.guarded(site.disk.name, nonce: 2)
        try beginReading()
        while long.connection.walFrames <= CheckpointPolicy.shortWAL { site.commit(rows: 1...40, by: long) }
        #expect(try !long.log.checkpoint().isComplete)
        reader.rollback()
        site.commit(rows: 1...2)
        var frames: [Int] = []
        site.disk.onCheckpoint { [site] in
            site.commit(rows: 1...4)
            frames.append(site.foreign.walFrames)
        }
        #expect(try long.log.checkpoint().isComplete)
        #expect(frames.count == 1 && site.refusals == 0)
        site.commit(rows: 1...40, by: long)
        #expect(try site.isIntact())
    }

    @Test("G12: so is a log that others have made long, of which no own commit has heard")
    func longByOthers() throws {
        let long = try site.guarded(site.disk.name, nonce: 2)
        site.commit(rows: 1...2, by: long)
        site.commit(rows: 1...40, pages: CheckpointPolicy.shortWAL + 100)
        var count = 0
        site.disk.onCheckpoint { [site] in
            site.commit(rows: 1...4)
            count += 1
        }
        #expect(try long.log.checkpoint(isLong: true).isComplete)
        #expect(count == 1 && site.refusals == 0)
        #expect(try site.isIntact())
    }

    @Test("G12: what was copied without the write lock is synced without it, though others commit meanwhile")
    func syncedAhead() throws {
        let journal = PowerJournal()
        site.disk.observe(journal)
        let long = try site.guarded(site.disk.name, nonce: 2)
        repeat { site.commit(rows: 1...40, by: long) } while long.connection.walFrames <= 1_100
        site.disk.onCheckpoint { [site] in site.commit(rows: 1...4) }
        let earlier = journal.entries.count
        #expect(try long.log.checkpoint().isComplete)
        let syncs = journal.entries.dropFirst(earlier).count { entry in
            if case .synced(let path) = entry { path.hasSuffix(".sqlite") } else { false }
        }
        #expect(syncs == 2)
    }

    @Test("G12: so is a long log that has begun anew and is as long again")
    func longWALAgain() throws {
        let long = try site.guarded(site.disk.name, nonce: 2)
        var frames: [Int] = []
        for round in 1...3 {
            repeat { site.commit(rows: 1...40, by: long) } while long.connection.walFrames <= 1_100
            site.commit(rows: 1...2)
            site.disk.onCheckpoint { [site] in
                site.commit(rows: 1...4)
                frames.append(site.foreign.walFrames)
            }
            #expect(try long.log.checkpoint().isComplete)
            #expect(frames.count == round && site.refusals == 0)
        }
        #expect(try site.isIntact())
    }

    @Test("G1: a long log is not copied ahead under a foreign checkpoint, which would meet a newer pin")
    func aheadUnderCheckpoint() throws {
        let checkpointer = try copyAllByOther()
        var tries: [Checkpoint] = []
        site.disk.onCheckpoint {
            // The foreign checkpoint does not know of these pages.
            site.commit(rows: 1...40, pages: 1_100, by: guarded)
            do { try tries.append(guarded.log.checkpoint()) } catch { Issue.record(error) }
        }
        _ = try checkpointer.checkpoint(.passive)
        #expect(tries.count == 1 && tries[0].wasBlocked)
        for rows in [1...20, 21...40, 1...40] { site.commit(rows: rows, by: guarded) }
        _ = try checkpointer.checkpoint(.passive)
        #expect(try site.isIntact())
    }

    @Test("G12: a checkpoint that another one keeps from beginning does not count as complete")
    func refused() throws {
        let checkpointer = try site.connect(site.disk.name)
        try meetReader()
        reader.rollback()
        var tries: [Checkpoint] = []
        site.disk.onCheckpoint {
            do { try tries.append(guarded.log.checkpoint()) } catch { Issue.record(error) }
        }
        _ = try checkpointer.checkpoint(.passive)
        #expect(tries.count == 1 && tries[0].wasRefused)
        site.commit(rows: 1...4, by: guarded)
        #expect(!guarded.log.isPinned)
        #expect(try guarded.log.checkpoint().isComplete)
        try guarded.log.checkpointed()
        site.commit(rows: 1...4, by: guarded)
        #expect(guarded.log.isPinned)
    }

    @Test("The pin is kept between commits again once a checkpoint is complete")
    func returns() throws {
        try meetReader()
        site.commit(rows: 1...4, by: guarded)
        #expect(!guarded.log.isPinned)
        reader.rollback()
        #expect(try guarded.log.checkpoint().isComplete)
        try guarded.log.checkpointed()
        site.commit(rows: 1...4, by: guarded)
        #expect(guarded.log.isPinned)
    }

    @Test("G1: the pin stays when a commit begins the log anew under a foreign checkpoint, too")
    func restartUnderCheckpoint() throws {
        let checkpointer = try copyAllByOther()
        var answers: [Bool] = []
        site.disk.onCheckpoint {
            for _ in 0..<3 {
                site.commit(rows: 1...4, by: guarded)
                answers.append(guarded.log.isPinned)
            }
        }
        _ = try checkpointer.checkpoint(.passive)
        #expect(answers == [true, true, true])
        for rows in [1...20, 21...40, 1...40] { site.commit(rows: rows, by: guarded) }
        _ = try checkpointer.checkpoint(.passive)
        #expect(try site.isIntact())
    }
}
