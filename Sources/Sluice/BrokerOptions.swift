public import Dispatch
public import Logging

/// How a broker runs its queues, and how it opens its file.
public struct BrokerOptions: Sendable {
    /// How the broker opens and uses its file; most of it has no meaning for queues in memory.
    public var file = FileOptions()
    /// The most handlers that run at the same time, over all queues; 1 to 10,000.
    ///
    /// The default of 64 suits handlers that wait for a network. For handlers that compute, use the number of
    /// cores.
    public var concurrency = 64
    /// The longest total time that other work waits for the trial of suspects: actions that ran when a
    /// process died.
    ///
    /// After a start, or the death of another process on the file, the suspects start first, in halves, with
    /// nothing beside them. This continues until none of them can be an action that kills the process soon
    /// after its start. When the time is over, the remaining suspects start beside other actions. Actions
    /// that end quickly are tried in the time that they take. With zero there is no trial, and an action that
    /// kills its process is never found.
    ///
    /// Default: five seconds.
    public var crashTrialLimit: Duration = .seconds(5)
    /// The most bytes that the JSON text of a payload may have; 1 to 500,000,000.
    ///
    /// Default: 16 MiB. Store larger data in files, and their names in the payload.
    public var maximumPayloadByteCount = 16 * 1_024 * 1_024
    /// How dates in payloads are written; default: text in ISO 8601.
    ///
    /// Both forms are read.
    public var payloadDates = PayloadDates.iso8601
    /// Seals payloads before they are stored, and opens them for handlers; `nil`, the default, stores plain
    /// payloads.
    ///
    /// Everything else is stored in plain text: queue, sort key, kind, tag, keys and error texts.
    /// ``maximumPayloadByteCount`` applies to the plain payload; a sealed one is about a third longer. See
    /// <doc:Security>.
    public var payloadSealing: (any PayloadSealing)?
    /// Whether payloads that are not sealed are accepted when ``payloadSealing`` is set.
    ///
    /// Such payloads were stored before, or inserted by a shell. Set it to `false` when none are left: a
    /// payload written without the key then never reaches a handler, and waits as undecodable. Default:
    /// `true`.
    public var acceptsUnsealedPayloads = true
    /// Waits until nothing is left to do, in tests.
    package var restWaiters: RestWaiters?
    /// How long handlers may continue when the broker stops, before they are cancelled.
    ///
    /// Default: 10 seconds.
    public var stopGrace: Duration = .seconds(10)
    /// How long a queue with work may not move before ``QueueEvent/Kind/stalled`` is sent; `nil` is never.
    ///
    /// It requires a running broker with an observer. A running action, or one scheduled for later, does not
    /// count as a stall; a wait for a retry does. The event is sent once until the queue moves, at most a
    /// fifth of this late, or later with more than 2,000 queues with work. At most 10,000 stalled queues are
    /// remembered; others are reported when some of these have moved.
    ///
    /// Default: 5 minutes.
    public var stallThreshold: Duration? = .seconds(300)
    /// The engine's source of time.
    public var clock: any BrokerClock = SystemClock()
    /// The source of jitter for retry policies: each delay starts with one number of this generator.
    public var randomness: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    /// Where handlers run; `nil` is Swift's global executor.
    ///
    /// Use a ``DispatchExecutor`` to run them on a dispatch queue.
    public var handlerExecutor: (any TaskExecutor)?
    /// How long the handlers' executor may run nothing, while handlers run, before this is reported; `nil` is
    /// never.
    ///
    /// The report is a warning of the ``logger`` and ``Because/handlersBlocked(since:)``. The cause is
    /// handlers that block their threads, such as with a semaphore, `sleep()` or a synchronous request.
    /// Swift's own executor has a thread for each core: as many blocking handlers halt all queues and the
    /// rest of the program. Give such handlers a ``handlerExecutor`` of their own.
    ///
    /// The check costs an empty job per interval while handlers run. The report follows between once and
    /// twice this time after the last job has run.
    ///
    /// Default: 5 seconds.
    public var blockedHandlerThreshold: Duration? = .seconds(5)
    /// The target of the engine's queues, also used for its timer and chores.
    ///
    /// `nil`, the default, is the system's queues and Swift's global executor. With a queue, commits run
    /// there too, with its quality of service; without one, a lone caller commits on its own thread, which
    /// saves a change of threads. On a serial queue, reads and copies wait for writes, and for another
    /// connection's lock. Do not block it: do not call ``Broker/enqueueBlocking(_:_:notBefore:)`` on it.
    public var engineQueue: DispatchQueue? { didSet { engine = EngineContext(engineQueue) } }
    private(set) var engine = EngineContext(nil)
    /// Code around every enqueue and every attempt, the outermost first; none by default.
    public var middleware: [any Middleware] = []

    #if Metrics
    /// The reports to swift-metrics; `nil`, the default, reports nothing.
    ///
    /// With the trait `Metrics`.
    public var metrics: MetricsOptions?
    #endif

    /// Receives one message for each change of state, with structured keys and never a payload (G13).
    ///
    /// - `warning`: a person must act: a parked queue, a dead letter, a missing route, a long write lock, a
    ///   refused write, a process taken for dead, blocked handlers.
    /// - `notice`: results of a request. `info`: start and end of ``Broker/run()``. `debug`: each attempt.
    ///
    /// The logger's level is read when the file is opened. The default writes nothing.
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
        try file.validate()
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
