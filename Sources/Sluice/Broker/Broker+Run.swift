internal import Logging
internal import Synchronization

/// Running and stopping.
extension Broker {
    /// Where the broker stands in its life.
    struct Life {
        enum State { case idle, starting, running, stopping, closed }

        var state = State.idle
        /// Nothing runs any more.
        var drained = Event()
        /// ``Broker/run()`` has returned.
        var ended = Event()
        /// Why the broker stopped by itself.
        var failure: SluiceError?
        /// The last ``Broker/run()`` has thrown, or has not returned yet.
        var hasThrown = false
        /// At all queues that have work: at the start, and when some may have been missed.
        var look = NeededLook(isNeeded: true)
        /// Who waits until nothing is left to do, or for the next time at which nothing may be.
        var restWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
        var lastRestWaiter = 0
        /// How often the engine has come to rest.
        var rests = 0
        /// How often it was told to stop.
        var stops = 0

        /// Whether it runs, and has found all queues that had work when it began.
        var hasLookedAround: Bool { state == .running && !look.isNeeded }
    }

    /// How long a commit that was not synced may stay so.
    static let syncInterval: Duration = .seconds(1)
    /// How long the clock is trusted when something is scheduled: a wall clock that is set forward is
    /// noticed.
    static let scheduleInterval: Duration = .seconds(60)

    /// Whether it runs, and has found all queues that had work when it began.
    package var hasLookedAround: Bool { life.withLock { $0.hasLookedAround } }

    /// Whether it runs and has done all that can be done at this time of its clock, but for attempts that
    /// are in their handlers.
    package func isAtRest(butFor held: Int) -> Bool {
        life.withLock { $0.hasLookedAround && scheduler.isAtRest(butFor: held) }
    }

    /// When time alone brings something next, whatever runs meanwhile; `nil`: nothing, as far as is known.
    package var nextDueTime: Duration? { scheduler.nextDueTime }

    /// When a queue that waits here, or the time of an attempt, is due next, by the clock's uptime.
    package var nextQueueTime: Duration? { scheduler.nextQueueTime }

    var isRunning: Bool { life.withLock { $0.state == .running || $0.state == .starting } }

    /// Runs the queues until ``stop(grace:)`` is called or the task is cancelled.
    ///
    /// Every queue with work resumes, whoever enqueued it and when (G8). Actions that ran when an earlier
    /// process died are tried first, for ``BrokerOptions/crashTrialLimit`` at most (G7).
    ///
    /// Other processes may run the queues of the file at the same time, and share the work: a queue is one
    /// process's while that has an action of it to run. What a process leaves that dies, the others run
    /// within some two seconds, where its death can be known, and else when its lease of 30 seconds is over.
    /// Give all of them the same routes: each runs what it has a route for.
    ///
    /// Cancelling the task cancels the running handlers at once; `stop` lets them finish. Either way it
    /// returns when all have returned. It can be called again after that.
    ///
    /// - Throws: ``SluiceError/Code/alreadyRunning``; ``SluiceError/Code/wrongRole``;
    ///   ``SluiceError/Code/fileReplaced`` and ``SluiceError/Code/newerSchema`` when that happens while it
    ///   runs; ``SluiceError/Code/closed``; an error of the file. Being stopped or cancelled is a normal
    ///   return.
    public func run() async throws {
        try checkRole()
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
            // The other processes need not wait for its lease to end.
            try? await store.stopRunning()
            throw failure
        }
        try await store.stopRunning()
        try await store.sync()
        life.withLock { $0.hasThrown = false }
    }

    /// Stops the broker and returns when no handler runs any more.
    ///
    /// No action is claimed from now on. Handlers that run may finish; those that have not within the grace
    /// period are cancelled, and their actions released without an attempt being spent. A handler that does
    /// not heed its cancellation holds this up, as nothing can end it; if the process ends meanwhile, its
    /// action is a suspect at the next start.
    ///
    /// A ``run()`` that is still to begin is not stopped by this: cancel its task.
    ///
    /// A handler must not wait for this itself: it would wait for its own return, and so it traps. It may
    /// begin a task for it: `Task { await attempt.broker.stop() }`. While the broker is suspended it returns
    /// only after ``resume()``, as what the handlers have done is to be written.
    ///
    /// - Parameter grace: `nil` is ``BrokerOptions/stopGrace``.
    public func stop(grace: Duration? = nil) async {
        ensureNotInHandler("stop(grace:)")
        await beginStop(grace: grace)()
    }

    /// Begins what ``stop(grace:)`` does: behind the call nothing more starts.
    ///
    /// - Returns: Waits for the end.
    @discardableResult
    package func beginStop(grace: Duration? = nil) -> @Sendable () async -> Void {
        if store.check.isForked { return {} }
        let ended = life.withLock { $0.state == .idle || $0.state == .closed ? nil : $0.ended }
        guard let ended else { return {} }
        requestStop(grace: grace ?? options.stopGrace)
        return { await ended.wait() }
    }

    /// Stops the broker and closes the file; every later call throws ``SluiceError/Code/closed``.
    ///
    /// A broker that is suspended opens its file once more, to write what waits. The routes go, and with
    /// them what their handlers hold. As for ``stop(grace:)``, a handler must not wait for this.
    public func close(grace: Duration? = nil) async {
        if store.check.isForked { return }
        ensureNotInHandler("close(grace:)")
        // Nothing new is to start meanwhile.
        if isSuspended && isRunning { requestStop(grace: grace ?? options.stopGrace) }
        await resumeToClose()
        await stop(grace: grace)
        life.withLock { $0.state = .closed }
        releaseRestWaiters()
        scheduler.silence()
        // Other processes that have the file open would keep the log.
        if options.erasesPayloads { _ = try? await store.eraseLog() }
        await store.close()
        observers.end()
        routes.drop()
    }
}

// MARK: - Steps

extension Broker {
    private func beginRunning() throws(SluiceError) -> (drained: Event, ended: Event) {
        try life.withLock { life throws(SluiceError) in
            switch life.state {
            case .idle: break
            case .closed: throw SluiceError(.closed, "the broker was closed")
            case .starting, .running, .stopping: throw SluiceError(.alreadyRunning, "the broker runs already")
            }
            life.state = .starting
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

    /// Lets the scheduler take wakes, unless a stop came first.
    private func open() -> Bool {
        runner.reset()
        return life.withLock { life in
            guard life.state == .starting else { return false }
            life.state = .running
            // What an earlier run has begun to look for does not count.
            life.look.need()
            scheduler.start()
            return true
        }
    }

    /// Sets the chores, and wakes every queue with work.
    func begin() async {
        scheduler.schedule(.admitScheduled, within: .zero)
        measure()
        // What was left in the log when the last process died.
        if options.erasesPayloads { scheduler.schedule(.eraseLog, within: .zero) }
        if let wakeUps {
            beginBesideOthers()
            if options.watchesLog { wakeUps.start() }
            scheduler.schedule(.lookForChanges, after: options.foreignChangeInterval)
        }
        do throws(SluiceError) {
            try await lookAround()
        } catch {
            // Any other error may pass: the broker runs, and goes on by itself when it has.
            if error.stopsBroker {
                fail(error)
            } else {
                scheduler.schedule(.lookAround, within: Self.syncInterval)
            }
        }
        watchForStalls()
    }

    func requestStop(grace: Duration) {
        life.withLock { life in
            if life.state == .starting || life.state == .running { life.state = .stopping }
            life.stops += 1
        }
        // First: what is cancelled and released would start again. The stop is last: it may end the run.
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

    /// Stops because the broker cannot go on.
    func fail(_ error: SluiceError) {
        options.logger.error("the broker cannot go on", metadata: ["error": "\(error)"])
        life.withLock { $0.failure = error }
        requestStop(grace: .zero)
    }

    func stopped() {
        life.withLock { $0.drained }.happen()
    }
}

// MARK: - Chores

extension Broker {
    /// Does what is due; called on the timer's task.
    func perform(_ chore: Chore) {
        switch chore {
        case .endGrace: runner.cancelAll(.stop)
        case .renewLease: attempt(chore, again: options.leases.renewal) { try await $0.renewLease() }
        case .watchRunners: watchRunners()
        case .endTrial: scheduler.endTrial()
        case .lookAround: lookAroundAgain()
        case .lookForChanges: lookForChanges()
        case .endHolds: endHolds()
        case .copyLog: attempt(chore, again: nil) { try await $0.copyPinnedLog() }
        case .eraseLog: eraseLogAgain()
        case .findStalled: findStalled()
        case .sync: attempt(chore, again: nil) { try await $0.sync() }
        case .admitScheduled: admitScheduled()
        case .sweep: sweep()
        case .measure: measure()
        case .liftUndecodable: attempt(chore, again: nil) { try await $0.liftUndecodable() }
        }
    }

    /// Does a chore and sets its next time.
    ///
    /// After an error of the file it is tried again within a second: it may pass, and a lease must not lapse
    /// for want of a renewal.
    func attempt(
        _ chore: Chore,
        again interval: Duration?,
        _ body: @escaping @Sendable (Store) async throws -> Void
    ) {
        scheduler.choreBegan()
        Task(executorPreference: options.engine.executor) { [weak self, store, options, scheduler] in
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
            // Handlers may take longer to end than the lease lasts.
            case .renewLease: life.withLock { $0.state != .idle }
            case .lookForChanges: isRunning || isWatched
            default: isRunning
            }
        if isDue { scheduler.schedule(chore, within: interval) }
    }

    /// Ends the holds whose time is over, and comes back when the next one's may be.
    private func endHolds() {
        attempt(.endHolds, again: nil) { [weak self] store in
            guard let next = try await store.endHolds(), let self, self.isRunning else { return }
            let delay = min(max(next - options.clock.now, .zero), Self.scheduleInterval)
            scheduler.schedule(.endHolds, within: delay)
        }
    }

    private func eraseLogAgain() {
        attempt(.eraseLog, again: nil) { [weak self] store in
            guard try await !store.eraseLog(), let self, isRunning else { return }
            // Somebody reads or writes: it is tried again until it succeeds.
            scheduler.schedule(.eraseLog, within: options.logErasureInterval)
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
        attempt(.measure, again: observer.interval) { try await observer.measure($0) }
    }

    private func admitScheduled() {
        // The time is set again before the first look, so that a broker with something scheduled is never
        // idle.
        let mark = options.clock.uptime + Self.scheduleInterval
        scheduler.schedule(.admitScheduled, at: mark)
        attempt(.admitScheduled, again: nil) { [weak self, scheduler] store in
            defer { scheduler.endAdmission() }
            let next = try await store.admitDue()
            guard let self else { return }
            scheduler.keepPlaces(next.unplaced)
            if let time = next.sweep { scheduleSweep(at: time) }
            let delay = next.scheduled.map { max($0 - options.clock.now, .zero) }
            // Not instead of a look that was asked for meanwhile: this one may have come too early for it.
            scheduler.admitNext(after: delay, noLaterThan: Self.scheduleInterval, insteadOf: mark)
        }
    }

    /// Tries again what could not be decoded before a route or an upgrader was added.
    func codeChanged() {
        reader.codeChanged()
        if isRunning { perform(.liftUndecodable) }
    }
}
