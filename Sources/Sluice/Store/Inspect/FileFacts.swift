internal import SluiceSQLite

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Describes a file of queues, without creating or migrating anything or changing its WAL.
package struct FileFacts: Sendable {
    /// The settings that are kept in the file, and its sizes, by the names of their pragmas.
    package var pragmas: [(name: String, value: String)] = []
    package var byteCount: Int64 = 0
    package var walByteCount: Int64 = 0
    /// The path of the file that has SQLite's locks of WAL mode.
    package var indexPath = ""
    /// The steps of the schema that were applied; none if the file has no queues.
    package var steps: [String] = []
    package var isMountPoint = false
    package var linkCount = 1
    /// Whether a newer version of the library has written it.
    package var isNewer = false
    /// The number of steps that this version would add when it opens the file for work.
    package var missingStepCount = 0
    /// As found by SQLite.
    package var damages: [String] = []
    /// Actions that are missing in the order, so that they do not start; no check of SQLite's finds them.
    package var missingPlaceCount = 0
    /// Parts of the schema that differ from the library's, named `trigger x` and so on.
    package var strangers: [String] = []
    /// Whether a connection has held the write lock for a quarter of a second without committing.
    package var isWriteLockHeld = false
    /// Of the file or its directory.
    package var isReadOnly = false
    package var isOnReadOnlyMount = false
    /// The name of the file's network file system; `nil` on a disk of this machine.
    package var network: String?
    package var runners: [RunningProcess] = []
    package var actionCount = 0
    package var deadLetterCount = 0
    package var holdCount = 0
    package var states: [(state: String, count: Int)] = []
    package static var libraryVersion: String { Connection.libraryVersion }

    /// Whether SQLite in use can lose commits of others in a checkpoint, by the "WAL-reset bug".
    ///
    /// It is fixed in 3.51.3, and in 3.50.7 and 3.44.6 (<https://www.sqlite.org/wal.html>).
    package static var hasResetBug: Bool {
        switch Connection.libraryVersionNumber {
        case 3_044_006..<3_045_000, 3_050_007..<3_051_000, 3_051_003...: false
        default: true
        }
    }

    /// Reads a file; throws if there is no such file, or no database in it.
    ///
    /// If `isFull`, indexes are also compared with their tables, and the order with the actions. That reads
    /// all of the file several times.
    package init(of path: String, isFull: Bool) throws(SluiceError) {
        try DatabaseFile.checkPath(path)
        self = try Self.read(try DatabaseFile.absolutePath(path), isFull)
    }

    private init() {}

    private static func read(_ path: String, _ isFull: Bool) throws(SluiceError) -> FileFacts {
        var facts = FileFacts()
        do {
            for _ in 0..<FileLook.attempts {
                facts = FileFacts()
                let file = try FileLook(path)
                defer { file.close() }
                do {
                    try facts.look(file.connection, path, isFull)
                } catch let error as SQLiteError where error.code == .corrupt {
                    // Some damage is not found by the check, but ends it early.
                    facts.damages.append(error.message)
                }
                if file.isCurrent { return facts }
            }
            throw FileLook.changesTooFast
        } catch let error as SQLiteError where error.code == .corrupt {
            facts.damages.append(error.message)
            return facts
        } catch {
            throw SluiceError(wrapping: error, doing: "reading \(path)")
        }
    }

    private mutating func look(_ connection: Connection, _ path: String, _ isFull: Bool) throws {
        let mount = MountFacts.read(path)
        connection.harden()
        isReadOnly = connection.isReadOnly
        isOnReadOnlyMount = mount?.isReadOnly == true
        (network, isMountPoint) = (mount?.network, mount?.isMountPoint ?? false)
        if !isReadOnly { isWriteLockHeld = try Self.isLockHeld(connection) }
        try connection.set(Pragma("query_only", true))
        connection.setBusyTimeout(.seconds(10))
        for name in ["journal_mode", "page_size", "page_count", "freelist_count", "auto_vacuum", "encoding"] {
            pragmas.append((name, try connection.pragma(name)))
        }
        var status = stat()
        if stat(path, &status) == 0 { (byteCount, linkCount) = (Int64(status.st_size), Int(status.st_nlink)) }
        if let log = connection.walPath {
            walByteCount = Int64(FileFact(log)?.byteCount ?? 0)
            indexPath = String(log.dropLast(3)) + "shm"
        }
        damages = try connection.prepare(isFull ? "PRAGMA integrity_check(20)" : "PRAGMA quick_check(20)")
            .all { $0.text(0) }.filter { $0 != "ok" }
        if try connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sluice_migrations'").hasRow() {
            let names = try connection.prepare("SELECT name FROM sluice_migrations ORDER BY number")
            steps = try names.all { $0.text(0) }
            isNewer = steps.count > Migration.all.count
            missingStepCount = max(Migration.all.count - steps.count, 0)
        }
        guard damages.isEmpty, !steps.isEmpty, !isNewer, missingStepCount == 0 else { return }
        strangers = try SchemaPart.strangers(in: connection)
        // A different schema may keep the rest from being read.
        guard strangers.isEmpty else { return (try? readQueues(connection)) ?? () }
        if isFull { missingPlaceCount = try Self.missingPlaceCount(connection) }
        try readQueues(connection)
    }

    /// Has the order of all actions read from their rows, and written anew.
    package static let missingPlacesRemedy = "UPDATE sluice_counters SET value = 0 WHERE name = 'ordered'"

    private static func missingPlaceCount(_ connection: Connection) throws(SQLiteError) -> Int {
        let statement = try connection.prepare(
            """
            SELECT count(*) FROM sluice_action_rows AS a JOIN sluice_counters AS c ON c.name = 'ordered'
            WHERE a.id <= c.value AND a.not_before_us IS NULL
              AND NOT EXISTS (SELECT 1 FROM sluice_order_rows AS o WHERE o.queue_id = a.queue_id
                                AND o.sort_key = a.sort_key AND o.action_id = a.id)
            """
        )
        return try statement.first { $0.int(0) } ?? 0
    }

    private mutating func readQueues(_ connection: Connection) throws {
        let now = Timestamp(microseconds: SystemClock().wallMicroseconds)
        runners = try RunningProcess.all(connection, at: now)
        func count(_ table: String) throws -> Int {
            try connection.prepare("SELECT count(*) FROM \(table)").first { $0.int(0) } ?? 0
        }
        actionCount = try count("sluice_action_rows")
        deadLetterCount = try count("sluice_dead_rows")
        holdCount = try count("sluice_holds")
        states = try connection.prepare(
            "SELECT state, count(*) FROM sluice_queues GROUP BY state ORDER BY state"
        ).all { ($0.text(0), $0.int(1)) }
    }

    /// Whether the write lock is held at every check, without a commit in between.
    ///
    /// A busy broker has the lock most of the time, but releases it with each commit, and blocks no one.
    private static func isLockHeld(_ connection: Connection) throws -> Bool {
        let first = try connection.pragma("data_version")
        connection.setBusyTimeout(.milliseconds(10))
        defer { connection.setBusyTimeout(.zero) }
        for _ in 0..<25 {
            guard try isLocked(connection), try connection.pragma("data_version") == first else {
                return false
            }
        }
        return true
    }

    private static func isLocked(_ connection: Connection) throws -> Bool {
        do {
            try connection.beginImmediate()
            connection.rollback()
            return false
        } catch let error where error.code == .busy {
            return true
        }
    }
}
