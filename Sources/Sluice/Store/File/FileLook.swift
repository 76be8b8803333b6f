internal import SluiceSQLite

/// Reads a file on a connection that leaves nothing beside it that its owner cannot use.
///
/// SQLite creates a WAL and an index for a reader, as the reader's files: the file's owner could not write
/// any more. So a user who may not write the file uses the index of a writing program. Without one, the file
/// has everything: it is read without locks (`immutable`), and again if it was changed during the read.
struct FileLook {
    let connection: Connection
    private let path: String
    /// The file's state when it was opened without locks; `nil` if locks protect the read.
    private let stamp: Stamp?
    static let attempts = 5
    static let changesTooFast = SluiceError(
        .databaseLocked,
        "the file changes faster than this user can read it: try again"
    )

    init(_ path: String, vfs: String? = nil, lockTimeout: Duration = .zero) throws {
        do {
            try self.init(path, vfs, lockTimeout, isProtected: Self.isProtected(path))
        } catch let error as SQLiteError where [.cannotOpen, .readOnly].contains(error.code.primary) {
            // The system refuses what the rights allow, or the files beside it were deleted.
            try self.init(path, vfs, lockTimeout, isProtected: true)
        }
    }

    private init(_ path: String, _ vfs: String?, _ lockTimeout: Duration, isProtected: Bool) throws {
        let mode = isProtected ? try Self.protectedMode(path) : .write
        self.path = path
        stamp = mode == .immutable ? Stamp(path) : nil
        connection = try Connection(path: path, mode: mode, vfs: vfs)
        connection.setBusyTimeout(lockTimeout)
        do {
            // A file that is no database fails here.
            _ = try connection.pragma("page_count")
        } catch {
            close()
            throw error
        }
    }

    /// Wraps a connection that was opened with locks.
    init(_ connection: Connection) {
        self.connection = connection
        path = connection.path
        stamp = nil
    }

    var isCurrent: Bool { stamp.map { $0 == Stamp(path) } ?? true }

    /// Closes the connection; the last one to a file deletes an empty WAL, and leaves one with contents.
    func close() {
        let log = connection.walPath.flatMap(DatabaseFile.byteCount(of:)) ?? 0
        connection.setCheckpointOnClose(log == 0)
        connection.close()
    }

    /// Returns whether SQLite could not create, change and delete a WAL and an index beside the file.
    private static func isProtected(_ path: String) -> Bool {
        [path, MountFacts.directory(of: path), "\(path)-wal", "\(path)-shm"]
            .contains { DatabaseFile.isProtected($0) }
    }

    private static func protectedMode(_ path: String) throws(SluiceError) -> Connection.Mode {
        let (log, index) = ("\(path)-wal", "\(path)-shm")
        if [index, log].allSatisfy({ DatabaseFile.identity(of: $0) != nil }) { return .readShared }
        guard DatabaseFile.byteCount(of: "\(path)-journal") ?? 0 == 0 else {
            throw SluiceError(
                .readOnly,
                "\(path) has the journal of a transaction that was interrupted, which this user may not "
                    + "undo: have a user who may write the file and its directory open it once"
            )
        }
        if DatabaseFile.byteCount(of: log) ?? 0 == 0 { return .immutable }
        throw SluiceError(
            .readOnly,
            "\(path) has a WAL and no index of it, as after a copy, and this user may not make one: have a "
                + "user who may write the file and its directory open it once, or copy the file and its WAL "
                + "and open the copy"
        )
    }

    /// A file's state, which changes with each write.
    private struct Stamp: Equatable {
        private let fact: FileFact
        private let hasWAL: Bool

        init?(_ path: String) {
            guard let fact = FileFact(path) else { return nil }
            self.fact = fact
            hasWAL = (DatabaseFile.byteCount(of: "\(path)-wal") ?? 0) > 0
        }
    }
}
