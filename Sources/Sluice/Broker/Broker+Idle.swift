internal import Logging
internal import Synchronization

/// Waiting until nothing is left to do.
extension Broker {
    /// Returns when a running broker has nothing left that it could run or wait for.
    ///
    /// That is what the file says: what other connections have committed before the call counts, as an
    /// enqueue in a transaction of the application's. Parked queues do not count, and what this broker has
    /// no route for does not, whether it is due, waits for a retry, is scheduled or runs in another
    /// process. What is the broker's to run and waits for a time is waited for, however late that is: if
    /// that takes more than five seconds, the logger is told once, at `notice`.
    ///
    /// Returns at once when the broker stops or the task is cancelled, after a ``run()`` that has thrown, and
    /// in a role that runs nothing. Before the first `run()` it waits for it, and while the broker is
    /// suspended for ``resume()``. A handler must not wait for this, as it would wait for its own return, and
    /// so it traps.
    public func waitUntilIdle() async {
        await waitUntilIdle { [options] wait in
            guard wait.isLong else { return false }
            var facts: Logger.Metadata = ["queues": "\(wait.queueCount)"]
            if let delay = wait.delay { facts["delay"] = "\(delay)" }
            options.logger.notice("waiting until idle: work is left for later", metadata: facts)
            return true
        }
    }

    /// As ``waitUntilIdle()``.
    ///
    /// - Parameter tell: Asked what to do when nothing but time or another process brings what is waited for;
    ///   no more once it has said that it has told somebody.
    package func waitUntilIdle(telling tell: (IdleWait) -> Bool) async {
        if store.check.isForked { return }
        ensureNotInHandler("waitUntilIdle()")
        let stops = life.withLock { $0.stops }
        let start = options.clock.uptime
        var seen: Int?
        var hasTold = false
        while await waitForRest(behind: seen, stops) {
            // Whatever happens from here on is another rest.
            seen = life.withLock { $0.rests }
            do {
                if try await isIdleNow() { return }
                guard scheduler.isResting else { continue }
                let left = try await workLeft()
                guard let wait = IdleWait(left, waited: options.clock.uptime - start) else { return }
                // What could run is about to: it is the engine's own news that it has.
                if left.next == .now || hasTold { continue }
                hasTold = tell(wait)
            } catch {
                // It may pass, as the lock of another connection does, and nothing is known until then.
                options.logger.debug("no look at the file", metadata: ["error": "\(error)"])
                seen = nil
                let time = options.clock.uptime + Self.syncInterval
                do { try await options.clock.sleep(untilUptime: time) } catch { return }
            }
        }
    }

    /// Whether nothing is left to do, and nothing waits for a time, by all that has been committed.
    private func isIdleNow() async throws(SluiceError) -> Bool {
        // Its report has woken what it found when this returns.
        if wakeUps != nil, !mutant("look before idle") { try await store.takeInForeignChanges() }
        return scheduler.isIdle
    }

    /// Waits until the engine has nothing to do at the moment.
    ///
    /// - Parameters:
    ///   - seen: How often it had come to that before; `nil`: once is enough.
    ///   - stops: How often the broker had been stopped when the wait began.
    /// - Returns: `false` when nothing will come of waiting.
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
                    if life.state == .idle && (life.hasThrown || options.role != .run) { return false }
                    if life.hasLookedAround && scheduler.isResting && life.rests != seen { return true }
                    life.restWaiters[waiter] = continuation
                    return nil
                }
                if let rests { continuation.resume(returning: rests) }
            }
        } onCancel: {
            // The task counts as cancelled by now: a waiter that is not here yet will not wait.
            life.withLock { $0.restWaiters.removeValue(forKey: waiter) }?.resume(returning: false)
        }
    }

    /// The engine has nothing to do at the moment.
    func rests() {
        let waiters = life.withLock { life -> [CheckedContinuation<Bool, Never>] in
            life.rests += 1
            guard !life.restWaiters.isEmpty, life.hasLookedAround, scheduler.isResting else { return [] }
            return life.takeRestWaiters()
        }
        for waiter in waiters { waiter.resume(returning: true) }
    }

    /// Nothing will come of waiting.
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

/// What a broker waits for that has nothing to do at the moment.
package struct IdleWait: Sendable {
    /// How many queues of the broker's wait for a time, or are run by another process.
    package let queueCount: Int
    /// When the first of them is due; `nil`: as soon as the other process is through.
    package let delay: Duration?

    /// How long it has been waited.
    package let waited: Duration

    /// Whether somebody may wonder: a retry in a second or two is no news.
    package var isLong: Bool { delay ?? waited >= .seconds(5) }

    /// - Returns: `nil` where nothing comes by itself.
    init?(_ left: WorkLeft, waited: Duration) {
        self.waited = waited
        guard left.next != .none || left.elsewhereCount > 0 else { return nil }
        queueCount = left.dueCount + left.elsewhereCount
        switch left.next {
        case .none: delay = nil
        case .now: delay = .zero
        case .later(let time): delay = time
        }
    }
}
