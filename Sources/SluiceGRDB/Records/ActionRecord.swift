#if GRDB
public import GRDB
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action that waits or runs: a row of the view `sluice_actions`.
///
/// ```swift
/// let waiting = try ActionRecord
///     .filter { $0.queue == "conversation/42" }
///     .order { $0.id }
///     .fetchAll(db)
/// ```
///
/// It is read only; the broker's methods change actions. A view has no primary key, so `find` and
/// `filter(id:)` do not work, but `filter { $0.id == … }` does.
public struct ActionRecord: FetchableRecord, TableRecord, Identifiable, Sendable, Hashable {
    /// The view.
    public static let databaseTableName = "sluice_actions"

    /// The action's number.
    public let id: ActionID
    /// The action's queue.
    public let queue: QueueName
    /// The sort key; null in order of arrival.
    ///
    /// A date is text in ISO 8601.
    public let sortKey: DatabaseValue
    /// The action's kind.
    public let kind: String
    /// The payload: JSON text.
    public let payload: String
    /// Attempts that count, including the running one.
    public let attempts: Int
    /// When the next attempt is due, after a failed one.
    public let nextAttemptAt: Date?
    /// When the action is due, if it is scheduled for later.
    public let notBefore: Date?
    /// When the running attempt began.
    public let runningSince: Date?
    /// When the action was enqueued.
    public let enqueuedAt: Date
    /// The error of the last attempt, if that failed.
    public let lastError: String?
    /// The version of the kind that the payload was stored in.
    public let version: Int
    /// The action's tag, if any.
    public let tag: String?
    /// The action's own gate, if any.
    public let gate: GateName?
    /// When the action expires, if it does.
    public let expiresAt: Date?

    /// The columns of the view.
    public enum Columns {
        /// See ``ActionRecord/id``.
        public static let id = Column("id")
        /// See ``ActionRecord/queue``.
        public static let queue = Column("queue")
        /// See ``ActionRecord/sortKey``.
        public static let sortKey = Column("sort_key")
        /// See ``ActionRecord/kind``.
        public static let kind = Column("kind")
        /// See ``ActionRecord/payload``.
        public static let payload = Column("payload")
        /// See ``ActionRecord/attempts``.
        public static let attempts = Column("attempts")
        /// See ``ActionRecord/nextAttemptAt``.
        public static let nextAttemptAt = Column("next_attempt_at")
        /// See ``ActionRecord/notBefore``.
        public static let notBefore = Column("not_before")
        /// See ``ActionRecord/runningSince``.
        public static let runningSince = Column("running_since")
        /// See ``ActionRecord/enqueuedAt``.
        public static let enqueuedAt = Column("enqueued_at")
        /// See ``ActionRecord/lastError``.
        public static let lastError = Column("last_error")
        /// See ``ActionRecord/version``.
        public static let version = Column("version")
        /// See ``ActionRecord/tag``.
        public static let tag = Column("tag")
        /// See ``ActionRecord/gate``.
        public static let gate = Column("gate")
        /// See ``ActionRecord/expiresAt``.
        public static let expiresAt = Column("expires_at")
    }

    /// Reads a row of the view.
    ///
    /// - Throws: `SluiceError` for a value that only a newer version's view can have.
    public init(row: Row) throws {
        id = row["id"]
        queue = row["queue"]
        sortKey = row["sort_key"]
        kind = row["kind"]
        payload = row["payload"]
        attempts = row["attempts"]
        nextAttemptAt = try row.time("next_attempt_at")
        notBefore = try row.time("not_before")
        runningSince = try row.time("running_since")
        enqueuedAt = try row.requiredTime("enqueued_at")
        lastError = row["last_error"]
        version = row["version"]
        tag = row["tag"]
        gate = (row["gate"] as String?).map { GateName($0) }
        expiresAt = try row.time("expires_at")
    }
}
#endif
