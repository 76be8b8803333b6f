public import Dispatch
public import Logging

/// How a broker opens its file and runs its queues.
public struct BrokerOptions: Sendable {
    /// What the broker does with the file.
    ///
    /// Default: ``BrokerRole/run``.
    public var role: BrokerRole = .run

    /// What a loss of power can undo.
    ///
    /// Default: ``Durability/standard``.
    public var durability: Durability = .standard

    /// How many handlers run at the same time at most, over all queues; 1 to 10,000.
    ///
    /// The default of 64 suits handlers that wait for a network. Handlers that compute want the number of
    /// cores.
    public var concurrency = 64

    /// How long everything else waits, in all, while actions are tried that ran when a process died.
    ///
    /// One of them may have killed it. After a start, or the death of another process on the file, they start
    /// first and in halves, with nothing beside them, until it is known that none of them kills the process
    /// soon after its start. What has not been tried when this time is over starts beside the others. Actions
    /// that end soon are tried in the time that they take. Zero tries nothing: an action that kills its
    /// process is then never found.
    ///
    /// Default: five seconds.
    public var crashTrialLimit: Duration = .seconds(5)

    /// The most bytes that the JSON text of a payload may have; 1 to 500,000,000.
    ///
    /// Default: 16 MiB. Larger things belong in files whose names the payload carries.
    public var maximumPayloadByteCount = 16 * 1_024 * 1_024

    /// Seals payloads before they are stored, and opens them for handlers; `nil`, the default, stores them as
    /// they are.
    ///
    /// All else of an action is stored as it is: its queue, sort key, kind, tag, keys and the texts of
    /// errors. ``maximumPayloadByteCount`` is that of the plain payload; a sealed one is about a third
    /// longer. See <doc:Security>.
    public var payloadSealing: (any PayloadSealing)?

    /// Whether payloads that are not sealed are read where ``payloadSealing`` seals those that are stored.
    ///
    /// They are such that were stored before, and such that a shell has inserted. Set it to `false` when
    /// none of them are left: then a payload that somebody without the key has written never reaches a
    /// handler, and waits as undecodable. Default: `true`.
    public var acceptsUnsealedPayloads = true

    /// Whether payloads are erased from the file when their actions go, and soon from its log.
    ///
    /// What is deleted is overwritten with zeros (<https://www.sqlite.org/pragma.html#pragma_secure_delete>),
    /// and while the broker runs, the log is copied and cut to nothing ``logErasureInterval`` after a commit;
    /// see <doc:Security> for when nothing is left. It costs about twice the log for payloads of more than a
    /// page, and a sync of the file a second. Default: `false`.
    public var erasesPayloads = false

    /// How long behind a commit a running broker cuts the log to nothing, where it ``erasesPayloads``.
    ///
    /// Default: 1 second.
    public var logErasureInterval: Duration = .seconds(1)

    /// How long a write waits for another connection, such as a shell inside `BEGIN`, to give up the write
    /// lock.
    ///
    /// Default: 10 seconds.
    public var lockTimeout: Duration = .seconds(10)

    /// Registers functions and collations on the engine's writing connection, a `sqlite3 *`, for the
    /// application's tables that ``Outcome/success(_:)`` writes to; `nil` by default.
    ///
    /// It runs when the file is opened, and again at each ``Broker/resume()``, which opens it anew; in no
    /// transaction. The connection trusts no schema: a
    /// function that triggers, views, indexes or constraints call must be registered with
    /// `SQLITE_INNOCUOUS`. Settings that the engine rests on are set afterwards, and SQLite's hooks are the
    /// engine's. What it throws has the opening throw ``SluiceError/Code/connectionNotPrepared``.
    public var prepareConnection: (@Sendable (OpaquePointer) throws -> Void)?

    /// Whether a missing file, its tables and steps of its schema are made; else their lack is an error.
    package var makesMissing = true

    /// The name of what stands between SQLite and the file, for tests of disks that fail; `nil` is the
    /// system's.
    package var vfs: String?

    /// What is asked about the file system, for tests.
    package var mountFacts: @Sendable (String) -> MountFacts? = { MountFacts.read($0) }

    /// Whether the log is kept safe from SQLite's WAL-reset bug: where the version in use has it, and in
    /// tests.
    package var hasResetBug = FileFacts.hasResetBug

    /// When the order of what waits is written to the file.
    package var writeBehind = WriteBehindLimits()

    /// How long the right to run queues lasts without a sign of life.
    package var leases = LeaseTimes()

    /// Who waits until nothing is left to do, in tests.
    package var restWaiters: RestWaiters?

    /// As what process the broker runs queues; `nil` is the one that it is.
    package var identity: ProcessIdentity?

    /// Whether the file may be open in this process already: two stores of one process stand for two
    /// processes, in tests.
    package var sharesFile = false

    /// How long handlers may go on when the broker stops, before they are cancelled.
    ///
    /// Default: 10 seconds.
    public var stopGrace: Duration = .seconds(10)

    /// How often a running broker looks for commits by other connections and processes where it cannot
    /// watch the log, or is not to.
    ///
    /// It bounds the time until what such a commit made ready starts (G11). Default: 100 milliseconds, which
    /// costs less than one per cent of a core. Beside the watch the broker looks once a second, or at this
    /// interval if it is longer.
    public var foreignChangeInterval: Duration = .milliseconds(100)

    /// Whether a running broker watches the file's log, so that it is told of commits by other connections
    /// and processes.
    ///
    /// With it, what such a commit made ready starts within twice the time that the commit's sync takes and
    /// 100 milliseconds, mostly in one or two, at no cost while nobody commits. All
    /// brokers of a process take one of the user's inotify instances on Linux
    /// (`fs.inotify.max_user_instances`), and each takes a descriptor of the log on Apple systems; where that
    /// cannot be had, the broker looks every ``foreignChangeInterval``. A file system
    /// that does not tell of the writes of others leaves the look once a second: set this to `false` there.
    ///
    /// Default: `true`.
    public var watchesLog = true

    /// How long a queue with work may stand still before ``QueueEvent/Kind/stalled`` is told, while the
    /// broker runs and somebody observes it; `nil` is never.
    ///
    /// What runs, and what is scheduled for later, does not count as standing still; a wait for a retry does.
    /// It is told once until the queue moves, at most a fifth of this late; later with more than 2,000
    /// queues with work. At most 10,000 queues that stand still are kept in mind; further ones are told when
    /// some of these have moved.
    ///
    /// Default: 5 minutes.
    public var stallThreshold: Duration? = .seconds(300)

    /// Where the engine's time comes from.
    public var clock: any BrokerClock = SystemClock()

    /// What retry policies draw their jitter from: each delay's begins with one number of this generator.
    public var randomness: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()

    /// Where handlers run; `nil` is Swift's global executor.
    ///
    /// A ``DispatchExecutor`` has them run on a dispatch queue.
    public var handlerExecutor: (any TaskExecutor)?

    /// How long nothing may have run on the handlers' executor, while handlers run, before that is told: by a
    /// warning of the ``logger`` and by ``Because/handlersBlocked(since:)``; `nil` is never.
    ///
    /// It shows handlers that block their threads, as by a semaphore, `sleep()` or a synchronous request.
    /// On Swift's own executor, which has a thread for each core, as many of them halt all queues and the
    /// rest of the program; give handlers that must block a ``handlerExecutor`` of their own. It costs a
    /// job that does nothing, each time, while handlers run. Told between once and twice that time after
    /// the last one has run.
    ///
    /// Default: 5 seconds.
    public var blockedHandlerThreshold: Duration? = .seconds(5)

    /// What the engine's own queues target, and where its timer and its chores run; `nil`, the default, is
    /// the system's queues and Swift's global executor.
    ///
    /// Then commits are made there too, with its quality of service; without it, a lone caller commits on its
    /// own thread, which saves a change of threads for each. A serial queue has reads and copies wait behind
    /// writes, and behind another connection's lock. Do not block it: no
    /// ``Broker/enqueueBlocking(_:notBefore:)`` from there.
    public var engineQueue: DispatchQueue? {
        didSet { engine = EngineContext(engineQueue) }
    }

    private(set) var engine = EngineContext(nil)

    /// Code around every enqueue and every attempt, the outermost first; none by default.
    public var middleware: [any Middleware] = []

    #if Metrics
    /// What is reported to swift-metrics; `nil`, the default, is nothing.
    ///
    /// With the trait `Metrics`.
    public var metrics: MetricsOptions?
    #endif

    /// Where the engine writes, with structured keys, once for each change of state, and never a payload
    /// (G13).
    ///
    /// At `warning` what needs a person: a queue is parked, an action is set aside, nobody has a route,
    /// another connection keeps the write lock, the file refuses a write, this process was taken for dead,
    /// handlers block. At `notice` what somebody has asked for, at `info` the start and the end of
    /// ``Broker/run()``, at `debug` each attempt. Its level when the file is opened counts. The default
    /// writes nothing.
    public var logger = Logger(label: "sluice", factory: { _ in SwiftLogNoOpLogHandler() })

    /// The defaults.
    public init() {}

    func validate() throws(SluiceError) {
        func check(_ isValid: Bool, _ message: String) throws(SluiceError) {
            guard isValid else { throw SluiceError(.invalidOptions, message) }
        }
        try check((1...10_000).contains(concurrency), "concurrency is \(concurrency); give 1 to 10,000")
        try check(
            (1...500_000_000).contains(maximumPayloadByteCount),
            "maximumPayloadByteCount is \(maximumPayloadByteCount); give 1 to 500,000,000"
        )
        try check(crashTrialLimit >= .zero, "crashTrialLimit is negative")
        try check(lockTimeout >= .zero, "lockTimeout is negative")
        try check(foreignChangeInterval > .zero, "foreignChangeInterval is not positive")
        try check(logErasureInterval > .zero, "logErasureInterval is not positive")
        try check(stopGrace >= .zero, "stopGrace is negative")
        try check(
            blockedHandlerThreshold.map { $0 > .zero } ?? true,
            "blockedHandlerThreshold is not positive"
        )
        try check(stallThreshold.map { $0 > .zero } ?? true, "stallThreshold is not positive")
        #if Metrics
        try metrics?.validate()
        #endif
    }
}

/// What a loss of power can undo.
///
/// A kill of the process undoes nothing at any level.
///
/// The levels set SQLite's `synchronous` for each commit
/// (<https://www.sqlite.org/pragma.html#pragma_synchronous>).
public struct Durability: Sendable, Hashable {
    enum Level: Sendable { case everything, standard, relaxed }

    let level: Level

    /// Every commit is synced: loss of power undoes nothing that was reported, and no settled action runs
    /// again.
    public static let everything = Durability(level: .everything)

    /// What is owed to the caller is synced: enqueued actions, dead letters, parking.
    ///
    /// The settling of an attempt is synced within a second, or with the next enqueue; loss of power before
    /// lets that action run again, which G5 allows.
    public static let standard = Durability(level: .standard)

    /// Nothing is synced by a commit: loss of power can lose what was enqueued within the last second, and
    /// settled actions of that second run again.
    ///
    /// The file stays intact.
    public static let relaxed = Durability(level: .relaxed)

    /// Whether a commit with such a write is synced.
    func syncs(_ need: SyncNeed) -> Bool {
        switch need {
        case .forced: true
        case .owed: level != .relaxed
        case .later: level == .everything
        }
    }
}
