internal import CSluiceSQLite

/// One connection to a SQLite database.
///
/// Not thread-safe: whoever owns it sees to it that one caller at a time uses it, on any thread. It opens
/// without SQLite's own mutex for that reason.
package final class Connection {
    /// How a database is opened.
    package enum Mode: Sendable {
        /// Read and write; the file is created when it is missing.
        case create
        /// Read and write; a missing file is an error.
        case write
        /// Read only; a missing file is an error.
        case read
        /// Read only, with the log and its index that others have made: neither is created or changed.
        case readShared
        /// Read only, without locks or side files. A log beside it is not read, and whoever changes the file
        /// spoils what is read.
        case immutable
    }

    let handle: OpaquePointer
    /// Whether it closes its handle; else that is somebody else's.
    let isOwner: Bool
    /// The path it was opened with, or `:memory:`.
    package let path: String
    /// By the address of their text: a literal has one.
    private var statements: [UnsafePointer<UInt8>: Statement] = [:]
    private var isOpen = true
    /// What the busy handler reads, as long-lived as the connection; `nil` where the handler is its owner's.
    private let patience: UnsafeMutablePointer<csqlite_patience>?
    /// The process that opened it, as ``ForkCounter`` tells it from its children.
    private let forks: Int
    let logFrameCounter = LogFrameCounter()
    /// Whether the transaction that is open could not be rolled back.
    var hasLeftover = false
    /// What keeps foreign code from what is ours; `nil` until there is any.
    var statementGuard: StatementGuard?

    /// Opens a database.
    ///
    /// SQLite reads nothing of the file yet: a file that is no database is found by the first statement.
    ///
    /// - Parameter vfs: The name of what stands between SQLite and the files
    ///   (<https://www.sqlite.org/vfs.html>); `nil` is the system's.
    package init(path: String, mode: Mode, vfs: String? = nil) throws(SQLiteError) {
        let access =
            switch mode {
            case .create: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
            case .write: SQLITE_OPEN_READWRITE
            case .read: SQLITE_OPEN_READONLY
            case .immutable, .readShared: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
            }
        ForkCounter.install()
        forks = ForkCounter.current
        var handle: OpaquePointer?
        let name =
            switch mode {
            case .immutable: Self.uri(path, "immutable")
            case .readShared: Self.uri(path, "readonly_shm")
            case .create, .write, .read: path
            }
        let code = sqlite3_open_v2(name, &handle, access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, vfs)
        guard code == SQLITE_OK, let handle else {
            let error = SQLiteError(code, on: handle)
            sqlite3_close_v2(handle)
            throw error
        }
        self.handle = handle
        self.path = path
        isOwner = true
        let patience = UnsafeMutablePointer<csqlite_patience>.allocate(capacity: 1)
        patience.initialize(to: csqlite_patience(limit_ns: 0, start_ns: 0))
        self.patience = patience
        setPatience()
    }

    /// Uses a connection that is somebody else's, and never closes it.
    ///
    /// What is prepared on it is finalized by ``close()``, no setting of it is changed, and one caller at a
    /// time uses it: its owner, or we.
    package init(borrowing handle: OpaquePointer) {
        ForkCounter.install()
        forks = ForkCounter.current
        self.handle = handle
        path = sqlite3_db_filename(handle, "main").map { String(cString: $0) } ?? ""
        isOwner = false
        patience = nil
    }

    deinit {
        close()
        patience?.deallocate()
    }

    /// Closes the connection, whoever still refers to it; it must not be used afterwards.
    ///
    /// The last close of a WAL database checkpoints it and removes its log. In a child of `fork` nothing
    /// happens: the connection is its parent's.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        guard forks == ForkCounter.current else {
            // To finalize a statement is to touch the connection: they are left as they are.
            for statement in statements.values { _ = Unmanaged.passRetained(statement) }
            return
        }
        statements.removeAll()
        guard isOwner else { return }
        // A statement that somebody still has keeps SQLite's part of the connection, and this ends before.
        sqlite3_busy_handler(handle, nil, nil)
        sqlite3_close_v2(handle)
    }

    /// A path as a URI with a parameter that is set (<https://www.sqlite.org/uri.html>).
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
}

// MARK: - Statements

extension Connection {
    /// A prepared statement that is kept for the next call with the same literal.
    ///
    /// The text is known by its address, so that a call costs no comparison of texts.
    package func cached(_ sql: StaticString) throws(SQLiteError) -> Statement {
        if let statement = statements[sql.utf8Start] { return statement }
        let statement = try Statement(connection: handle, sql: sql.description, isCached: isOwner)
        statements[sql.utf8Start] = statement
        return statement
    }

    /// A statement for one use.
    package func prepare(_ sql: String) throws(SQLiteError) -> Statement {
        try Statement(connection: handle, sql: sql, isCached: false)
    }

    /// The texts of the statements that are kept, for tests of their query plans.
    package var cachedTexts: [String] { statements.values.map(\.sql) }

    /// Runs every statement of a text that takes no arguments; rows are passed over.
    package func execute(_ sql: String) throws(SQLiteError) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle, sql: sql) }
    }
}

// MARK: - Facts

extension Connection {
    /// The version of the library in use, as in `3040001` for 3.40.1.
    package static var libraryVersionNumber: Int { Int(sqlite3_libversion_number()) }

    /// The version of the library in use, as in `3.40.1`.
    package static var libraryVersion: String { String(cString: sqlite3_libversion()) }

    /// Whether a transaction is open.
    package var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

    /// Whether the file can only be read, as its permissions or its directory have it.
    package var isReadOnly: Bool { sqlite3_db_readonly(handle, "main") == 1 }

    /// Rows changed since the connection was opened, those of triggers included.
    package var totalChanges: Int { Int(sqlite3_total_changes64(handle)) }

    /// The rowid of the last row that was inserted into a rowid table.
    package var lastInsertedRowID: Int64 {
        get { sqlite3_last_insert_rowid(handle) }
        set { sqlite3_set_last_insert_rowid(handle, newValue) }
    }

    /// The `sqlite3 *` of C.
    package var rawHandle: OpaquePointer { handle }

    /// Whether the file that is open no longer stands at its path; `false` where that is not known.
    package var isFileGone: Bool {
        var hasMoved: Int32 = 0
        let code = sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
        return code == SQLITE_OK && hasMoved != 0
    }

    /// The write-ahead log's path as SQLite has it, whether there is one or not; `nil` in memory.
    package var logPath: String? {
        guard let file = sqlite3_db_filename(handle, "main"), file.pointee != 0,
            let log = sqlite3_filename_wal(file)
        else { return nil }
        return String(cString: log)
    }

    /// Whether a statement that writes is under way, as one with `RETURNING` whose rows were not all read.
    ///
    /// No savepoint can begin before it has ended (<https://www.sqlite.org/lang_savepoint.html>).
    package var hasWriteUnderWay: Bool {
        var statement = sqlite3_next_stmt(handle, nil)
        while let current = statement {
            if sqlite3_stmt_busy(current) != 0, sqlite3_stmt_readonly(current) == 0 { return true }
            statement = sqlite3_next_stmt(handle, current)
        }
        return false
    }

    /// The name of the collation that a column's values are compared by.
    package func collation(of column: String, in table: String) throws(SQLiteError) -> String {
        var name: UnsafePointer<CChar>?
        let code = sqlite3_table_column_metadata(handle, "main", table, column, nil, &name, nil, nil, nil)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
        return name.map { String(cString: $0) } ?? "BINARY"
    }

    /// Whether the database lives in memory.
    package var isInMemory: Bool { path == ":memory:" }
}

// MARK: - Settings that are no pragmas

extension Connection {
    /// How long a statement waits for a lock before it reports BUSY; it blocks its thread meanwhile.
    ///
    /// It looks whether the lock is free every 50 microseconds or so at first, every millisecond after a
    /// second, and every 10 after ten: SQLite's own handler is slower from the start, and loses to a process
    /// that commits often.
    package func setBusyTimeout(_ timeout: Duration) {
        let (seconds, attoseconds) = timeout.components
        // A century, before the sum overflows.
        patience?.pointee.limit_ns =
            min(max(seconds, 0), 3_000_000_000) * 1_000_000_000 + max(attoseconds, 0) / 1_000_000_000
    }

    /// Has the busy timeout hold, in place of what else is asked when a lock is in the way.
    func setPatience() {
        // Fails only for a connection that is none.
        if let patience { _ = csqlite_set_patience(handle, patience) }
    }

    /// Refuses writes to the schema's own tables and to shadow tables, and double-quoted string literals.
    package func harden() {
        for (option, value) in [
            (SQLITE_DBCONFIG_DEFENSIVE, Int32(1)), (SQLITE_DBCONFIG_DQS_DML, 0), (SQLITE_DBCONFIG_DQS_DDL, 0),
        ] {
            // Fails only for options unknown to the library, which then has nothing to harden.
            _ = csqlite_db_config(handle, option, value, nil)
        }
    }

    /// Whether triggers fire and views are read, as they do unless somebody has switched them off.
    package var firesTriggers: Bool {
        [SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW].allSatisfy { option in
            var isOn: Int32 = 1
            // Fails only for options unknown to the library, which then has nothing to switch off.
            _ = csqlite_db_config(handle, option, -1, &isOn)
            return isOn != 0
        }
    }

    /// Whether the last close of a WAL database checkpoints it; SQLite does unless told otherwise.
    package func setCheckpointOnClose(_ isOn: Bool) {
        _ = csqlite_db_config(handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, isOn ? 0 : 1, nil)
    }
}
