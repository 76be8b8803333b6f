#if GRDB
public import GRDB
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A failed attempt of an action or a dead letter: a row of the view `sluice_attempts`.
public struct AttemptRecord: FetchableRecord, TableRecord, Sendable, Hashable {
    /// The view.
    public static let databaseTableName = "sluice_attempts"

    /// The action's number.
    public let action: ActionID
    /// The attempt's number, counted from 1; a requeue restarts the count.
    public let number: Int
    /// A word for how the attempt ended.
    public let outcome: String
    /// The error.
    public let error: String
    /// When the attempt began.
    public let startedAt: Date
    /// When the attempt ended.
    public let endedAt: Date

    /// The columns of the view.
    public enum Columns {
        /// See ``AttemptRecord/action``.
        public static let action = Column("action_id")
        /// See ``AttemptRecord/number``.
        public static let number = Column("number")
        /// See ``AttemptRecord/outcome``.
        public static let outcome = Column("outcome")
        /// See ``AttemptRecord/error``.
        public static let error = Column("error")
        /// See ``AttemptRecord/startedAt``.
        public static let startedAt = Column("started_at")
        /// See ``AttemptRecord/endedAt``.
        public static let endedAt = Column("ended_at")
    }

    /// Reads a row of the view.
    ///
    /// - Throws: `SluiceError` for a value that only a newer version's view can have.
    public init(row: Row) throws {
        action = row["action_id"]
        number = row["number"]
        outcome = row["outcome"]
        error = row["error"]
        startedAt = try row.requiredTime("started_at")
        endedAt = try row.requiredTime("ended_at")
    }
}
#endif
