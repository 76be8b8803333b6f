internal import Logging
internal import Synchronization

extension FileEngine {
    package func waitUntilIdle(_ form: QueuePattern.Form) async {
        if store.check.isForked { return }
        let (waiter, stops) = (newWaiter(), life.withLock { $0.stops })
        let (watch, start) = (IdleWatch(), options.clock.uptime)
        let unsubscribe = observers.add(subscriber(watch, waiter))
        defer { unsubscribe() }
        var hasTold = false
        while await waitForRest(waiter, stops, unless: { _ in watch.isOver }) {
            watch.beginReading()
            await life.withLock { $0.lift }?.value
            do {
                if wakeUps != nil { try await store.readForeignChanges() }
                let left = try await workLeft(in: form)
                guard let wait = IdleWait(left, waited: options.clock.uptime - start) else { return }
                if options.file.role == .run { expectRun() }
                if !hasTold, left.next != .now { hasTold = wait.noteIfLong(options.logger) }
                watch.endReading(left.queues ?? [], areSomeElsewhere: left.elsewhereCount > 0)
            } catch {
                guard await pauseBeforeReading(error) else { return }
                watch.endReading([], areSomeElsewhere: false)
            }
        }
    }

    /// Has a watch follow the claims of this broker and the commits of others.
    private func subscriber(_ watch: IdleWatch, _ waiter: Int) -> Observers.Subscriber {
        let resume: @Sendable () -> Void = { [weak self] in
            self?.life.withLock { $0.restWaiters.removeValue(forKey: waiter) }?.resume(returning: true)
        }
        return Observers.Subscriber(
            othersCommitted: { if watch.othersCommitted() { resume() } },
            poke: { [scheduler] queue in
                if let queue, !scheduler.rests(queue) { return }
                if watch.rested(queue) { resume() }
            },
            end: {}
        )
    }

    /// Waits before the file is read again; returns `false` if the task is cancelled.
    private func pauseBeforeReading(_ error: SluiceError) async -> Bool {
        // The error may pass, like the lock of another connection; until then nothing is known.
        options.logger.debug("polling the file failed", metadata: ["error": "\(error)"])
        let time = options.clock.uptime + Self.syncInterval
        do { try await options.clock.sleep(untilUptime: time) } catch { return false }
        return true
    }

    /// The store has all of it that the scheduler does not know, so neither patterns nor a limit are needed.
    package func waitUntilIdle(
        _ patterns: [QueuePattern],
        within limit: Duration?,
        telling tell: (IdleWait) -> Bool
    ) async {
        if store.check.isForked { return }
        if options.file.role == .run { expectRun() }
        let stops = life.withLock { $0.stops }
        let (waiter, start) = (newWaiter(), options.clock.uptime)
        var seen: Int?
        var hasTold = false
        while await waitForRest(
            waiter,
            stops,
            unless: { [seen] in $0.hasLookedAround && scheduler.isResting && $0.rests != seen }
        ) {
            // From here on, any change ends in another rest.
            seen = life.withLock { $0.rests }
            await life.withLock { $0.lift }?.value
            do {
                // When this returns, the commit's report has woken the queues that it found.
                if wakeUps != nil, !mutant("look before idle") { try await store.readForeignChanges() }
                if scheduler.isIdle { return }
                guard scheduler.isResting else { continue }
                let left = try await workLeft()
                guard let wait = IdleWait(left, waited: options.clock.uptime - start) else { return }
                // Runnable work is about to start, and its end is another rest.
                if left.next == .now || hasTold { continue }
                hasTold = tell(wait)
            } catch {
                seen = nil
                guard await pauseBeforeReading(error) else { return }
            }
        }
    }

    package func settled(_ action: ActionID) async throws -> ActionEnd {
        if let own = runner.ownAction { try await ensureIsNotBehind(own, action) }
        return try await store.settled(action) { [weak self] in
            self?.lookAtOthers()
            self?.expectRun()
        }
    }

    private func ensureIsNotBehind(_ own: ClaimedAction, _ action: ActionID) async throws(SluiceError) {
        var isBehind = action == own.receipt.action
        if !isBehind, routes.admission.queues.rules(of: own.queue).discipline.slots == 1 {
            isBehind = try await store.isWaiting(action, in: own.receipt.queue)
        }
        if isBehind { throw own.waitsForItself(action) }
    }

    private func newWaiter() -> Int {
        life.withLock { life in
            life.lastRestWaiter += 1
            return life.lastRestWaiter
        }
    }

    /// Waits until the waiter is resumed, unless that has come already; returns `false` when it is pointless.
    private func waitForRest(
        _ waiter: Int,
        _ stops: Int,
        unless hasCome: (Life) -> Bool
    ) async -> Bool {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let rests: Bool? = life.withLock { life in
                    if Task.isCancelled || life.stops != stops { return false }
                    if life.state == .closed || life.state == .stopping { return false }
                    if life.state == .idle && (life.hasThrown || options.file.role != .run) { return false }
                    if hasCome(life) { return true }
                    life.restWaiters[waiter] = continuation
                    return nil
                }
                if let rests { continuation.resume(returning: rests) }
            }
        } onCancel: {
            // The task is already cancelled, so a waiter that is not registered yet will not wait.
            life.withLock { $0.restWaiters.removeValue(forKey: waiter) }?.resume(returning: false)
        }
    }

    /// Resumes the waiters; called when the engine has nothing to do at the moment.
    func rests() {
        let waiters = life.withLock { life -> [CheckedContinuation<Bool, Never>] in
            life.rests += 1
            guard !life.restWaiters.isEmpty, life.hasLookedAround, scheduler.isResting else { return [] }
            return life.takeRestWaiters()
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Resumes the waiters, because waiting has become pointless.
    func releaseRestWaiters() {
        let waiters = life.withLock { $0.takeRestWaiters() }
        for waiter in waiters { waiter.resume(returning: false) }
    }
}

extension FileEngine.Life {
    fileprivate mutating func takeRestWaiters() -> [CheckedContinuation<Bool, Never>] {
        guard !restWaiters.isEmpty else { return [] }
        defer { restWaiters = [:] }
        return Array(restWaiters.values)
    }
}
