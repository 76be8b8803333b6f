internal import Logging
internal import Synchronization

extension Broker {
    /// Waits until a running broker has nothing left to run or to wait for.
    ///
    /// The file decides: commits of other connections before the call count. Parked queues do not count, nor
    /// actions without a route in this broker. Work of this broker that is due later counts, however late. A
    /// wait of more than five seconds is logged once at `notice`.
    ///
    /// The call returns at once when the broker stops or the task is cancelled, after a ``run()`` that has
    /// thrown, and in a role that runs nothing. Before the first `run()` it waits for that, and while the
    /// broker is suspended for ``resume()``. In a handler the call would wait for its own return: it traps.
    public func waitUntilIdle() async {
        await waitUntilIdle { [options] wait in
            guard wait.isLong else { return false }
            var facts: Logger.Metadata = ["queues": "\(wait.queueCount)"]
            if let delay = wait.delay { facts["delay"] = "\(delay)" }
            options.logger.notice("waiting until idle: work is left for later", metadata: facts)
            return true
        }
    }

    /// Waits as ``waitUntilIdle()``; calls `tell`, until `true`, when only a time or a process can end it.
    package func waitUntilIdle(telling tell: (IdleWait) -> Bool) async {
        if store.check.isForked { return }
        ensureNotInHandler("waitUntilIdle()")
        if options.file.role == .run { expectRun() }
        let stops = life.withLock { $0.stops }
        let start = options.clock.uptime
        var seen: Int?
        var hasTold = false
        while await waitForRest(behind: seen, stops) {
            // From here on, any change ends in another rest.
            seen = life.withLock { $0.rests }
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
                // The error may pass, like the lock of another connection; until then nothing is known.
                options.logger.debug("polling the file failed", metadata: ["error": "\(error)"])
                seen = nil
                let time = options.clock.uptime + Self.syncInterval
                do { try await options.clock.sleep(untilUptime: time) } catch { return }
            }
        }
    }

    /// Logs a warning, once, if nothing runs the queues a second from now, as somebody waits for that.
    func expectRun() {
        let isFirst = life.withLock { life in
            guard life.state == .idle, !life.expectsRun else { return false }
            life.expectsRun = true
            return true
        }
        if isFirst { scheduler.schedule(.findRunner, within: .seconds(1)) }
    }

    func findRunner() {
        attempt(.findRunner, again: nil) { [weak self, options] store in
            guard let self else { return }
            let others = try await store.runningProcesses()
            let isMissed = life.withLock { life in
                let isAwaited = store.waiters.areThere || !life.restWaiters.isEmpty
                let isMissed =
                    isAwaited && life.state == .idle && !isSuspended
                    && others.allSatisfy { $0.isDead || $0.isLeaseOver }
                if !isMissed { life.expectsRun = false }
                return isMissed
            }
            guard isMissed else { return }
            options.logger.warning("nothing runs the queues: call run(), in this process or another")
        }
    }

    /// Waits for a rest of the engine of another number than `seen`; returns `false` when that is pointless.
    private func waitForRest(behind seen: Int?, _ stops: Int) async -> Bool {
        let waiter = life.withLock { life in
            life.lastRestWaiter += 1
            return life.lastRestWaiter
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let rests: Bool? = life.withLock { life in
                    if Task.isCancelled || life.stops != stops { return false }
                    if life.state == .closed || life.state == .stopping { return false }
                    if life.state == .idle && (life.hasThrown || options.file.role != .run) { return false }
                    if life.hasLookedAround && scheduler.isResting && life.rests != seen { return true }
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

extension Broker.Life {
    fileprivate mutating func takeRestWaiters() -> [CheckedContinuation<Bool, Never>] {
        guard !restWaiters.isEmpty else { return [] }
        defer { restWaiters = [:] }
        return Array(restWaiters.values)
    }
}
