import CSluiceSQLite
import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("What the application's connection is asked", .watched)
struct ConnectionFindingTests {
    @Test("Each finding has a code and says what to do, and looking changes nothing")
    func findings() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        func codes() throws -> [ConnectionFinding.Code] {
            try #require(broker.file).diagnose(application.handle).map(\.code)
        }
        let checkpoints: [ConnectionFinding.Code] = FileFacts.hasResetBug ? [.automaticCheckpoints] : []
        #expect(try codes() == checkpoints)
        #expect(try application.row("PRAGMA wal_autocheckpoint") == "1000")
        try application.execute("PRAGMA wal_autocheckpoint = 0")
        #expect(try codes() == [])
        try application.execute("PRAGMA synchronous = NORMAL")
        #expect(try codes() == [.synchronousBelowFull])
        #expect(try #require(broker.file).diagnose(application.handle)[0].message.contains("flush"))
        try application.execute("PRAGMA synchronous = OFF")
        #expect(try codes() == [.synchronousOff])
        try application.execute("PRAGMA synchronous = EXTRA; PRAGMA query_only = ON")
        #expect(try codes() == [.readOnly])
        let version = try application.row("PRAGMA data_version")
        #expect(try codes() == [.readOnly])
        #expect(try application.row("PRAGMA data_version") == version)
        #expect(!application.connection.isInTransaction)
        #expect("\(ConnectionFinding.notWAL("delete"))".contains("'delete'"))
        await broker.close()
    }

    @Test("A connection whose triggers or views are switched off is told")
    func triggers() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let application = try Application(site)
        try application.execute("PRAGMA wal_autocheckpoint = 0")
        for option in [SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW] {
            for isOn in [false, true] {
                _ = csqlite_db_config(application.handle, option, isOn ? 1 : 0, nil)
                let codes = try #require(broker.file).diagnose(application.handle).map(\.code)
                #expect(codes == (isOn ? [] : [.triggersOff]))
            }
        }
        await broker.close()
    }

    @Test("FULL is enough for the disk where the system's syncs reach it, and needs fullfsync elsewhere")
    func fullSyncs() {
        for (synchronous, fullfsync, code) in [
            ("0", "1", .synchronousOff), ("1", "1", .synchronousBelowFull), ("2", "0", .fullSyncOff),
            ("2", "1", nil), ("2", nil, nil), ("3", "0", .fullSyncOff),
        ] as [(String, String?, ConnectionFinding.Code?)] {
            let finding = ConnectionFinding.ofSyncs(synchronous: synchronous, fullfsync: fullfsync)
            #expect(finding?.code == code, "\(synchronous) \(fullfsync ?? "nil")")
        }
    }

    @Test("A connection that is older than the log is not told of the journal that there was before")
    func openedBefore() async throws {
        let site = try Site()
        let application = try Application(site)
        try application.execute("CREATE TABLE rooms (id INTEGER PRIMARY KEY)")
        #expect(try application.row("PRAGMA journal_mode") == "delete")
        let broker = try await site.broker()
        let findings = try #require(broker.file).diagnose(application.handle)
        #expect(!findings.contains { $0.code == .notWAL })
        await broker.close()
    }

    @Test("G1: what a connection enqueues that syncs nothing has reached the disk when a flush returns")
    func flush() async throws {
        let (disk, theirs) = (try FaultyDisk(), try FaultyDisk())
        let site = try Site()
        let broker = try await site.broker { $0.file.vfs = disk.name }
        let application = try Application(#require(site.file).path, vfs: theirs.name)
        try application.execute("PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0")
        let (before, theirsBefore) = (disk.syncs, theirs.syncs)
        for number in 0..<3 {
            _ = try application.transaction { try broker.enqueue(Note("\(number)"), in: $0) }
        }
        #expect(theirs.syncs == theirsBefore)
        #expect(disk.syncs == before)
        try await broker.file?.flush()
        #expect(disk.syncs == before + 1)
        disk.breakDown()
        await #expect(throws: SluiceError.self) { try await broker.file?.flush() }
        disk.mend()
        try await broker.file?.flush()
        try await #expect(broker.actionCount() == 3)
        await broker.close()
    }
}
