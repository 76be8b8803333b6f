internal import Logging
internal import Synchronization

/// Runs the queues of a file, or of memory: a store, a scheduler, and the watch for commits of others.
package final class FileEngine: Engine {
    package let store: Store
    let scheduler: Scheduler
    package let runner: AttemptRunner
    let book: RouteBook
    let options: BrokerOptions
    /// Notifies of commits by others; `nil` in memory.
    let wakeUps: WakeUps?
    package let observers: Observers
    let stalls = StallWatch()
    let oversights = Oversights()
    let life = Mutex(Life())
    private let wakes = Atomic(0)
    let suspension: Suspension

    init(_ location: DatabaseFile.Location, _ parts: EngineParts) async throws(SluiceError) {
        let options = parts.options
        let reference = Reference()
        // Off the caller's executor: opening reads and may write the file.
        let opening = await options.engine.detached {
            Result { () throws(SluiceError) in
                try Store(location, options: options) { reference.engine?.committed($0) }
            }
        }
        store = try opening.get()
        self.options = options
        suspension = Suspension(options.engine)
        observers = Observers(store.interest)
        book = parts.book
        let (routes, reader, drafter) = (book.routes, book.reader, book.drafter)
        scheduler = Scheduler(store: store, routes: routes, options: options, broker: parts.broker)
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

    /// The engine, for its store, which is made before it.
    private final class Reference: Sendable {
        private struct WeakReference { weak var engine: FileEngine? }

        private let reference = Mutex(WeakReference())
        var engine: FileEngine? { reference.withLock { $0.engine } }
        func connect(_ engine: FileEngine) { reference.withLock { $0.engine = engine } }
    }

    package let place = "a file"
    /// Whether there is a file, which others can open too; not for queues in memory.
    var hasFile: Bool { wakeUps != nil || store.isReadOnly }
    var routes: Routes { book.routes }
    var reader: PayloadReader { book.reader }
    var drafter: Drafter { book.drafter }
    /// The number of commits that reported queues.
    package var wakeCount: Int { wakes.load(ordering: .acquiring) }

    // Breaks the cycle of scheduler and runner. No handler runs: `run()` holds the broker until then.
    deinit { scheduler.disconnect() }

    /// Distributes the report of a commit; called on the committing thread.
    private func committed(_ report: CommitReport) {
        runner.cancelRuns(endedBy: report.foreignChanges)
        if !report.queues.isEmpty { wakes.add(1, ordering: .releasing) }
        // Before its actions are claimed.
        if report.runnerChanges.contains(.look) { scheduler.noteDeath(report.deaths) }
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

extension Broker {
    /// The engine of a broker that is known to have a file, or its queues in memory.
    package var fileEngine: FileEngine {
        guard let engine = engine as? FileEngine else { preconditionFailure("the broker has no file") }
        return engine
    }

    /// Returns the engine of a file; throws ``SluiceError/Code/unsupported`` for a call that needs one.
    package func fileEngine(for call: String) throws(SluiceError) -> FileEngine {
        if let engine = engine as? FileEngine { return engine }
        throw SluiceError(.unsupported, "\(call) needs a broker on a file")
    }
}
