import SluiceSQLite
import SluiceTestKit
import Testing

@testable import Sluice

/// A file of 40 rows, one to a page, that foreign connections and guarded ones write to, and what must be
/// in it.
///
/// Confined to its test.
final class WALSite {
    let file: TemporaryFile
    /// The disk under connections whose checkpoints the test steps into.
    let disk: FaultyDisk
    /// A connection that knows nothing of guards.
    let foreign: Connection
    private(set) var commits = 0
    /// Commits that found the write lock taken.
    private(set) var refusals = 0
    /// How often the other processes were to be told.
    private(set) var tells = 0
    private var open: [Int: Int] = [:]
    private var expected: [Int: Int] = [:]
    private var last = 0

    init() throws {
        file = try TemporaryFile()
        disk = try FaultyDisk()
        foreign = try Connection(path: file.path, mode: .create)
        try foreign.set(Pragma("journal_mode", "WAL"))
        try foreign.set(Pragma("wal_autocheckpoint", 0))
        try foreign.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, number INTEGER, filler BLOB) STRICT")
        for row in 1...40 {
            try foreign.execute("INSERT INTO t VALUES (\(row), 0, zeroblob(3000))")
            expected[row] = 0
        }
        try Migrator().migrate(foreign, now: Timestamp(microseconds: 0))
        _ = try foreign.checkpoint(.truncate)
    }

    func connect(_ vfs: String? = nil) throws -> Connection {
        let connection = try Connection(path: file.path, mode: .write, vfs: vfs)
        try connection.set(Pragma("wal_autocheckpoint", 0))
        // One that has read nothing yet knows of no log to be copied.
        _ = try connection.pragma("user_version")
        return connection
    }

    /// A connection with a guard, as a store has one.
    final class Guarded {
        let connection: Connection
        let log: WALGuard
        let calls = EventLog<Void>()

        init(_ connection: Connection, _ log: WALGuard) {
            self.connection = connection
            self.log = log
            log.onHold = { [calls] in calls.append(()) }
        }

        func letGo() throws {
            while try log.rest() {}
        }
    }

    func guarded(
        _ vfs: String? = nil,
        nonce: Int64 = 1,
        clock: any BrokerClock = ManualClock()
    ) throws -> Guarded {
        let connection = try connect(vfs)
        connection.countWALFrames()
        let path = file.path
        let pin = WALPin { try Connection(path: path, mode: .read) }
        let lease = CheckpointLease(nonce: nonce, process: .current, clock: clock)
        return Guarded(connection, WALGuard(connection, SystemPlace(), pin: pin, lease: lease))
    }

    /// Writes every row, by the foreign connection.
    func fill() throws {
        commit(rows: 1...40)
    }

    /// Writes some rows in a transaction, and as many pages more; one that finds the write lock taken is
    /// counted.
    func commit(
        rows: ClosedRange<Int>,
        pages: Int = 0,
        by guarded: Guarded? = nil,
        othersCommitted: Bool = false,
        besideOthers: Bool = false
    ) {
        let connection = guarded?.connection ?? foreign
        do {
            try connection.beginImmediate()
        } catch {
            refusals += 1
            return
        }
        do {
            try guarded?.log.begun(othersCommitted: othersCommitted)
            write(rows: rows, connection)
            if pages > 0 {
                let values = "INSERT INTO filler VALUES (zeroblob(\(4_096 * pages)))"
                try connection.execute("CREATE TABLE IF NOT EXISTS filler (x); \(values)")
            }
            let log = guarded?.log
            if try log?.willCommit(besideOthers: besideOthers) == true { tells += 1 }
            try connection.commit()
            try guarded?.log.committed()
            committed()
        } catch {
            Issue.record(error)
        }
    }

    func commitForeign() {
        do {
            try foreign.commit()
            committed()
        } catch {
            Issue.record(error)
        }
    }

    func write(rows: ClosedRange<Int>, _ connection: Connection) {
        last += 1
        do {
            let bounds = "\(rows.lowerBound) AND \(rows.upperBound)"
            try connection.execute("UPDATE t SET number = \(last) WHERE id BETWEEN \(bounds)")
            for row in rows { open[row] = last }
        } catch {
            Issue.record(error)
        }
    }

    private func committed() {
        commits += 1
        expected.merge(open) { $1 }
        open = [:]
    }

    /// Whether a connection that knows nothing of the file finds in it what was committed.
    func isIntact() throws -> Bool {
        do {
            let connection = try connect()
            defer { connection.close() }
            let rows = try connection.prepare("SELECT id, number FROM t").all { ($0.int(0), $0.int(1)) }
            let check = try connection.prepare("PRAGMA integrity_check").all { $0.text(0) }
            return check == ["ok"] && Dictionary(uniqueKeysWithValues: rows) == expected
        } catch let error as SQLiteError where error.code.primary == .corrupt {
            return false
        }
    }
}
