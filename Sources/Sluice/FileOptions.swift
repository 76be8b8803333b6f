/// How a broker opens and uses its file.
public struct FileOptions: Sendable {
    /// How the broker uses the file; ``BrokerRole/run`` by default.
    public var role: BrokerRole = .run
    /// How much a loss of power can undo; ``Durability/standard`` by default.
    public var durability: Durability = .standard
    /// Whether payloads are erased from the file when their actions are removed, and soon from its WAL.
    ///
    /// Default: `false`. It costs about twice the WAL for payloads of more than a page, and a sync a second:
    /// <doc:Security>.
    public var erasesPayloads = false
    /// How long after a commit the WAL is truncated by ``erasesPayloads``; 1 second by default.
    public var walTruncationInterval: Duration = .seconds(1)
    /// How long a write waits for another connection's write lock; 10 seconds by default.
    public var lockTimeout: Duration = .seconds(10)
    /// Registers functions and collations on the engine's writing connection, a `sqlite3 *`, if not `nil`.
    ///
    /// They serve the application's tables that ``Outcome/success(_:)`` writes to. The closure runs outside a
    /// transaction when the file is opened, and again at each ``BrokerFile/resume()``. Functions in triggers,
    /// views, indexes or constraints must be registered with `SQLITE_INNOCUOUS`. The engine applies its own
    /// settings afterwards, and SQLite's hooks belong to it. If the closure throws, opening throws
    /// ``SluiceError/Code/connectionNotPrepared``.
    public var prepareConnection: (@Sendable (OpaquePointer) throws -> Void)?
    /// Whether a missing file, its tables and steps of its schema are created; otherwise opening throws.
    package var makesMissing = true
    /// The SQLite VFS, for tests of disks that fail; `nil` is the system's.
    package var vfs: String?
    /// Returns facts about the file system; replaced in tests.
    package var mountFacts: @Sendable (String) -> MountFacts? = { MountFacts.read($0) }
    /// The bytes that are free on the file system of a path.
    package var freeSpace: @Sendable (String) -> Int? = { SpaceReserve.freeSpace($0) }
    /// Whether the WAL is protected from SQLite's WAL-reset bug: if the version in use has it, and in tests.
    package var hasResetBug = FileFacts.hasResetBug
    package var writeBehind = WriteBehindLimits()
    package var leases = LeaseTimes()
    /// The process that the broker runs queues as; `nil` is its real one.
    package var identity: ProcessIdentity?
    /// Whether the file may be open in this process already: tests use two stores as two processes.
    package var sharesFile = false
    /// How often a running broker polls for others' commits if the WAL is not watched; 100 milliseconds.
    ///
    /// It bounds the time until an action of such a commit starts (G11), and costs less than one per cent of
    /// a core. With the watch, the broker polls once a second, or at this interval if it is longer.
    public var foreignChangeInterval: Duration = .milliseconds(100)
    /// Whether a running broker watches the WAL for commits of others; `true` by default.
    ///
    /// With the watch, an action of such a commit starts within twice the time of the commit's sync and 100
    /// milliseconds. If the system refuses a watch (<doc:Operating>), the broker polls. Set it to `false` if
    /// the file system does not report writes of others.
    public var watchesWAL = true
    /// The defaults.
    public init() {}
}
