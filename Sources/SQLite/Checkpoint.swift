internal import CSQLite

/// Checkpoints of the write-ahead log.
///
/// Source: <https://www.sqlite.org/c3ref/wal_checkpoint_v2.html>
package struct Checkpoint: Hashable, Sendable {
    package enum Mode: Sendable {
        /// Copies what no reader needs, waits for nobody.
        case passive
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
            case .truncate: SQLITE_CHECKPOINT_TRUNCATE
            }
        let code = sqlite3_wal_checkpoint_v2(handle, "main", rawMode, &frames, &copied)
        guard code & 0xFF == SQLITE_BUSY || code == SQLITE_OK else { throw SQLiteError(code, on: handle) }
        return Checkpoint(frames: Int(frames), copied: Int(copied), wasBlocked: code != SQLITE_OK)
    }

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

/// What the WAL hook, a C function without context of its own, writes to.
final class LogFrameCounter {
    var frames = 0
}
