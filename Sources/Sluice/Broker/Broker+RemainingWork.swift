internal import Synchronization

extension Broker {
    private static let remainingWorkPage = 1_000

    /// What is left to do by itself in the file, whether the broker runs or not.
    ///
    /// ```swift
    /// if case .later(let delay) = try await broker.remainingWork() { wakeUpAgain(after: delay) }
    /// ```
    ///
    /// What has no route in this broker does not count, nor what another process runs at the moment. A head
    /// that waits for a gate or a retry, and expires first, counts for the time of its end, unless the policy
    /// of its route for ``FailureCause/expired`` is to block. The queues with work are read one after the
    /// other, until one is found that could run at once.
    ///
    /// - Throws: An error of the file.
    public func remainingWork() async throws(SluiceError) -> RemainingWork {
        try await remainingWork(until: nil)
    }

    /// What is left to do by itself.
    ///
    /// - Parameter end: When, by the clock's uptime, there is no more time to read on: what has not been read
    ///   is taken to hold work.
    func remainingWork(until end: Duration?) async throws(SluiceError) -> RemainingWork {
        try await workLeft(until: end) { $0.next == .now }.next
    }

    /// As ``remainingWork(until:)``; `nil` while the broker is suspended: a look would wait for its resume,
    /// whatever time there is.
    func remainingWorkUnlessSuspended(until end: Duration) async throws(SluiceError) -> RemainingWork? {
        // Among the calls that suspend and resume it, so that none comes in between.
        try await suspension.pass { [self] () async -> Result<RemainingWork?, SluiceError> in
            guard !suspension.isOn else { return .success(nil) }
            do throws(SluiceError) {
                return .success(try await remainingWork(until: end))
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// What all queues that this broker has routes for leave to do, by what they wait for.
    package func workLeft() async throws(SluiceError) -> WorkLeft {
        try await workLeft(until: nil) { _ in false }
    }

    private func workLeft(
        until end: Duration?,
        isEnough: @escaping @Sendable (WorkLeft) -> Bool
    ) async throws(SluiceError) -> WorkLeft {
        let left = Mutex(WorkLeft(now: options.clock.now))
        let form = try QueuePattern.all.form()
        let mine = store.runners.epoch
        try await store.queueFacts(form, page: Self.remainingWorkPage) { [self] file, page in
            left.withLock { left in
                if let end, options.clock.uptime >= end {
                    left.stopReading()
                    return false
                }
                for facts in page {
                    let isElsewhere = facts.runningEpoch != nil && facts.runningEpoch != mine
                    switch (route(facts), isElsewhere) {
                    case (let routing?, false):
                        left.count(facts, facts.becauseOfFile(file, routing, left.now), routing)
                    case (.route?, true): left.countElsewhere()
                    // What runs here has been removed meanwhile.
                    case (nil, false): left.countRunning()
                    case (.unroutable?, true), (nil, true): break
                    }
                }
                return !isEnough(left)
            }
        }
        return left.withLock { $0 }
    }

    /// What a broker that runs has to do by itself, as far as it knows without a look into the file.
    var workAhead: RemainingWork {
        life.withLock { life in
            if life.state == .closed { return .none }
            return life.hasLookedAround ? scheduler.workAhead : .now
        }
    }
}

extension SchedulerStateMachine {
    /// What there is to do by itself.
    ///
    /// What other processes run is left to them.
    func workAhead(at now: Duration) -> RemainingWork {
        // A queue with several slots may have nothing to claim while its actions run.
        guard beside.isEmpty && settlingBeside.isEmpty else { return .now }
        var next = nextScheduled
        for phase in phases.values {
            guard case .waiting(_, let time, _) = phase else { return .now }
            next = min(next ?? time, time)
        }
        return next.map { .later(max($0 - now, .zero)) } ?? .none
    }
}
