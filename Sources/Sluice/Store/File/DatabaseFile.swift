internal import SluiceSQLite

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Opens the writer's connection, with its checks, settings and schema; a refused file remains unchanged.
package struct DatabaseFile {
    package enum Location: Sendable, Hashable {
        case file(String)
        case memory

        /// Returns the same location with a checked and absolute path.
        func absolute() throws(SluiceError) -> Location {
            guard case .file(let path) = self else { return self }
            try DatabaseFile.checkPath(path)
            return .file(try DatabaseFile.absolutePath(path))
        }
    }

    /// SQLite 3.37, for STRICT tables.
    static let oldestLibraryVersion = 3_037_000
    /// The writer's page cache in KiB: measured to double the rate at 10,000 queues, by the order's index.
    static let cacheKibibytes = 64 * 1_024
    /// The size to which the WAL is truncated after a checkpoint has copied all of it.
    static let journalSizeLimit = 64 * 1_024 * 1_024

    package let location: Location
    private let options: FileOptions
    package var lockTimeout: Duration { options.lockTimeout }
    var vfs: String? { options.vfs }

    package init(_ location: Location, _ options: BrokerOptions = BrokerOptions()) {
        self.location = location
        self.options = options.file
    }

    /// What was opened, and whether a WAL was there before.
    typealias Opening = (connection: Connection, origin: Migrator.Origin, hadWAL: Bool)

    func open(now: Timestamp) throws(SluiceError) -> Opening {
        do {
            try checkLibrary()
            switch location {
            case .memory: return (try openInMemory(now: now), .empty, false)
            case .file(let path): return try openFile(path, now: now)
            }
        } catch {
            let place = if case .file(let path) = location { path } else { "a database in memory" }
            throw SluiceError(wrapping: error, doing: "opening \(place)")
        }
    }

    func checkLibrary() throws(SluiceError) {
        if Connection.libraryVersionNumber >= Self.oldestLibraryVersion { return }
        let version = Connection.libraryVersion
        throw SluiceError(.unsupportedSQLite, "SQLite \(version) is too old: use 3.37 or later")
    }

    func openReader(_ path: String) throws -> Connection {
        let connection = try Connection(path: path, mode: .read, vfs: vfs)
        connection.setBusyTimeout(lockTimeout)
        try setReading(connection)
        return connection
    }

    private func openInMemory(now: Timestamp) throws -> Connection {
        let connection = try Connection(path: ":memory:", mode: .create)
        try prepare(connection)
        try set(Self.commonPragmas, connection)
        try Migrator().migrate(connection, now: now)
        return connection
    }

    private func openFile(_ path: String, now: Timestamp) throws -> Opening {
        try StaleSideFiles.remove(besides: path)
        let hasWAL = access("\(path)-wal", F_OK) == 0
        let connection = try Connection(path: path, mode: .write, vfs: vfs)
        // If the file is refused, the close does not copy the WAL of another process.
        if hasWAL { connection.setCheckpointOnClose(false) }
        connection.setBusyTimeout(lockTimeout)
        let isNew = try isEmpty(connection, path)
        guard try connection.pragma("encoding") == "UTF-8" else {
            let fault = "keeps its text in UTF-16, which sorts by other bytes"
            throw SluiceError(.unsupportedDatabase, "\(path) \(fault); use a file of its own")
        }
        try Migrator().check(connection, makesMissing: options.makesMissing)
        connection.harden()
        if isNew { try connection.set(Pragma("auto_vacuum", "INCREMENTAL", answers: "2")) }
        try prepare(connection)
        try setLog(connection)
        try set(Self.filePragmas + Self.commonPragmas, connection)
        connection.countWALFrames()
        let origin = try Migrator().migrate(connection, now: now)
        connection.setCheckpointOnClose(true)
        return (connection, origin, hasWAL)
    }

    private func set(_ pragmas: [Pragma], _ connection: Connection) throws {
        for pragma in pragmas { try connection.set(pragma) }
        try connection.set(Pragma("secure_delete", options.erasesPayloads))
    }

    private func setLog(_ connection: Connection) throws {
        // The switch turns a read into a write, for which SQLite does not wait: each try fails if another
        // connection has the file at that moment, such as one that opens the same new file.
        for _ in 0..<20 {
            do {
                return try connection.set(Pragma("journal_mode", "WAL"))
            } catch let error as SQLiteError where error.code.primary == .busy {
                try connection.beginExclusive()
                connection.rollback()
            }
        }
        try connection.set(Pragma("journal_mode", "WAL"))
    }

    /// Before the settings that the application could change, so that the engine's apply in the end.
    private func prepare(_ connection: Connection) throws(SluiceError) {
        guard let prepare = options.prepareConnection else { return }
        do {
            try prepare(connection.rawHandle)
        } catch {
            throw SluiceError(.connectionNotPrepared, "FileOptions.prepareConnection has thrown: \(error)")
        }
    }

    /// Reads the file for the first time: fails, changing nothing, if it is no database or cannot be written.
    private func isEmpty(_ connection: Connection, _ path: String) throws -> Bool {
        let readOnly = SluiceError(
            .readOnly,
            "\(path) cannot be written; check its permissions and its directory's, "
                + "or only read it, with BrokerRole.readOnly, as `sluice queues` does"
        )
        let pages = Result { () throws(SQLiteError) in try connection.pragma("page_count") }
        if case .failure(let error) = pages {
            // The database itself is open: the WAL or its index cannot be created beside it.
            let cannotMakeWAL = error.code.primary == .cannotOpen && connection.isReadOnly
            if cannotMakeWAL || error.code.primary == .readOnly { throw readOnly }
        }
        let isEmpty = try pages.get() == "0"
        guard !connection.isReadOnly else { throw readOnly }
        return isEmpty
    }

    /// Settings for files only; `wal_autocheckpoint` is set before the WAL hook replaces it.
    private static let filePragmas = [
        Pragma("wal_autocheckpoint", 0), Pragma("synchronous", 2),
        Pragma("fullfsync", true), Pragma("checkpoint_fullfsync", true),
        Pragma("journal_size_limit", journalSizeLimit), Pragma("mmap_size", 0),
    ]

    private static let commonPragmas = [
        Pragma("cache_size", -cacheKibibytes), Pragma("trusted_schema", false),
        Pragma("recursive_triggers", false), Pragma("temp_store", "MEMORY", answers: "2"),
        // For the application's tables, when its code settles an attempt; the engine's have none.
        Pragma("foreign_keys", true),
    ]

    /// Refuses a path that names no file, before anything is created.
    static func checkPath(_ path: String) throws(SluiceError) {
        func refusal(_ message: String) -> SluiceError { SluiceError(.cannotOpen, message) }
        guard !path.isEmpty else { throw refusal("the path of the file is empty; give one") }
        guard path != ":memory:" else {
            let advice = "Broker.inMemory() keeps queues in memory, and ./:memory: is a file of that name"
            throw refusal("':memory:' is no path; \(advice)")
        }
        // There is probably no such folder: a shell would have expanded the ~.
        if path == "~" || path.hasPrefix("~/"), FileFact("~") == nil {
            let advice = "give the whole path, as from FileManager.default.homeDirectoryForCurrentUser"
            throw refusal("\(path) begins with a ~, which only a shell expands: \(advice)")
        }
        if path.hasPrefix("file://"), FileFact("file:") == nil {
            throw refusal("\(path) is a URL; give its path, as by url.path(percentEncoded: false)")
        }
        // C would use the part before it.
        guard !path.hasByte(0) else { throw refusal("the path of the file holds a NUL") }
        var status = stat()
        guard stat(path, &status) == 0 else {
            switch errno {
            case EACCES: throw refusal("\(path) cannot be reached; check the permissions of its directories")
            case ENAMETOOLONG, ELOOP, ENOTDIR:
                throw refusal("\(path) cannot be reached: \(SystemRefusal(number: errno).description)")
            default: return try checkLength(of: path)
            }
        }
        try checkLength(of: path)
        switch status.st_mode & S_IFMT {
        case S_IFREG: return
        case S_IFDIR: throw refusal("\(path) is a directory; give the path of a file in it")
        default: throw refusal("\(path) is no plain file but a pipe, a socket or a device; give another path")
        }
    }

    /// Creates an empty file that only its owner can read, unless it exists.
    ///
    /// SQLite would use the mode that the umask leaves. Closing any descriptor of a database drops SQLite's
    /// locks on it (<https://www.sqlite.org/howtocorrupt.html>, 2.2), so an empty file with another name is
    /// created, closed and then given this name. A file system without hard links, such as exFAT, has no
    /// permissions either: there a connection that opens the file at that instant could lose its locks.
    ///
    /// - Parameter giveName: `link(2)`, or a test's replacement.
    static func createPrivateFile(
        _ path: String,
        giveName: (_ from: String, _ to: String) -> Int32 = { link($0, $1) }
    ) throws(SluiceError) {
        if access(path, F_OK) == 0 { return }
        let temporary = "\(path).new-\(UInt64.random(in: 0...UInt64.max))"
        let descriptor = createExclusively(temporary)
        guard descriptor >= 0 else { throw cannotCreate(path, errno) }
        close(descriptor)
        defer { unlink(temporary) }
        // A process that was faster is no error: its file is as private.
        if giveName(temporary, path) == 0 || errno == EEXIST { return }
        guard [EPERM, ENOSYS, EOPNOTSUPP, ENOTSUP, EMLINK].contains(errno) else {
            throw cannotCreate(path, errno)
        }
        let file = createExclusively(path)
        guard file >= 0 || errno == EEXIST else { throw cannotCreate(path, errno) }
        close(file)
    }

    static func cannotCreate(_ path: String, _ code: Int32) -> SluiceError {
        let refusal = SystemRefusal(number: code)
        let kind: SluiceError.Code = code == EACCES || code == EPERM ? .readOnly : refusal.code
        return SluiceError(kind, "\(path) cannot be created: \(refusal.description)")
    }

    /// Identifies a file whatever its path: by device and inode.
    package struct Identity: Hashable, Sendable {
        let device: UInt64
        package let inode: UInt64

        init(_ status: stat) {
            device = UInt64(truncatingIfNeeded: status.st_dev)
            inode = UInt64(status.st_ino)
        }
    }

    /// Returns a path that names the same file after the process has changed its working directory.
    ///
    /// SQLite may read a relative one as a URI or as a database in memory.
    static func absolutePath(_ path: String) throws(SluiceError) -> String {
        // To Swift, a slash followed by a combining letter is another character.
        if path.utf8.first == UInt8(ascii: "/") { return path }
        func refusal(_ reason: String) -> SluiceError {
            SluiceError(.cannotOpen, "\(path) is relative to the working directory, \(reason)")
        }
        guard let directory = getcwd(nil, 0) else {
            let reason = String(cString: strerror(errno))
            throw refusal("which cannot be read: \(reason); give an absolute path")
        }
        defer { free(directory) }
        guard let directory = String(validatingCString: directory) else {
            throw refusal("whose path is not UTF-8; give an absolute path, or rename the directory")
        }
        return directory + "/" + path
    }

    /// Returns whether something exists that the effective user may not write; `access` asks for the real.
    static func isProtected(_ path: String) -> Bool {
        faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && errno != ENOENT
    }

    package static func byteCount(of path: String) -> Int? { FileFact(path)?.byteCount }
    package static func identity(of path: String) -> Identity? { FileFact(path)?.identity }
}

/// Creates a file that only its owner can read; outside the type, where `open` would be the type's own.
private func createExclusively(_ path: String) -> Int32 {
    open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
}

/// Removes a WAL and an index left by another user, as the `sqlite3` shell does without write access.
private enum StaleSideFiles {
    /// Removes them if they are empty and unused, or reports whose they are; does nothing if this user may
    /// write them, or may not write the file.
    static func remove(besides path: String) throws(SluiceError) {
        guard !blocking(path).isEmpty else { return }
        // With the lock, no process removes a file that another, opening the database too, has just created.
        let directory = open(MountFacts.directory(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return }
        defer { close(directory) }
        while flock(directory, LOCK_EX) != 0, errno == EINTR {}
        let files = blocking(path)
        guard let first = files.first else { return }
        let users = LockTable.users(indexPath: "\(path)-shm")
        guard LockTable.isKnown, users.isEmpty, DatabaseFile.byteCount(of: "\(path)-wal") ?? 0 == 0 else {
            throw refusal(path, first, users)
        }
        for file in files where unlink(file) != 0 && errno != ENOENT { throw refusal(path, file, []) }
    }

    /// Returns the files that this user may not write, if the user may write the database.
    private static func blocking(_ path: String) -> [String] {
        guard !DatabaseFile.isProtected(path) else { return [] }
        return ["\(path)-wal", "\(path)-shm"].filter { DatabaseFile.isProtected($0) }
    }

    private static func refusal(_ path: String, _ file: String, _ users: [Int]) -> SluiceError {
        var status = stat()
        let owner = stat(file, &status) == 0 ? " of user \(name(of: status.st_uid))" : ""
        let programs = users.map { pid in
            LockTable.programName(of: pid).map { "\($0) (process \(pid))" } ?? "process \(pid)"
        }
        let use = programs.isEmpty ? "" : ", which \(programs.joined(separator: " and ")) has open,"
        return SluiceError(
            .readOnly,
            "\(path) cannot be written: \(file)\(owner)\(use) is in the way; end all programs that use the "
                + "database, and have that user or root remove the file"
        )
    }

    private static func name(of user: uid_t) -> String {
        guard let entry = getpwuid(user), let name = entry.pointee.pw_name else { return "\(user)" }
        return "\(String(cString: name)) (\(user))"
    }
}
