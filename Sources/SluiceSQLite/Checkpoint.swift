internal import CSluiceSQLite

/// Checkpoints of the write-ahead log.
///
/// Source: <https://www.sqlite.org/c3ref/wal_checkpoint_v2.html>
package struct Checkpoint: Hashable, Sendable {
    package enum Mode: Sendable {
        /// Copies what no reader needs, waits for nobody.
        case passive
        /// Holds the write lock, waits for readers within the busy timeout, and copies all.
        ///
        /// One that does not get the write lock runs on as a passive one.
        case full
        /// Waits for readers and writers within the busy timeout, copies all, and cuts the file to nothing.
        case truncate
    }

    /// Frames in the log afterwards.
    package let frames: Int
    /// Frames of them that stand in the database file.
    package let copied: Int
    /// Whether a reader or writer kept it from copying all.
    package let wasBlocked: Bool
}

extension Connection {
    /// Copies the log into the database file.
    ///
    /// Being blocked is a normal result, told by `wasBlocked`.
    package func checkpoint(_ mode: Checkpoint.Mode) throws(SQLiteError) -> Checkpoint {
        var frames: Int32 = 0
        var copied: Int32 = 0
        let rawMode =
            switch mode {
            case .passive: SQLITE_CHECKPOINT_PASSIVE
            case .full: SQLITE_CHECKPOINT_FULL
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        // None can be made within a transaction.
        try endLeftover()
        let code = sqlite3_wal_checkpoint_v2(handle, "main", rawMode, &frames, &copied)
        guard code & 0xFF == SQLITE_BUSY || code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
        return Checkpoint(frames: Int(frames), copied: Int(copied), wasBlocked: code != SQLITE_OK)
    }

    /// Copies the log into the database file, and asks each time when a lock is in the way.
    ///
    /// The checkpoint has the right to be the only one from before the first question on. The busy timeout
    /// holds again afterwards.
    ///
    /// - Parameter waits: Whether it tries again; it is called on this thread, on which it may wait a moment
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
                // It lives until the handler is taken away below.
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

    /// Has what was done to the log reach the disk: SQLite syncs what it writes there, and not its cutting.
    ///
    /// By the file that SQLite has open, as `SQLITE_FCNTL_JOURNAL_POINTER` tells it; where there is none, as
    /// in memory, nothing is done.
    package func syncLog() throws(SQLiteError) {
        var log: UnsafeMutablePointer<sqlite3_file>?
        let found = sqlite3_file_control(handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
        guard found == SQLITE_OK, let log, let sync = log.pointee.pMethods?.pointee.xSync else { return }
        let code = sync(log, SQLITE_SYNC_NORMAL)
        guard code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
    }

    /// Lets the checkpoint or statement that runs on this connection end with an error, as soon as it can.
    package func interrupt() { sqlite3_interrupt(handle) }

    /// Whether another connection is in the midst of a checkpoint.
    ///
    /// Found out by beginning one that is interrupted before it copies a page, with syncs turned off: it asks
    /// for the lock that a checkpoint holds from its first step to its last, and does nothing with it.
    package func isOtherCheckpointing() throws -> Bool {
        let level = try pragma("synchronous")
        try execute("PRAGMA synchronous = 0")
        sqlite3_interrupt(handle)
        let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_PASSIVE, nil, nil)
        let error = code & 0xFF == SQLITE_OK ? nil : SQLiteError(code, on: handle)
        try set(Pragma("synchronous", level))
        switch error?.code.primary {
        case nil, .interrupted: return false
        case .busy: return true
        case _?: throw error ?? SQLiteError(code, on: handle)
        }
    }

    /// Whether another connection has the write lock.
    package func isWriteLockTaken() throws -> Bool {
        setBusyTimeout(.zero)
        do {
            try beginImmediate()
        } catch {
            guard error.code.primary == .busy, !isInTransaction else { throw error }
            return true
        }
        rollback()
        return false
    }

    /// Waits a millisecond, as SQLite does between two tries to get a lock.
    package static func pause() { sqlite3_sleep(1) }

    /// Has SQLite count the frames of the log for ``logFrames`` after each commit of this connection.
    ///
    /// Only for a connection that is ours: SQLite has one WAL hook, and `wal_autocheckpoint` is built on it,
    /// so that this turns automatic checkpoints off.
    package func countLogFrames() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, frames in
                // The counter lives as long as its connection, and so as long as the hook.
                if let context {
                    Unmanaged<LogFrameCounter>.fromOpaque(context).takeUnretainedValue().frames = Int(frames)
                }
                return SQLITE_OK
            },
            Unmanaged.passUnretained(logFrameCounter).toOpaque()
        )
    }

    /// Frames in the log after the last commit of this connection; 0 before the first.
    package var logFrames: Int { logFrameCounter.frames }
}

extension Connection {
    /// Begins to count for ``writtenPages``.
    package func countWrittenPages() { _ = cacheWrites(resetting: true) }

    /// Pages that this connection has written since ``countWrittenPages()``, some of them perhaps twice.
    package var writtenPages: Int { cacheWrites(resetting: false) }

    private func cacheWrites(resetting: Bool) -> Int {
        var count: Int32 = 0
        var highest: Int32 = 0
        // Fails only for a counter that the library does not know.
        _ = sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &count, &highest, resetting ? 1 : 0)
        return Int(count)
    }
}

/// What the WAL hook, a C function without context of its own, writes to.
final class LogFrameCounter {
    var frames = 0
}

/// What the busy handler, a C function without context of its own, asks.
private final class BusyQuestion {
    let waits: () -> Bool

    init(_ waits: @escaping () -> Bool) {
        self.waits = waits
    }
}
