import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Which of several processes keeps its pin and copies the log.
@Suite("The checkpoint lease", .watched)
struct CheckpointLeaseTests {
    @Test("G12: of several processes that commit one keeps its pin, and its checkpoints copy all")
    func lease() throws {
        let site = try WALSite()
        let clock = ManualClock()
        let first = try site.guarded(nonce: 1, clock: clock)
        let second = try site.guarded(nonce: 2, clock: clock)
        site.commit(rows: 1...40, by: first)
        site.commit(rows: 1...4, by: second, othersCommitted: true)
        // Each has its pin, and that of the second is in the way.
        #expect(try !first.log.checkpoint().isComplete)
        #expect(try site.checkpointer() == [])
        site.commit(rows: 5...8, by: first, othersCommitted: true)
        #expect(try site.checkpointer() == ["1"])
        try site.foreign.execute("UPDATE sluice_checkpointer SET pid = 1, process = 'elsewhere'")
        #expect(!second.log.leavesCheckpoint(of: 1_000))
        site.commit(rows: 1...4, by: second, othersCommitted: true)
        #expect(!second.log.isPinned && second.log.leavesCheckpoint(of: 1_000))
        #expect(!second.log.leavesCheckpoint(of: WALGuard.neglected))
        #expect(try first.log.checkpoint().isComplete)
        site.commit(rows: 1...4, by: second)
        #expect(!second.log.isPinned)
        // Nobody has renewed it: the second keeps its pin again.
        clock.advance(by: CheckpointLease.length)
        site.commit(rows: 1...4, by: second)
        #expect(second.log.isPinned && !second.log.leavesCheckpoint(of: 1_000))
        #expect(try site.isIntact())
    }

    @Test("G12: who commits much beside others takes it before its first checkpoint, and the others are told")
    func busy() throws {
        let site = try WALSite()
        let clock = ManualClock()
        let guarded = try site.guarded(clock: clock)
        func commit(_ count: Int, besideOthers: Bool = true) {
            for _ in 0..<count { site.commit(rows: 1...1, by: guarded, besideOthers: besideOthers) }
        }
        commit(CheckpointLease.busy, besideOthers: false)
        commit(CheckpointLease.busy - 1)
        // What is alone begins anew, and so does what rests.
        commit(1, besideOthers: false)
        commit(CheckpointLease.busy - 1)
        try guarded.letGo()
        commit(CheckpointLease.busy - 1)
        #expect(try site.checkpointer() == [] && site.tells == 0)
        commit(1)
        #expect(try site.checkpointer() == ["1"] && site.tells == 1)
        // They know, also where it is renewed, until it is over.
        clock.advance(by: CheckpointLease.length - CheckpointLease.renewal)
        commit(1)
        clock.advance(by: CheckpointLease.renewal)
        commit(1)
        #expect(site.tells == 1)
        clock.advance(by: CheckpointLease.length)
        commit(1)
        #expect(site.tells == 2)
        #expect(try site.isIntact())
    }

    @Test("G12: who commits much leaves it to one that commits too, and takes it over from one that is idle")
    func busyBesideHolder() throws {
        let site = try WALSite()
        let clock = ManualClock()
        let (first, second) = (
            try site.guarded(nonce: 1, clock: clock), try site.guarded(nonce: 2, clock: clock)
        )
        func commit(_ count: Int, by guarded: WALSite.Guarded, othersCommitted: Bool = false) {
            for _ in 0..<count {
                site.commit(rows: 1...1, by: guarded, othersCommitted: othersCommitted, besideOthers: true)
            }
        }
        commit(CheckpointLease.busy - 1, by: second)
        commit(CheckpointLease.busy, by: first)
        try site.foreign.execute("UPDATE sluice_checkpointer SET pid = 1, process = 'elsewhere'")
        commit(1, by: second, othersCommitted: true)
        commit(CheckpointLease.busy - 2, by: second)
        commit(1, by: second, othersCommitted: true)
        commit(CheckpointLease.busy - 2, by: second)
        #expect(try site.checkpointer() == ["1"] && !second.log.isPinned)
        commit(1, by: second)
        #expect(try site.checkpointer() == ["2"] && second.log.isPinned)
        #expect(site.tells == 2)
        // The other one is told, and lets its own go.
        try site.foreign.execute("UPDATE sluice_checkpointer SET pid = 2, process = 'elsewhere'")
        commit(1, by: first, othersCommitted: true)
        #expect(try !first.log.isPinned && second.log.checkpoint().isComplete)
        // Behind its end it is free also where all commit in turns.
        clock.advance(by: CheckpointLease.length)
        commit(CheckpointLease.busy, by: first, othersCommitted: true)
        #expect(try site.checkpointer() == ["1"])
        #expect(try site.isIntact())
    }

    @Test(
        "G1: the one that has the lease keeps its pin while it is idle, and gives the lease up at its close"
    )
    func idleHolder() throws {
        let site = try WALSite()
        let clock = ManualClock()
        let (first, second) = (
            try site.guarded(nonce: 1, clock: clock), try site.guarded(nonce: 2, clock: clock)
        )
        site.commit(rows: 1...40, by: first)
        site.commit(rows: 1...4, by: second, othersCommitted: true)
        #expect(try !first.log.checkpoint().isComplete)
        site.commit(rows: 5...8, by: first, othersCommitted: true)
        try second.letGo()
        // What kept it from copying has gone: from its next complete checkpoint on it keeps its pin.
        #expect(try first.log.checkpoint().isComplete)
        #expect(!first.log.isPinned)
        try first.log.checkpointed()
        #expect(first.log.isPinned)
        for _ in 0..<5 { #expect(try first.log.rest()) }
        #expect(first.log.isPinned)
        #expect(try site.checkpointer() == ["1"])
        first.log.close(isWritable: true)
        #expect(try !first.log.isPinned && site.checkpointer() == [])
        clock.advance(by: CheckpointLease.length)
    }

    @Test("The lease is renewed while others commit, at half of its time, and not without them")
    func renewal() throws {
        let site = try WALSite()
        let clock = ManualClock()
        let guarded = try site.guarded(clock: clock)
        let reader = try site.connect()
        func commit(besideOthers: Bool) throws -> String {
            site.commit(rows: 1...4, by: guarded, othersCommitted: besideOthers)
            return try reader.prepare("SELECT lease_until_us FROM sluice_checkpointer").first { $0.text(0) }
                ?? ""
        }
        try reader.snapshot {
            _ = try reader.prepare("SELECT count(*) FROM t").first { $0.int(0) }
            site.commit(rows: 1...4, by: guarded)
            #expect(try !guarded.log.checkpoint().isComplete)
        }
        let first = try commit(besideOthers: false)
        #expect(first != "")
        clock.advance(by: .seconds(14))
        try #expect(commit(besideOthers: true) == first)
        clock.advance(by: .seconds(2))
        let second = try commit(besideOthers: false)
        #expect(second != first)
        clock.advance(by: .seconds(16))
        try #expect(commit(besideOthers: false) == second)
    }

    @Test(
        "The lease of a dead process, of an earlier store of this one, or one that is over, binds nobody",
        arguments: [
            "process = 'another start-of-the ' || 'machine'", "lease_until_us = 0, process = 'elsewhere'",
            "nonce = 3",
        ]
    )
    func freeLease(_ change: String) throws {
        let site = try WALSite()
        let me = ProcessIdentity.current
        try site.foreign.execute(
            """
            INSERT INTO sluice_checkpointer VALUES (1, 9, \(me.pid), '\(me.mark)', 9e18, 9e18);
            UPDATE sluice_checkpointer SET \(change);
            """
        )
        let guarded = try site.guarded()
        site.commit(rows: 1...4, by: guarded, othersCommitted: true)
        #expect(guarded.log.isPinned && !guarded.log.leavesCheckpoint(of: 1_000))
    }
}

extension WALSite {
    /// The nonce of the one that checkpoints.
    fileprivate func checkpointer() throws -> [String] {
        try connect().prepare("SELECT nonce FROM sluice_checkpointer").all { $0.text(0) }
    }
}
