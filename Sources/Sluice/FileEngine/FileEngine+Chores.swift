internal import Logging
internal import Synchronization

/// What is done beside the queues, now and then.
extension FileEngine {
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
        case .showRoutes:
            attempt(chore, again: nil) { [routes] in try await $0.showRoutes { routes.current.shown } }
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

    func measure() {
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

    package func codeChanged() {
        reader.codeChanged()
        if isRunning { perform(.liftUndecodable) }
    }
}
