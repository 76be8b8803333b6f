public import Dispatch
public import Logging

/// How a broker runs its queues, and how it opens its file.
public struct BrokerOptions: Sendable {
    /// How the broker opens and uses its file; most of it has no meaning for queues in memory.
    public var file = FileOptions()
    /// The most handlers that run at the same time, over all queues; 1 to 10,000, 64 by default.
    ///
    /// The default suits handlers that wait for a network. If they compute, use the number of cores.
    public var concurrency = 64
    /// The longest total time that other work waits for the trial of suspects; 5 seconds by default.
    ///
    /// Suspects are actions that ran when a process died; see <doc:Guarantees>. When the time is over, the
    /// rest start beside other actions. With zero, an action that kills its process is never found.
    public var crashTrialLimit: Duration = .seconds(5)
    /// The most bytes that the JSON text of a payload may have; 1 to 500,000,000, 16 MiB by default.
    public var maximumPayloadByteCount = 16 * 1_024 * 1_024
    /// How dates in payloads are written; text in ISO 8601 by default; both forms are read.
    public var payloadDates = PayloadDates.iso8601
    /// Seals payloads before they are stored, and opens them for handlers; `nil`, the default, does neither.
    ///
    /// Queue, sort key, kind, tag, keys and error texts stay plain. ``maximumPayloadByteCount`` applies
    /// before sealing; a sealed payload is about a third longer. See <doc:Security>.
    public var payloadSealing: (any PayloadSealing)?
    /// Whether payloads that are not sealed are accepted when ``payloadSealing`` is set; `true` by default.
    ///
    /// If `false`, a payload written without the key never reaches a handler, and waits as undecodable.
    public var acceptsUnsealedPayloads = true
    /// Waits until nothing is left to do, in tests.
    package var restWaiters: RestWaiters?
    /// How long handlers may continue before a stop cancels them; 10 seconds by default.
    public var stopGrace: Duration = .seconds(10)
    /// How long a queue with work may not move before ``QueueEvent/Kind/stalled`` is sent; `nil` is never.
    ///
    /// It requires a running broker with an observer. A wait for a retry counts as a stall; a running action,
    /// or one scheduled for later, does not. The event is sent once until the queue moves, at most a fifth of
    /// this late, or later with more than 2,000 queues with work. At most 10,000 stalled queues are
    /// remembered; others are reported when some of these have moved. Default: 5 minutes.
    public var stallThreshold: Duration? = .seconds(300)
    /// The engine's source of time.
    public var clock: any BrokerClock = SystemClock()
    /// The source of jitter for retry policies: each delay starts with one number of this generator.
    public var randomness: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    /// Where handlers run, such as a ``DispatchExecutor``; `nil` is Swift's global executor.
    public var handlerExecutor: (any TaskExecutor)?
    /// How long handlers may keep their executor from running anything, before a report; `nil` is never.
    ///
    /// The report is a warning of the ``logger`` and ``WaitReason/handlersBlocked(since:)``, between once and
    /// twice this time after the last job. Swift's own executor has a thread for each core: as many handlers
    /// that block, such as with a semaphore or `sleep()`, halt all queues and the rest of the program. Give
    /// them a ``handlerExecutor`` of their own. Default: 5 seconds.
    public var blockedHandlerThreshold: Duration? = .seconds(5)
    /// The target of the engine's queues, timer and chores; by default the system's and Swift's executor.
    ///
    /// Without one, a lone caller commits on its own thread: see <doc:ExecutionContexts>. Do not block it,
    /// such as by ``Broker/enqueueBlocking(_:_:notBefore:)``.
    public var engineQueue: DispatchQueue? { didSet { engine = EngineContext(engineQueue) } }
    package var engine = EngineContext(nil)
    /// Code around every enqueue and every attempt, the outermost first; none by default.
    public var middleware: [any Middleware] = []

    #if Metrics
    /// The reports to swift-metrics, with the trait `Metrics`; `nil`, the default, reports nothing.
    public var metrics: MetricsOptions?
    #endif

    /// Receives one message for each change of state, with structured keys and never a payload (G13).
    ///
    /// - `warning`: a person must act: a parked queue, a dead letter, a missing route, a long write lock, a
    ///   refused write, a process taken for dead, blocked handlers.
    /// - `notice`: results of a request. `info`: start and end of ``Broker/run()``. `debug`: each attempt.
    ///
    /// Its level is read when the file is opened. The default writes nothing but three warnings, to
    /// standard error or where the application's loggers go, each once: that actions wait for a route that
    /// nobody has added, that no queue matches a route while others have no route, and that actions wait for
    /// a gate that nobody has opened.
    public var logger = Logger(label: "sluice", factory: { _ in SwiftLogNoOpLogHandler() }) {
        didSet { hasLogger = true }
    }
    /// Whether the application has set the logger.
    private(set) var hasLogger = false
    /// Receives what somebody has probably forgotten.
    var oversightLogger: Logger { hasLogger ? logger : Logger(label: "sluice") }
    /// Whether a warning names a queue without a route; off for a run of chosen queues.
    package var namesQueuesWithoutRoute = true
    /// The defaults.
    public init() {}

    package func validate() throws(SluiceError) {
        func check(_ isValid: Bool, _ message: String) throws(SluiceError) {
            guard isValid else { throw SluiceError(.invalidOptions, message) }
        }
        try check((1...10_000).contains(concurrency), "concurrency is \(concurrency); give 1 to 10,000")
        let most = maximumPayloadByteCount
        let isSize = (1...500_000_000).contains(most)
        try check(isSize, "maximumPayloadByteCount is \(most); give 1 to 500,000,000")
        try check(crashTrialLimit >= .zero, "crashTrialLimit is negative")
        try check(file.lockTimeout >= .zero, "lockTimeout is negative")
        try check(file.foreignChangeInterval > .zero, "foreignChangeInterval is not positive")
        try check(file.walTruncationInterval > .zero, "walTruncationInterval is not positive")
        try check(stopGrace >= .zero, "stopGrace is negative")
        let isThreshold = blockedHandlerThreshold.map { $0 > .zero } ?? true
        try check(isThreshold, "blockedHandlerThreshold is not positive")
        try check(stallThreshold.map { $0 > .zero } ?? true, "stallThreshold is not positive")
        #if Metrics
        try metrics?.validate()
        #endif
    }
}
