#if GRDB
public import GRDB
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A dead letter: a row of the view `sluice_dead`.
///
/// ```swift
/// let expired = try DeadLetterRecord.filter { $0.cause == "expired" }.fetchCount(db)
/// ```
public struct DeadLetterRecord: FetchableRecord, TableRecord, Identifiable, Sendable, Hashable {
    /// The view.
    public static let databaseTableName = "sluice_dead"

    /// The action's number; `Broker.requeue(_:)` keeps it.
    public let id: ActionID
    /// The action's queue.
    public let queue: QueueName
    /// The sort key; see ``ActionRecord/sortKey``.
    public let sortKey: DatabaseValue
    /// The action's kind.
    public let kind: String
    /// The payload: JSON text.
    public let payload: String
    /// Why it became a dead letter.
    public let cause: FailureCause
    /// The error that caused it.
    public let error: String
    /// Attempts that counted.
    public let attempts: Int
    /// When the action was enqueued.
    public let enqueuedAt: Date
    /// When it became a dead letter.
    public let diedAt: Date
    /// The version of the payload.
    public let version: Int
    /// The action's tag.
    public let tag: String?
    /// The gate that the action waits for when it is put back.
    public let gate: GateName?

    /// The columns of the view.
    public enum Columns {
        /// See ``DeadLetterRecord/id``.
        public static let id = Column("id")
        /// See ``DeadLetterRecord/queue``.
        public static let queue = Column("queue")
        /// See ``DeadLetterRecord/sortKey``.
        public static let sortKey = Column("sort_key")
        /// See ``DeadLetterRecord/kind``.
        public static let kind = Column("kind")
        /// See ``DeadLetterRecord/payload``.
        public static let payload = Column("payload")
        /// See ``DeadLetterRecord/cause``.
        public static let cause = Column("cause")
        /// See ``DeadLetterRecord/error``.
        public static let error = Column("error")
        /// See ``DeadLetterRecord/attempts``.
        public static let attempts = Column("attempts")
        /// See ``DeadLetterRecord/enqueuedAt``.
        public static let enqueuedAt = Column("enqueued_at")
        /// See ``DeadLetterRecord/diedAt``.
        public static let diedAt = Column("died_at")
        /// See ``DeadLetterRecord/version``.
        public static let version = Column("version")
        /// See ``DeadLetterRecord/tag``.
        public static let tag = Column("tag")
        /// See ``DeadLetterRecord/gate``.
        public static let gate = Column("gate")
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
        cause = try row.word("cause", as: FailureCause.self)
        error = row["error"]
        attempts = row["attempts"]
        enqueuedAt = try row.requiredTime("enqueued_at")
        diedAt = try row.requiredTime("died_at")
        version = row["version"]
        tag = row["tag"]
        gate = (row["gate"] as String?).map { GateName($0) }
    }
}
#endif
