internal import Logging
internal import Synchronization

extension Broker {
    struct Life {
        enum State { case idle, starting, running, stopping, closed }

        var state = State.idle
        /// No handler runs any more.
        var drained = Event()
        /// ``Broker/run()`` has returned.
        var ended = Event()
        /// Why the broker stopped by itself.
        var failure: SluiceError?
        /// The last ``Broker/run()`` has thrown, or has not returned yet.
        var hasThrown = false
        /// The pending scans of all queues with work: at the start, and when some may have been missed.
        var look = NeededLook(isNeeded: true)
        /// Callers of ``Broker/waitUntilIdle()`` that wait for a rest of the engine.
        var restWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var lastRestWaiter = 0
        /// How often the engine has come to rest.
        var rests = 0
        /// The last retry of undecodable actions.
        var lift: Task<Void, Never>?
        /// How often a stop was requested.
        var stops = 0
        /// Whether somebody has waited for the first run, which is warned of once.
        var expectsRun = false
        /// Whether the broker runs and has found all queues that had work at its start.
        var hasLookedAround: Bool { state == .running && !look.isNeeded }
    }

    /// The longest time that a commit may remain unsynced.
    static let syncInterval: Duration = .seconds(1)
    package var hasLookedAround: Bool { life.withLock { $0.hasLookedAround } }

    /// Whether all is done that can be done at this time, except by attempts held in their handlers.
    package func isAtRest(butFor held: Int) -> Bool {
        life.withLock { $0.hasLookedAround && scheduler.isAtRest(butFor: held) }
    }

    /// When something is due next by time alone, whatever runs.
    package var nextDueTime: Duration? { scheduler.nextDueTime }
    /// When a waiting queue or the timeout of an attempt is due next, by the clock's uptime.
    package var nextQueueTime: Duration? { scheduler.nextQueueTime }
    var isRunning: Bool { life.withLock { $0.state == .running || $0.state == .starting } }

    /// Runs the queues until ``stop(grace:)`` is called or the task is cancelled.
    ///
    /// Every queue with work resumes, whoever enqueued it and when (G8). Actions that ran when an earlier
    /// process died are tried first, for ``BrokerOptions/crashTrialLimit`` at most (G7). Cancelling the task
    /// cancels running handlers at once. The call returns when all have returned, and can be repeated.
    ///
    /// Other processes may run the file's queues at the same time, with the same routes. If one dies, the
    /// others run its actions within about two seconds, or if they cannot detect that, after its lease of 30
    /// seconds.
    ///
    /// - Throws: ``SluiceError`` `alreadyRunning`, `wrongRole`, `closed`, and, also later, `fileReplaced` and
    ///   `newerSchema`; an error of the file. Being stopped or cancelled is a normal return.
    public func run() async throws {
        try store.check.ensure()
        guard options.file.role == .run else {
            let role = "the broker was opened with the role \(options.file.role)"
            throw SluiceError(.wrongRole, "\(role) and runs none: open it with the role run")
        }
        let (drained, ended) = try beginRunning()
        defer { endRunning(ended) }
        try await store.startRunning()
        options.logger.info("the broker runs")
        defer { options.logger.info("the broker has stopped") }
        await withTaskCancellationHandler {
            await withGracefulStop {
                guard open() else { return }
                await begin()
                await drained.wait()
            } onStop: { [self] in
                requestStop(grace: options.stopGrace)
            }
        } onCancel: {
            requestStop(grace: .zero)
        }
        scheduler.silence()
        await wakeUps?.stop()
        let failure = life.withLock { $0.failure }
        if let failure {
            // So that the other processes need not wait for the end of its lease.
            try? await store.stopRunning()
            throw failure
        }
        try await store.stopRunning()
        try await store.sync()
        life.withLock { $0.hasThrown = false }
    }

    /// Stops the broker and waits until no handler runs.
    ///
    /// No action is claimed after this call. Running handlers may finish within the grace period, by default
    /// ``BrokerOptions/stopGrace``; then they are cancelled, and their actions released without spending an
    /// attempt. A handler that ignores its cancellation delays the return. If the process ends first, its
    /// action is a suspect at the next start.
    ///
    /// A ``run()`` that has not begun is not stopped: cancel its task. While the broker is suspended, the
    /// call returns only after ``resume()``, because outcomes of handlers must be written. In a handler the
    /// call would wait for its own return, so it traps; there write `Task { await attempt.broker.stop() }`.
    public func stop(grace: Duration? = nil) async {
        runner.ensureNotInHandler("stop(grace:)")
        await beginStop(grace: grace)()
    }

    /// Begins ``stop(grace:)``: no action starts any more; returns a function that waits for the end.
    @discardableResult
    package func beginStop(grace: Duration? = nil) -> @Sendable () async -> Void {
        if store.check.isForked { return {} }
        let ended = life.withLock { $0.state == .idle || $0.state == .closed ? nil : $0.ended }
        guard let ended else { return {} }
        requestStop(grace: grace ?? options.stopGrace)
        return { await ended.wait() }
    }

    /// Stops the broker and closes the file; later calls throw ``SluiceError/Code/closed``.
    ///
    /// A suspended broker opens its file once more to write pending outcomes. Routes and handlers are
    /// released. A handler must not wait for this call: see ``stop(grace:)``.
    public func close(grace: Duration? = nil) async {
        if store.check.isForked { return }
        runner.ensureNotInHandler("close(grace:)")
        // So that nothing starts when the file is open again.
        if isSuspended && isRunning { requestStop(grace: grace ?? options.stopGrace) }
        await resumeToClose()
        await stop(grace: grace)
        life.withLock { $0.state = .closed }
        releaseRestWaiters()
        scheduler.silence()
        // If other processes have the file open, closing it does not delete the WAL.
        if options.file.erasesPayloads { _ = try? await store.truncateWAL() }
        await store.close()
        observers.end()
        book.close()
    }

    private func beginRunning() throws(SluiceError) -> (drained: Event, ended: Event) {
        try life.withLock { life throws(SluiceError) in
            switch life.state {
            case .idle: break
            case .closed: throw SluiceError(.closed, "the broker was closed")
            case .starting, .running, .stopping: throw SluiceError(.alreadyRunning, "the broker runs already")
            }
            life.state = .starting
            scheduler.reset()
            // The reset has dropped the look for a runner.
            life.expectsRun = false
            life.hasThrown = true
            life.drained = Event()
            life.ended = Event()
            life.failure = nil
            return (life.drained, life.ended)
        }
    }

    private func endRunning(_ ended: Event) {
        life.withLock { $0.state = .idle }
        releaseRestWaiters()
        observers.poke(nil)
        lookAtOthers()
        ended.happen()
    }

    /// Lets the scheduler accept wake-ups, unless a stop was requested first.
    private func open() -> Bool {
        runner.reset()
        return life.withLock { life in
            guard life.state == .starting else { return false }
            life.state = .running
            // Scans of an earlier run do not count.
            life.look.need()
            scheduler.start()
            return true
        }
    }

    func begin() async {
        scheduler.schedule(.admitScheduled, within: .zero)
        measure()
        // The last process may have died and left payloads in the WAL.
        if options.file.erasesPayloads { scheduler.schedule(.truncateWAL, within: .zero) }
        if let wakeUps {
            // If it was already taken for dead, it renews its lease at once.
            let renewal: Duration = store.runners.epoch == nil ? .zero : options.file.leases.renewal
            scheduler.schedule(.renewLease, after: renewal)
            if store.runners.hasOthers { scheduler.schedule(.watchRunners, after: options.file.leases.watch) }
            if options.file.watchesWAL { wakeUps.start() }
            scheduler.schedule(.lookForChanges, after: options.file.foreignChangeInterval)
        }
        do throws(SluiceError) {
            try await pollOthers()
        } catch {
            // Any other error may pass: the broker runs on and tries again.
            if error.stopsBroker {
                fail(error)
            } else {
                scheduler.schedule(.pollOthers, within: Self.syncInterval)
            }
        }
        watchForStalls()
    }

    func requestStop(grace: Duration) {
        life.withLock { life in
            if life.state == .starting || life.state == .running { life.state = .stopping }
            life.stops += 1
        }
        // First, or released actions would start again; `stop()` is last, as it may end the run.
        scheduler.close()
        Task(executorPreference: options.engine.executor) { await self.leaveQueuesToOthers() }
        if grace > .zero {
            scheduler.schedule(.endGrace, within: grace)
        } else {
            runner.cancelAll(.stop)
        }
        scheduler.stop()
        releaseRestWaiters()
    }

    func fail(_ error: SluiceError) {
        options.logger.error("the broker cannot continue", metadata: ["error": "\(error)"])
        life.withLock { $0.failure = error }
        requestStop(grace: .zero)
    }

    func stopped() { life.withLock { $0.drained }.happen() }

    func perform(_ chore: Chore) {
        switch chore {
        case .endGrace: runner.cancelAll(.stop)
        case .renewLease: attempt(chore, again: options.file.leases.renewal) { try await $0.renewLease() }
        case .watchRunners: watchRunners()
        case .endTrial: scheduler.endTrial()
        case .pollOthers: lookAroundAgain()
        case .lookForChanges: lookForChanges()
        case .endControls: attempt(chore, again: nil) { try await $0.endControls() }
        case .checkpointWAL: attempt(chore, again: nil) { try await $0.checkpointPinnedWAL() }
        case .truncateWAL: truncateWALAgain()
        case .findStalled: findStalled()
        case .reportOversights: reportOversights()
        case .findRunner: findRunner()
        case .sync: attempt(chore, again: nil) { try await $0.sync() }
        case .admitScheduled: admitScheduled()
        case .sweep: sweep()
        case .measure: measure()
        case .liftUndecodable:
            let lift = attempt(chore, again: nil) { try await $0.liftUndecodable() }
            life.withLock { $0.lift = lift }
        }
    }

    /// Does a chore and schedules its next time, after an error within a second, since a lease cannot wait.
    @discardableResult
    func attempt(
        _ chore: Chore,
        again interval: Duration?,
        _ body: @escaping @Sendable (Store) async throws -> Void
    ) -> Task<Void, Never> {
        scheduler.choreBegan()
        return Task(executorPreference: options.engine.executor) { [weak self, store, options, scheduler] in
            defer { scheduler.choreEnded() }
            do {
                try await body(store)
                if let interval { self?.repeatChore(chore, after: interval) }
            } catch let error as SluiceError where error.stopsBroker {
                self?.fail(error)
            } catch {
                options.logger.debug("a chore failed", metadata: ["chore": "\(chore)", "error": "\(error)"])
                self?.repeatChore(chore, after: min(interval ?? Self.syncInterval, Self.syncInterval))
            }
        }
    }

    private func repeatChore(_ chore: Chore, after interval: Duration) {
        let isDue =
            switch chore {
            // Handlers may run longer than the lease lasts.
            case .renewLease: life.withLock { $0.state != .idle }
            case .lookForChanges: isRunning || isWatched
            default: isRunning
            }
        if isDue { scheduler.schedule(chore, within: interval) }
    }

    private func sweep() {
        attempt(.sweep, again: nil) { [weak self] store in
            guard let self else { return }
            if let next = try await store.sweep(routes.admission) { scheduleSweep(at: next) }
            scheduler.hasten(.admitScheduled)
        }
    }

    func scheduleSweep(at time: Timestamp) { schedule(.sweep, at: time) }

    /// Schedules a chore at a time, or earlier, as the wall clock may be set forward.
    private func schedule(_ chore: Chore, at time: Timestamp) {
        let delay = min(max(time - options.clock.now, .zero), Scheduler.scheduleInterval)
        if isRunning { scheduler.schedule(chore, within: delay) }
    }

    /// A hold ends or a closed gate opens at a time.
    func expectEnd(at time: Timestamp) {
        let delay = max(time - options.clock.now, .zero)
        if isRunning { scheduler.expectEnd(at: options.clock.uptime + delay) }
    }

    private func truncateWALAgain() {
        attempt(.truncateWAL, again: nil) { [weak self] store in
            guard try await !store.truncateWAL(), let self, isRunning else { return }
            // A reader or writer is in the way: try again until it succeeds.
            scheduler.schedule(.truncateWAL, within: options.file.walTruncationInterval)
        }
    }

    private func findStalled() {
        guard let threshold = options.stallThreshold, store.interest.isAny else { return stalls.forget() }
        attempt(.findStalled, again: threshold / Self.looksPerThreshold) { [weak self] _ in
            try await self?.findStalled(threshold)
        }
    }

    private func measure() {
        guard let observer = runner.observer else { return }
        attempt(.measure, again: observer.interval) { store in
            observer.record(try await store.measure(limit: observer.countedActions))
        }
    }

    private func admitScheduled() {
        // Scheduled again before the first read, so that a broker with scheduled actions is never idle.
        let mark = options.clock.uptime + Scheduler.scheduleInterval
        scheduler.schedule(.admitScheduled, at: mark)
        attempt(.admitScheduled, again: nil) { [weak self, scheduler] store in
            defer { scheduler.endAdmission() }
            let next = try await store.admitDue()
            guard let self else { return }
            scheduler.keepPlaces(next.unplaced)
            if let time = next.sweep { scheduleSweep(at: time) }
            let delay = next.scheduled.map { max($0 - options.clock.now, .zero) }
            // Replaces no check that was requested in the meantime: this one may have been too early.
            scheduler.admitNext(after: delay, noLaterThan: Scheduler.scheduleInterval, insteadOf: mark)
        }
    }

    func codeChanged() {
        reader.codeChanged()
        if isRunning { perform(.liftUndecodable) }
    }
}
