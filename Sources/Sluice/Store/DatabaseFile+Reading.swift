internal import SluiceSQLite

/// Opening the file to look at it: nothing in it is created, set, migrated or copied from its log.
extension DatabaseFile {
    /// Refuses a file that other machines may have open.
    ///
    /// Processes that use a write-ahead log share memory, and so must be on one machine
    /// (<https://www.sqlite.org/wal.html>); and locks of network file systems are not to be trusted
    /// (<https://www.sqlite.org/howtocorrupt.html>, 2.1).
    static func checkMount(_ path: String, _ mount: MountFacts?) throws(SluiceError) {
        if mount?.isMountPoint == true {
            throw SluiceError(
                .cannotOpen,
                "\(path) is mounted as a file, without its log, which would lie elsewhere and be lost or "
                    + "missed by others: mount the directory that it lies in"
            )
        }
        guard let name = mount?.network, !mutant("network file") else { return }
        throw SluiceError(
            .networkFileSystem,
            "\(path) lies on a network file system (\(name)), where SQLite's log cannot be shared safely; "
                + "keep it on a disk of this machine"
        )
    }

    /// Opens the file without the writer's help, and checks what the writer would have checked.
    ///
    /// The connection could write, and is told not to: so it can take its log and the log's index away again
    /// if it made them. See ``closeReading(_:)``.
    func openToRead(_ path: String, _ mount: MountFacts?) throws(SluiceError) -> Connection {
        do {
            return try openForReading(path, mount)
        } catch {
            throw SluiceError(wrapping: error, doing: "opening \(path)")
        }
    }

    private func openForReading(_ path: String, _ mount: MountFacts?) throws -> Connection {
        try checkLibrary()
        guard Self.byteCount(of: path) != nil else {
            throw SluiceError(.cannotOpen, "there is no file \(path): check the path")
        }
        // Nobody writes to such a file, and SQLite could not make an index of its log.
        let isImmutable = mount?.isReadOnly == true && (Self.byteCount(of: "\(path)-wal") ?? 0) == 0
        let mode = isImmutable ? Connection.Mode.immutable : .write
        let connection = try Connection(path: path, mode: mode, vfs: vfs)
        do {
            try prepareToRead(connection, path)
        } catch {
            Self.closeReading(connection)
            throw error
        }
        return connection
    }

    /// Closes what ``openToRead(_:_:)`` has opened.
    ///
    /// The last one to close a file removes an empty log, and leaves one alone that others have left.
    static func closeReading(_ connection: Connection) {
        let log = connection.logPath.flatMap(byteCount(of:)) ?? 0
        connection.setCheckpointOnClose(log == 0)
        connection.close()
    }

    /// Settings of a connection that only reads.
    func setReading(_ connection: Connection) throws {
        connection.harden()
        for pragma in [Pragma("query_only", true), Pragma("mmap_size", 0), Pragma("trusted_schema", false)] {
            try connection.set(pragma)
        }
    }

    private func prepareToRead(_ connection: Connection, _ path: String) throws {
        connection.setBusyTimeout(lockTimeout)
        try firstRead(connection, path)
        try setReading(connection)
        guard try connection.pragma("encoding") == "UTF-8" else {
            throw SluiceError(.unsupportedDatabase, "\(path) keeps its text in UTF-16: it has no queues")
        }
        try Migrator().check(connection, makesMissing: false)
    }

    private func firstRead(_ connection: Connection, _ path: String) throws {
        let pages = Result { () throws(SQLiteError) in try connection.pragma("page_count") }
        guard case .failure(let error) = pages else { return }
        let isReadOnly = connection.isReadOnly && [.cannotOpen, .readOnly].contains(error.code.primary)
        guard isReadOnly else { throw error }
        throw SluiceError(
            .readOnly,
            "\(path) cannot be read where its directory cannot be written, unless a process that writes "
                + "it has it open: SQLite keeps the log's index there; copy both, and open the copy",
            sqliteCode: error.code.rawValue
        )
    }
}
