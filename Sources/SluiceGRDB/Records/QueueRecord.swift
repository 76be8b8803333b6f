#if GRDB
public import GRDB
public import Sluice

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A queue with work and why it does not move: a row of the view `sluice_queues`.
///
/// ```swift
/// let stuck = try QueueRecord.filter { $0.state == "parked" }.fetchAll(db)
/// ```
///
/// An empty queue has no row, with one exception: its last action was removed, such as by a GRDB transaction
/// that settled it, but its handler has not returned. Until then there is a row with ``depth`` 0 and no
/// ``head``, and ``because`` is `running since TIME` without an attempt.
///
/// `Broker.status(of:)` has more: all reasons, and reasons that are not in the file, such as a missing route.
/// Reading all queues counts all their actions; read a single queue by its name.
public struct QueueRecord: FetchableRecord, TableRecord, Identifiable, Sendable, Hashable {
    /// The view.
    public static let databaseTableName = "sluice_queues"

    /// The queue.
    public let queue: QueueName
    /// Actions that wait or run in it.
    public let depth: Int
    /// A word for the queue's state.
    public let state: QueueStatus.State
    /// Why it does not move, in words.
    public let because: String
    /// The action that runs or is next.
    public let head: ActionID?
    /// The kind of that action.
    public let headKind: String?
    /// Attempts of that action that count, including the running one.
    public let attempt: Int
    /// When the reason ends by itself, if it does.
    public let blockedUntil: Date?
    /// How long its oldest action has been in the queue, in whole seconds.
    public let oldestAge: Duration
    /// The head's last error, or the one that parked the queue.
    public let lastError: String?
    /// The process that runs its head; `nil` while none does.
    public let process: Int?

    /// The queue, which has one row.
    public var id: QueueName { queue }

    /// The columns of the view.
    public enum Columns {
        /// See ``QueueRecord/queue``.
        public static let queue = Column("queue")
        /// See ``QueueRecord/depth``.
        public static let depth = Column("depth")
        /// See ``QueueRecord/state``.
        public static let state = Column("state")
        /// See ``QueueRecord/because``.
        public static let because = Column("because")
        /// See ``QueueRecord/head``.
        public static let head = Column("head_id")
        /// See ``QueueRecord/headKind``.
        public static let headKind = Column("head_kind")
        /// See ``QueueRecord/attempt``.
        public static let attempt = Column("attempt")
        /// See ``QueueRecord/blockedUntil``.
        public static let blockedUntil = Column("blocked_until")
        /// See ``QueueRecord/oldestAge``.
        public static let oldestAge = Column("oldest_age_s")
        /// See ``QueueRecord/lastError``.
        public static let lastError = Column("last_error")
        /// See ``QueueRecord/process``.
        public static let process = Column("process")
    }

    /// Reads a row of the view.
    ///
    /// - Throws: `SluiceError` for a value that only a newer version's view can have.
    public init(row: Row) throws {
        queue = row["queue"]
        depth = row["depth"]
        state = try row.word("state", as: QueueStatus.State.self)
        because = row["because"]
        head = row["head_id"]
        headKind = row["head_kind"]
        attempt = row["attempt"]
        blockedUntil = try row.time("blocked_until")
        oldestAge = .seconds((row["oldest_age_s"] as Int64?) ?? 0)
        lastError = row["last_error"]
        process = row["process"]
    }
}
#endif
