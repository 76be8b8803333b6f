internal import CSluiceSQLite

/// One connection to a SQLite database.
///
/// Not thread-safe: its owner makes sure that one caller at a time uses it, on any thread. So it opens
/// without SQLite's own mutex.
package final class Connection {
    /// How a database is opened.
    package enum Mode: Sendable {
        /// Read and write; a missing file is created.
        case create
        /// Read and write; a missing file is an error.
        case write
        /// Read only; a missing file is an error.
        case read
        /// Read only, with an existing WAL and its index: neither is created or changed.
        case readShared
        /// Read only, without locks or side files.
        ///
        /// A WAL beside the file is not read, and a change of the file makes reads invalid.
        case immutable
    }

    let handle: OpaquePointer
    /// The path it was opened with, or `:memory:`.
    package let path: String
    private let vfs: String?
    private let statements = StatementCache()
    private var isOpen = true
    /// The busy handler's settings, which live as long as the connection; `nil` for a borrowed handle.
    private let patience: UnsafeMutablePointer<csqlite_patience>?
    /// Whether it closes its handle; otherwise the handle belongs to other code.
    private var isOwner: Bool { patience != nil }
    /// The process that opened it, as a count of ``ForkCounter``.
    private let forks: Int
    let walFrameCounter = WALFrameCounter()
    /// Whether the open transaction could not be rolled back.
    var hasLeftover = false
    /// Protects the engine's tables from foreign code; `nil` until there is any.
    var statementGuard: StatementGuard?

    /// Opens a database.
    ///
    /// SQLite does not read the file yet: the first statement finds a file that is not a database.
    ///
    /// - Parameter vfs: The SQLite VFS's name (<https://www.sqlite.org/vfs.html>); `nil` is the system's.
    package init(path: String, mode: Mode, vfs: String? = nil) throws(SQLiteError) {
        let (name, access) =
            switch mode {
            case .create: (path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
            case .write: (path, SQLITE_OPEN_READWRITE)
            case .read: (path, SQLITE_OPEN_READONLY)
            case .readShared: (Self.uri(path, "readonly_shm"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            case .immutable: (Self.uri(path, "immutable"), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
            }
        ForkCounter.install()
        forks = ForkCounter.current
        var handle: OpaquePointer?
        let code = sqlite3_open_v2(name, &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError(code, on: handle)
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        (self.path, self.vfs) = (path, vfs)
        let patience = UnsafeMutablePointer<csqlite_patience>.allocate(capacity: 1)
        csqlite_begin_patience(handle, patience)
        self.patience = patience
    }

    /// Borrows a connection of other code, and never closes it.
    ///
    /// ``close()`` finalizes the statements prepared on it. No setting is changed, and one caller at a time
    /// uses it: its owner, or this library.
    package init(borrowing handle: OpaquePointer) {
        ForkCounter.install()
        forks = ForkCounter.current
        self.handle = handle
        path = sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? ""
        (vfs, patience) = (nil, nil)
    }

    /// Opens the database of another connection, by the same VFS.
    package convenience init(beside other: Connection, mode: Mode) throws(SQLiteError) {
        try self.init(path: other.path, mode: mode, vfs: other.vfs)
    }

    deinit {
        close()
        patience?.deallocate()
    }

    /// Closes the connection, whatever still refers to it; it must not be used afterwards.
    ///
    /// The last close of a WAL database makes a checkpoint and removes the WAL. In a child of `fork` nothing
    /// happens, as the connection belongs to the parent.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        guard forks == ForkCounter.current else {
            // Finalizing a statement would use the connection, so the statements are leaked.
            for statement in statements.all { _ = Unmanaged.passRetained(statement) }
            return
        }
        statements.removeAll()
        guard isOwner else { return }
        // A statement that is still in use keeps SQLite's connection alive longer than this object.
        sqlite3_busy_handler(handle, nil, nil)
        sqlite3_close_v2(handle)
    }

    /// Returns a path as a URI with a parameter set (<https://www.sqlite.org/uri.html>).
    private static func uri(_ path: String, _ parameter: String) -> String {
        let digits = Array("0123456789abcdef")
        var name = path.hasPrefix("/") ? "file://" : "file:"
        for byte in path.utf8 {
            switch byte {
            case 0x2D...0x39, 0x41...0x5A, 0x5F, 0x61...0x7A: name.unicodeScalars.append(Unicode.Scalar(byte))
            default: name += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return "\(name)?\(parameter)=1"
    }

    // MARK: - Statements

    /// Returns a prepared statement that is kept for the next call with the same literal.
    package func cached(_ sql: StaticString) throws(SQLiteError) -> Statement {
        if let statement = statements[sql.utf8Start] { return statement }
        let statement = try Statement(connection: handle, sql: sql.description, isCached: isOwner)
        statements.add(statement, at: sql.utf8Start)
        return statement
    }

    /// Returns a statement for one use.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(connection: handle, sql: sql, isCached: false)
    }

    /// The texts of the kept statements, for tests of their query plans.
    package var cachedTexts: [String] { statements.all.map(\.sql) }

    /// Runs every statement of a text that takes no arguments; rows are ignored.
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle, sql: sql) }
    }

    // MARK: - Facts

    /// The version of the library in use, as in `3040001` for 3.40.1.
    package static var libraryVersionNumber: Int { Int(sqlite3_libversion_number()) }
    /// The version of the library in use, as in `3.40.1`.
    package static var libraryVersion: String { String(cString: sqlite3_libversion()) }

    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }
    package var isInMemory: Bool { path == ":memory:" }
    /// Whether the file is read-only, by its permissions or its directory.
    package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }
    /// Rows changed since the connection was opened, including those changed by triggers.
    package var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }
    /// The `sqlite3 *` of C.
    package var rawHandle: OpaquePointer { handle }

    /// The rowid of the last row that was inserted into a rowid table.
    package var lastInsertedRowID: Int64 {
        get { sqlite3_last_insert_rowid(handle) }
        set { sqlite3_set_last_insert_rowid(handle, newValue) }
    }

    /// Whether the open file is not at its path any more; `false` if unknown.
    package var isFileGone: Bool {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return code == SQLITE_OK && hasMoved != 0
    }

    /// The path of the WAL, whether it exists or not; `nil` in memory.
    package var walPath: String? {
        guard let file = sqlite3_db_filename(handle, "main"), file.pointee != 0 else { return nil }
        return sqlite3_filename_wal(file).map { String(cString: $0) }
    }

    /// Whether a writing statement is in progress, such as one with `RETURNING` whose rows were not all read.
    ///
    /// Until it has ended, no savepoint can begin (<https://www.sqlite.org/lang_savepoint.html>).
    package var hasWriteUnderWay: Bool {
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if sqlite3_stmt_busy(current) != 0, sqlite3_stmt_readonly(current) == 0 { return true }
            statement = sqlite3_next_stmt(handle, current)
        }
        return false
    }

    // MARK: - Settings that are no pragmas

    /// Sets how long a statement waits for a lock before it reports BUSY; it blocks its thread.
    ///
    /// It tries the lock about every 50 microseconds at first, every millisecond after a second, and every 10
    /// after ten. SQLite's own handler is slower from the start, and loses to a process that commits often.
    package func setBusyTimeout(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        // A century, before the sum overflows.
        patience?.pointee.limit_ns =
            min(max(seconds, 0), 3_000_000_000) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }

    /// Restores the busy timeout after another busy handler.
    func setPatience() {
        // Fails only for an invalid connection.
        if let patience { _ = csqlite_set_patience(handle, patience) }
    }

    /// Waits a moment, by the clock by which it waits for locks.
    package func pause(_ duration: Duration = .milliseconds(1)) {
        let nanoseconds = Int64(duration / .nanoseconds(1))
        // A borrowed connection has its owner's patience.
        guard let clock = patience?.pointee.clock else { return csqlite_system_sleep(nil, nanoseconds) }
        clock.sleep_ns(clock.context, nanoseconds)
    }

    /// Refuses writes to the schema's own tables and to shadow tables, and double-quoted string literals.
    package func harden() {
        // They fail only for options unknown to the library, which then has nothing to harden.
        _ = csqlite_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nil)
        _ = csqlite_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nil)
        _ = csqlite_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nil)
    }

    /// Whether triggers fire and views can be read, which is SQLite's default.
    package var firesTriggers: Bool {
        [SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW].allSatisfy { option in
            var isOn: Int32 = 1
            // Fails only for options unknown to the library, which then has nothing to switch off.
            _ = csqlite_db_config(handle, option, -1, &isOn)
            return isOn != 0
        }
    }

    /// Sets whether the last close of a WAL database makes a checkpoint; SQLite's default is yes.
    package func setCheckpointOnClose(_ isOn: Bool) {
        _ = csqlite_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isOn ? 0 : 1, nil)
    }
}
