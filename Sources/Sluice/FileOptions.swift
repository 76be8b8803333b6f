/// How a broker opens and uses its file.
public struct FileOptions: Sendable {
    /// How the broker uses the file.
    ///
    /// Default: ``BrokerRole/run``.
    public var role: BrokerRole = .run
    /// How much a loss of power can undo.
    ///
    /// Default: ``Durability/standard``.
    public var durability: Durability = .standard
    /// Whether payloads are erased from the file when their actions are removed, and soon from its WAL.
    ///
    /// Deleted data is overwritten with zeros (<https://www.sqlite.org/pragma.html#pragma_secure_delete>).
    /// While the broker runs, the WAL is copied and truncated ``walTruncationInterval`` after a commit; see
    /// <doc:Security> for when nothing is left. It costs about twice the WAL for payloads of more than a
    /// page, and a sync of the file a second. Default: `false`.
    public var erasesPayloads = false
    /// How long after a commit a running broker truncates the WAL if it ``erasesPayloads``.
    ///
    /// Default: 1 second.
    public var walTruncationInterval: Duration = .seconds(1)
    /// How long a write waits for another connection, such as a shell inside `BEGIN`, to release the write
    /// lock.
    ///
    /// Default: 10 seconds.
    public var lockTimeout: Duration = .seconds(10)
    /// Registers functions and collations on the engine's writing connection, a `sqlite3 *`; `nil` by
    /// default.
    ///
    /// They serve the application's tables that ``Outcome/success(_:)`` writes to. The closure runs outside a
    /// transaction when the file is opened, and again at each ``Broker/resume()``. The connection trusts no
    /// schema: functions in triggers, views, indexes or constraints must be registered with
    /// `SQLITE_INNOCUOUS`. The engine applies its own settings afterwards, and SQLite's hooks belong to the
    /// engine. If the closure throws, opening throws ``SluiceError/Code/connectionNotPrepared``.
    public var prepareConnection: (@Sendable (OpaquePointer) throws -> Void)?
    /// Whether a missing file, its tables and steps of its schema are created; otherwise opening throws.
    package var makesMissing = true
    /// The SQLite VFS, for tests of disks that fail; `nil` is the system's.
    package var vfs: String?
    /// Returns facts about the file system; replaced in tests.
    package var mountFacts: @Sendable (String) -> MountFacts? = { MountFacts.read($0) }
    /// Whether the WAL is protected from SQLite's WAL-reset bug: if the version in use has it, and in tests.
    package var hasResetBug = FileFacts.hasResetBug
    /// When the order of waiting actions is written to the file.
    package var writeBehind = WriteBehindLimits()
    /// How long the right to run queues lasts without a renewal.
    package var leases = LeaseTimes()
    /// The process that the broker runs queues as; `nil` is its real one.
    package var identity: ProcessIdentity?
    /// Whether the file may be open in this process already, so that tests can use two stores as two
    /// processes.
    package var sharesFile = false
    /// How often a running broker polls for commits by other connections and processes if the WAL is not
    /// watched.
    ///
    /// It bounds the time until an action of such a commit starts (G11). Default: 100 milliseconds, which
    /// costs less than one per cent of a core. In addition to the watch, the broker polls once a second, or
    /// at this interval if it is longer.
    public var foreignChangeInterval: Duration = .milliseconds(100)
    /// Whether a running broker watches the WAL for commits by other connections and processes.
    ///
    /// With the watch, an action of such a commit starts within twice the time of the commit's sync and 100
    /// milliseconds, mostly in one or two. It costs nothing while there are no commits.
    ///
    /// All brokers of a process share one of the user's inotify instances on Linux
    /// (`fs.inotify.max_user_instances`); on Apple systems each uses a descriptor of the WAL. If none is
    /// available, the broker polls every ``foreignChangeInterval``. Set this to `false` for a file system
    /// that does not report writes of others, as only the poll once a second remains there.
    ///
    /// Default: `true`.
    public var watchesWAL = true
    /// The defaults.
    public init() {}

    func validate() throws(SluiceError) {
        func check(_ isValid: Bool, _ message: String) throws(SluiceError) {
            guard isValid else { throw SluiceError(.invalidOptions, message) }
        }
        try check(lockTimeout >= .zero, "lockTimeout is negative")
        try check(foreignChangeInterval > .zero, "foreignChangeInterval is not positive")
        try check(walTruncationInterval > .zero, "walTruncationInterval is not positive")
    }
}
