/// A problem of an application's connection with a broker's file, or a promise that it weakens.
public struct ConnectionFinding: Sendable, Hashable, CustomStringConvertible {
    /// A kind of finding; later versions may add more.
    public struct Code: Sendable, Hashable, CustomStringConvertible {
        /// The code's name.
        public let description: String
        /// The connection's main database is another file, a temporary one, or in memory.
        public static let otherDatabase = Code(description: "otherDatabase")
        /// The connection cannot write.
        public static let readOnly = Code(description: "readOnly")
        /// The journal mode is not WAL.
        public static let notWAL = Code(description: "notWAL")
        /// Nothing is synced, not even when the WAL is copied.
        public static let synchronousOff = Code(description: "synchronousOff")
        /// Commits are not synced.
        public static let synchronousBelowFull = Code(description: "synchronousBelowFull")
        /// Syncs may stop short of the disk, as on Apple systems unless `fullfsync` is on.
        public static let fullSyncOff = Code(description: "fullSyncOff")
        /// The connection makes checkpoints by itself, and this SQLite can lose commits by that.
        public static let automaticCheckpoints = Code(description: "automaticCheckpoints")
        /// Triggers or views are switched off.
        public static let triggersOff = Code(description: "triggersOff")
    }

    /// The kind of finding.
    public let code: Code
    /// The consequence and what to do, in a sentence.
    public let message: String
    /// The message, with the code.
    public var description: String { "\(message) [\(code)]" }

    static let otherDatabase = ConnectionFinding(
        code: .otherDatabase,
        message: "its main database is not the file of this broker: open that file by a connection of its own"
    )
    static let readOnly = ConnectionFinding(
        code: .readOnly,
        message: "it cannot write: open it for writing, and set PRAGMA query_only = 0"
    )
    static let synchronousOff = ConnectionFinding(
        code: .synchronousOff,
        message:
            "it syncs nothing, so that a loss of power can damage the file: set PRAGMA synchronous = FULL"
    )
    static let synchronousBelowFull = ConnectionFinding(
        code: .synchronousBelowFull,
        message: "its enqueues survive a loss of power only after broker.file?.flush(): call that, or set "
            + "PRAGMA synchronous = FULL"
    )
    static let fullSyncOff = ConnectionFinding(
        code: .fullSyncOff,
        message:
            "on this system a sync may end before the data is on the disk: call broker.file?.flush() after "
            + "enqueues that must survive a loss of power, or set PRAGMA fullfsync = 1"
    )
    static let triggersOff = ConnectionFinding(
        code: .triggersOff,
        message: "its triggers or views are switched off, so that its SQL cannot write to the views, and "
            + "some enqueues fail: leave SQLITE_DBCONFIG_ENABLE_TRIGGER and _VIEW on"
    )
    static let automaticCheckpoints = ConnectionFinding(
        code: .automaticCheckpoints,
        message: "it checkpoints the WAL, and this version of SQLite can lose a commit if two connections "
            + "do: set PRAGMA wal_autocheckpoint = 0 on it, and leave checkpoints to the broker"
    )

    /// Returns the finding about the settings for syncs; `fullfsync` is `nil` if it does not matter here.
    static func ofSyncs(synchronous: String, fullfsync: String?) -> ConnectionFinding? {
        switch synchronous {
        case "0": .synchronousOff
        case "1": .synchronousBelowFull
        default: fullfsync == "0" ? .fullSyncOff : nil
        }
    }

    static func notWAL(_ journal: String) -> ConnectionFinding {
        let advice = "leave PRAGMA journal_mode at wal, which the broker has set"
        return ConnectionFinding(code: .notWAL, message: "its journal mode is '\(journal)': \(advice)")
    }
}
