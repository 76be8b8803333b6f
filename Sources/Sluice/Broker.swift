internal import Logging
internal import Synchronization

/// Opens a file of queues, routes them to handlers and runs their heads.
///
/// ```swift
/// let broker = try await Broker(file: "outbox.sqlite")
/// try broker.route("conversation/*", SendMessage.self) { message, attempt in
///     try await server.send(message.text, transaction: attempt.idempotencyKey)
///     return .success
/// }
/// try await broker.enqueue(SendMessage(…))   // durable when it returns
/// try await broker.run()                     // until stopped
/// ```
///
/// Enqueuing works from opening to closing, also inside handlers. A file has one broker in a process; share
/// it. If released without ``close(grace:)``, it closes its file when no handler runs, asynchronously.
public final class Broker: Sendable {
    package let store: Store
    let scheduler: Scheduler
    let runner: AttemptRunner
    let book: RouteBook
    package let options: BrokerOptions
    /// Notifies of commits by others; `nil` in memory.
    let wakeUps: WakeUps?
    let observers: Observers
    let stalls = StallWatch()
    let oversights = Oversights()
    let life = Mutex(Life())
    private let wakes = Atomic(0)
    let suspension: Suspension

    /// Opens a file of queues; a missing file is created, readable by its owner only.
    ///
    /// - Parameters:
    ///   - path: The database, in a writable directory: SQLite keeps two more files beside it.
    ///   - options: What differs from the defaults.
    /// - Throws: ``SluiceError/Code/cannotOpen``, ``SluiceError/Code/alreadyOpen`` and others, with the file
    ///   unchanged.
    public convenience init(
        file path: String,
        options: BrokerOptions = BrokerOptions()
    ) async throws(SluiceError) { try await self.init(.file(path), options) }

    /// Opens queues in memory, with the same order and rules.
    ///
    /// Nothing survives the process (G1, G8), and no other process or connection can take part.
    public convenience init(inMemory options: BrokerOptions) async throws(SluiceError) {
        try await self.init(.memory, options)
    }

    /// Opens queues in memory, as ``init(inMemory:)``, with default options if none are given.
    public static func inMemory(
        _ options: BrokerOptions = BrokerOptions()
    ) async throws(SluiceError) -> Broker { try await Broker(inMemory: options) }

    private init(_ location: DatabaseFile.Location, _ options: BrokerOptions) async throws(SluiceError) {
        let reference = BrokerReference()
        // Off the caller's executor: opening reads and may write the file.
        let opening = await Task.detached(executorPreference: options.engine.executor) {
            Result { () throws(SluiceError) in
                try Store(location, options: options) { reference.broker?.committed($0) }
            }
        }.value
        store = try opening.get()
        self.options = options
        suspension = Suspension(options.engine)
        observers = Observers(store.interest)
        book = RouteBook(options)
        let (routes, reader, drafter) = (book.routes, book.reader, book.drafter)
        scheduler = Scheduler(store: store, routes: routes, options: options, broker: reference)
        runner = AttemptRunner(source: scheduler, reader: reader, drafter: drafter, options: options)
        wakeUps = WakeUps(of: store)
        scheduler.connect(
            Scheduler.Delegate(
                announce: { [runner] action in runner.announce(action) },
                start: { [runner] action, route in runner.start(action, route) },
                timeOut: { [runner] claim in runner.timeOut(claim) },
                perform: { [weak self] chore in self?.perform(chore) },
                waits: { [weak self] queue in self?.observers.poke(queue) },
                meets: { [weak self] gate in self?.noteClosedGate(gate) },
                lacksRoute: { [weak self] in self?.noteLackOfRoute() },
                rests: { [weak self] in self?.rests() },
                stopped: { [weak self] in self?.stopped() }
            )
        )
        reference.connect(self)
        store.check.onFailure { [weak self] in self?.fileFailed($0) }
    }

    var routes: Routes { book.routes }
    var coder: PayloadCoder { book.coder }
    var reader: PayloadReader { book.reader }
    var drafter: Drafter { book.drafter }
    /// The number of commits that reported queues.
    package var wakeCount: Int { wakes.load(ordering: .acquiring) }
    /// What the broker has done since it was opened.
    public var statistics: Statistics { runner.statistics }

    // Breaks the cycle of scheduler and runner. No handler runs: `run()` holds the broker until then.
    deinit { scheduler.disconnect() }

    /// Distributes the report of a commit; called on the committing thread.
    private func committed(_ report: CommitReport) {
        runner.cancelRuns(endedBy: report.foreignChanges)
        if !report.queues.isEmpty { wakes.add(1, ordering: .releasing) }
        scheduler.wake(report.queues)
        if report.changesHolds { scheduler.holdsChanged() }
        if !report.openings.isEmpty { scheduler.gatesOpened(report.openings) }
        for gate in report.deferrals { noteClosedGate(gate) }
        if let time = report.endsAt { expectEnd(at: time) }
        if !report.runnerChanges.isEmpty { runnersChanged(report.runnerChanges) }
        if (!report.foreignChanges.isEmpty || report.hasForeignTimes) && isRunning {
            scheduler.schedule(.admitScheduled, within: .zero)
        }
        if let time = report.dueAt, isRunning {
            let delay = min(max(time - options.clock.now, .zero), Scheduler.scheduleInterval)
            scheduler.schedule(.admitScheduled, within: delay)
        }
        if options.file.erasesPayloads && isRunning {
            scheduler.schedule(.truncateWAL, within: options.file.walTruncationInterval)
        }
        if report.awaitsSync { scheduler.schedule(.sync, within: Self.syncInterval) }
        // Last, so that an observer that asks for a status sees the scheduler's new state.
        if !report.events.isEmpty { log(report.events) }
        guard report.isObserved else {
            if report.missesObservers { observers.poke(nil) }
            return
        }
        if !report.events.isEmpty { stalls.receive(report.events) }
        observers.publish(report.events, report.contents)
    }
}
