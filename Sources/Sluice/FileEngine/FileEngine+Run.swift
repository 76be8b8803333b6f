internal import Logging
internal import Synchronization

extension FileEngine {
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
        /// Callers of `waitUntilIdle` that wait for a rest of the engine.
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

    package func run() async throws {
        try store.check.ensure()
        guard options.file.role == .run else {
            let role = "the broker was opened with the role \(options.file.role)"
            throw SluiceError(.wrongRole, "\(role) and runs none: open it with the role run")
        }
        let (drained, ended) = try beginRunning()
        defer { endRunning(ended) }
        try await store.startRunning { [routes] in routes.current.shown }
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

    package func beginStop(grace: Duration) -> @Sendable () async -> Void {
        if store.check.isForked { return {} }
        let ended = life.withLock { $0.state == .idle || $0.state == .closed ? nil : $0.ended }
        guard let ended else { return {} }
        requestStop(grace: grace)
        return { await ended.wait() }
    }

    package func close(grace: Duration) async {
        if store.check.isForked { return }
        // So that nothing starts when the file is open again.
        if suspension.isOn && isRunning { requestStop(grace: grace) }
        await resumeToClose()
        await beginStop(grace: grace)()
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
        let isFirst = life.withLock { life in
            defer { life.failure = life.failure ?? error }
            return life.failure == nil
        }
        // Several parts of the engine can meet the same error.
        guard isFirst else { return }
        options.logger.error(LogMessages.endOfRun, metadata: ["error": "\(error)"])
        requestStop(grace: .zero)
    }

    func stopped() { life.withLock { $0.drained }.happen() }
}
