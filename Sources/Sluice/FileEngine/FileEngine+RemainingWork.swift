internal import Synchronization

extension FileEngine {
    package func workLeft(
        _ patterns: [QueuePattern],
        isEnough: Bool
    ) async throws(SluiceError) -> WorkLeft {
        try await workLeft { isEnough && $0.next == .now }
    }

    /// Returns the work left; `nil` while the broker is suspended, when reading would wait for its resume.
    package func remainingWorkUnlessSuspended() async throws(SluiceError) -> RemainingWork? {
        let end = options.clock.uptime + Suspension.readingLimit
        // Runs in order with suspend and resume, so that neither happens during the read.
        return try await suspension.pass { [self] () async -> Result<RemainingWork?, SluiceError> in
            guard !suspension.isOn else { return .success(nil) }
            do throws(SluiceError) {
                return .success(try await workLeft(until: end) { $0.next == .now }.next)
            } catch {
                return .failure(error)
            }
        }.get()
    }

    /// Returns the work of all queues that this broker has routes for, by what they wait for.
    ///
    /// With a pattern, it is that of the pattern's queues, which are listed. Queues that are not read by
    /// `end`, in the clock's uptime, are assumed to have work.
    package func workLeft(
        in form: QueuePattern.Form? = nil,
        until end: Duration? = nil,
        isEnough: @escaping @Sendable (WorkLeft) -> Bool = { _ in false }
    ) async throws(SluiceError) -> WorkLeft {
        let left = Mutex(WorkLeft(now: options.clock.now, listsQueues: form != nil))
        let mine = store.runners.epoch
        try await store.queueFacts(form ?? .prefix([]), page: Self.queuePage) { [self] file, page in
            left.withLock { left in
                if let end, options.clock.uptime >= end {
                    left.stopReading()
                    return false
                }
                for facts in page {
                    let isElsewhere = facts.runningEpoch != nil && facts.runningEpoch != mine
                    switch (route(facts), isElsewhere) {
                    case (let routing?, false):
                        let reasons = facts.head(file, routing, .here, left.now).reasons
                        let rate = facts.rateTime(file, routing, left.now)?.time
                        left.count(facts, reasons, rate: rate, routing)
                    case (.route?, true): left.countElsewhere(facts.id)
                    // The action that runs here has been removed.
                    case (nil, false): left.countRunning(facts.id)
                    case (.unroutable?, true), (nil, true): break
                    }
                }
                return !isEnough(left)
            }
        }
        return left.withLock { $0 }
    }

    /// The work of a running broker, as far as it knows without reading the file.
    package var workAhead: RemainingWork {
        life.withLock { life in
            if life.state == .closed { return .none }
            return life.hasLookedAround ? scheduler.workAhead : .now
        }
    }
}

extension SchedulerStateMachine {
    /// Returns the work that is left here; actions that other processes run do not count.
    func workAhead(at now: Duration) -> RemainingWork {
        // A queue with several slots may have nothing to claim while its actions run.
        guard beside.isEmpty && settlingBeside.isEmpty else { return .now }
        var next = agenda.nextScheduled
        for phase in phases.values {
            switch phase {
            case .waiting(_, let time, _): next = min(next ?? time, time)
            // Its end is the next that is known.
            case .blocked(.gate), .blocked(.hold): next = [next, agenda.nextEnd].compactMap(\.self).min()
            // The queue whose turn it is has the time.
            case .lackingRate, .blocked(.route), .blocked(.taken): continue
            case .ready, .claiming, .running, .full, .settling, .lackingPermit, .suspect: return .now
            }
        }
        return next.map { .later(max($0 - now, .zero)) } ?? .none
    }
}
