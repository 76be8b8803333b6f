internal import CSluiceSQLite

/// The result of a checkpoint of the WAL.
///
/// Source: <https://www.sqlite.org/c3ref/wal_checkpoint_v2.html>
package struct Checkpoint: Hashable, Sendable {
    package enum Mode: Sendable {
        /// Copies the frames that no reader prevents from being copied, without waiting.
        case passive
        /// Holds the write lock, waits for readers within the busy timeout, and copies all.
        ///
        /// Without the write lock, it continues as a passive one.
        case full
        /// As full, and waits for readers of the WAL, so that the next commit restarts it.
        case restart
        /// Waits for readers and writers within the busy timeout, copies all, and truncates the WAL.
        case truncate
    }

    /// Frames in the WAL afterwards.
    package let frames: Int
    /// Frames of the WAL that are copied to the database file.
    package let copied: Int
    /// Whether a reader or writer prevented a complete copy.
    package let wasBlocked: Bool
    /// Whether another checkpoint was under way, so that SQLite counts no frames and answers −1 for both.
    package var wasRefused: Bool { frames < 0 }
}

extension Connection {
    /// Copies the WAL into the database file; being blocked is a normal result: see `wasBlocked`.
    package func checkpoint(_ mode: Checkpoint.Mode) throws(SQLiteError) -> Checkpoint {
        var frames: Int32 = 0
        var copied: Int32 = 0
        let rawMode =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .restart: SQLITE_CHECKPOINT_RESTART
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        // A checkpoint cannot run within a transaction.
        try endLeftover()
        let code = sqlite3_wal_checkpoint_v2(handle, "main", rawMode, &frames, &copied)
        guard code & 0xFF == SQLITE_BUSY || code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
        return Checkpoint(frames: Int(frames), copied: Int(copied), wasBlocked: code != SQLITE_OK)
    }

    /// Copies the WAL into the database file, and calls a closure each time a lock is in the way.
    ///
    /// No other checkpoint can run from before the first call on. The busy timeout applies again afterwards.
    ///
    /// - Parameter waits: Returns whether to try again. It is called on this thread, and may wait a moment
    ///   and use other connections.
    package func checkpoint(
        _ mode: Checkpoint.Mode,
        whileBlocked waits: @escaping () -> Bool
    ) throws(SQLiteError) -> Checkpoint {
        let question = BusyQuestion(waits)
        sqlite3_busy_handler(
            handle,
            { context, _ in
                guard let context else { return 0 }
                // The question lives until the handler is removed below.
                return Unmanaged<BusyQuestion>.fromOpaque(context).takeUnretainedValue().waits() ? 1 : 0
            },
            Unmanaged.passUnretained(question).toOpaque()
        )
        defer {
            setPatience()
            withExtendedLifetime(question) {}
        }
        return try checkpoint(mode)
    }

    /// Syncs the WAL to the disk, including its truncation, which SQLite does not sync.
    ///
    /// It uses SQLite's own file (`SQLITE_FCNTL_JOURNAL_POINTER`); in memory, without one, it does nothing.
    package func syncWAL() throws(SQLiteError) { try sync(SQLITE_FCNTL_JOURNAL_POINTER) }

    /// Syncs the database file to the disk, which a checkpoint does only if it has copied the whole WAL.
    package func syncDatabase() throws(SQLiteError) { try sync(SQLITE_FCNTL_FILE_POINTER) }

    private func sync(_ pointer: Int32) throws(SQLiteError) {
        var file: UnsafeMutablePointer<sqlite3_file>?
        let found = sqlite3_file_control(handle, "main", pointer, &file)
        guard found == SQLITE_OK, let file, let sync = file.pointee.pMethods?.pointee.xSync else { return }
        let code = sync(file, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
    }

    /// Makes the running checkpoint or statement of this connection end with an error, as soon as possible.
    package func interrupt() { sqlite3_interrupt(handle) }

    /// Returns whether another connection is making a checkpoint.
    ///
    /// It begins a checkpoint with syncs off, and interrupts it before it copies a page. This tests the lock
    /// that a checkpoint holds from its first step to its last.
    package func isOtherCheckpointing() throws -> Bool {
        let level = try pragma("synchronous")
        try execute("PRAGMA synchronous = 0")
        sqlite3_interrupt(handle)
        let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        let error = code & 0xFF == SQLITE_OK ? nil : SQLiteError(code, on: handle)
        try set(Pragma("synchronous", level))
        guard let error, error.code.primary != .interrupted else { return false }
        guard error.code.primary == .busy else { throw error }
        return true
    }

    /// The target of the WAL hook, a C function without context of its own.
    final class WALFrameCounter {
        var frames = 0
    }

    /// Counts the frames of the WAL for ``walFrames`` after each commit of this connection.
    ///
    /// SQLite has one WAL hook, which `wal_autocheckpoint` uses too. So this turns automatic checkpoints off,
    /// and is only for connections of our own.
    package func countWALFrames() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                // The counter lives as long as its connection, and so as long as the hook.
                if let context {
                    Unmanaged<WALFrameCounter>.fromOpaque(context).takeUnretainedValue().frames = Int(frames)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(walFrameCounter).toOpaque()
        )
    }

    /// Frames in the WAL after the last commit of this connection; 0 before the first.
    package var walFrames: Int { walFrameCounter.frames }

    /// Begins to count for ``writtenPages``.
    package func countWrittenPages() { _ = cacheWrites(resetting: true) }
    /// Pages that this connection has written since ``countWrittenPages()``; some may count twice.
    package var writtenPages: Int { cacheWrites(resetting: false) }

    private func cacheWrites(resetting: Bool) -> Int {
        var count: Int32 = 0
        var highest: Int32 = 0
        // Fails only if the library does not know the counter.
        _ = sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &count, &highest, resetting ? 1 : 0)
        return Int(count)
    }
}

/// The closure of the busy handler, a C function without context of its own.
private final class BusyQuestion {
    let waits: () -> Bool
    init(_ waits: @escaping () -> Bool) { self.waits = waits }
}
