internal import DequeModule

extension SchedulerStateMachine {
    /// Whether so many handlers run and claims are made that their commits should be shared.
    ///
    /// With 2 queues whose handlers do nothing, leaving each commit to another thread costs a seventh of the
    /// rate. With 4 it costs nothing, and with 8 and more it gains a fifth.
    var isCrowded: Bool { permitsInUse >= 8 }

    typealias Standing = (phase: QueuePhase?, hasTurn: Bool, isTrying: Bool, isFull: Bool)

    /// The phase of a queue, and what its start depends on: whether it has the turn at a rate limit,
    /// whether suspects are tried, and whether as many handlers run as may.
    func standing(of queue: QueueID) -> Standing {
        (phases[queue], rates.turn(of: queue) != nil, trial.isActive, permitsInUse >= concurrency)
    }

    /// A handler has returned: with its outcome its route's permit goes to the next that lacks one.
    mutating func endRun(_ claim: Int64) { if let route = lines.ends(claim) { callNext(for: route) } }

    /// Passes on a permit of a route when the outcome is written, to a queue that has asked for it since.
    mutating func endedRun(_ claim: Int64) { if let route = lines.ended(claim) { callNext(for: route) } }

    /// Passes on the permit of a called queue that has not used it, because it has another head now.
    mutating func endCall(of queue: QueueID, hasTaken taken: RouteID?) {
        if let route = lines.endCall(of: queue), route != taken { callNext(for: route) }
    }

    private mutating func callNext(for route: RouteID) {
        while let queue = lines.next(for: route) {
            // It may wait for something else now, perhaps called for another route.
            guard phases[queue] == .lackingPermit(route) else { continue }
            lines.call(queue, for: route)
            // Before the others, which may need the permit too: it is used in the transaction that frees it.
            phases[queue] = .ready
            return ready.prepend(queue)
        }
    }

    /// Sets or clears the timeout of a run.
    mutating func timeOut(_ claim: Int64, at time: Duration?) -> [SchedulerDecision] {
        agenda.deadlines.removeAttempt(claim)
        if let time { agenda.deadlines.add(.attempt(claim), at: time) }
        return []
    }

    // MARK: - Rate limits

    mutating func awaitTurn(_ queue: QueueID, at limit: RouteID, until time: Duration) {
        // Its head may have been of another route when it got that turn.
        if let turn = rates.turn(of: queue), turn != limit { endTurn(of: queue) }
        if rates.refused(queue, by: limit) {
            postpone(queue, .unwritten, until: time)
        } else {
            phases[queue] = .lackingRate(limit)
        }
    }

    /// Passes the turn at a rate limit on, if a queue has it that has started or waits for something else.
    mutating func endTurn(of queue: QueueID) {
        guard let limit = rates.endTurn(of: queue) else { return }
        while let next = rates.next(at: limit) {
            // It may wait for something else now, perhaps with the turn at another limit.
            guard phases[next] == .lackingRate(limit) else { continue }
            rates.give(next, at: limit)
            return makeReady(next)
        }
    }

    // MARK: - Chores and rest

    package mutating func schedule(_ chore: Chore, at time: Duration?) -> [SchedulerDecision] {
        agenda.schedule(chore, at: time)
        return decide()
    }

    package mutating func schedule(_ chore: Chore, noLaterThan time: Duration) -> [SchedulerDecision] {
        agenda.schedule(chore, noLaterThan: time) ? decide() : []
    }

    /// A hold or the closing of a gate ends at a time, which is checked at `limit` too.
    mutating func expectEnd(at end: Duration, noLaterThan limit: Duration) -> [SchedulerDecision] {
        agenda.nextEnd = min(agenda.nextEnd ?? end, end)
        return schedule(.endControls, noLaterThan: min(end, limit))
    }

    package mutating func admitNext(
        at due: Duration?,
        noLaterThan limit: Duration,
        insteadOf mark: Duration
    ) -> [SchedulerDecision] {
        agenda.admitNext(at: due, noLaterThan: limit, insteadOf: mark) ? decide() : []
    }

    /// Whether nothing is ready, runs (also elsewhere) or waits for a time; parked queues do not count.
    package var isIdle: Bool {
        phases.count == blockedCount && beside.isEmpty && settlingBeside.isEmpty && taken.isEmpty
            && !agenda.isAdmitting
            && agenda.deadlines.time(of: .admitScheduled) == nil
    }

    /// Whether a hold or the closing of a gate may end by itself, or an action expire at a gate.
    var awaitsEnd: Bool {
        agenda.deadlines.time(of: .endControls) != nil
            || !gates.isEmpty
    }

    /// Whether what is left waits for a time, for another process, or for somebody.
    var isResting: Bool {
        permitsInUse == 0 && settling == 0 && ready.isEmpty && !trial.isActive && !agenda.isAdmitting
    }

    /// Whether nothing is left to do now, but for `held` handlers and `paused` outcomes that wait for a time.
    func isAtRest(at now: Duration, butFor held: Int, paused: Int) -> Bool {
        permitsInUse == held && settling == paused && !agenda.isAdmitting
            && nextDeadline.map { $0 > now } ?? true
    }

    package mutating func timeReached(_ now: Duration) -> [SchedulerDecision] {
        var decisions: [SchedulerDecision] = []
        while let due = agenda.deadlines.popDue(now) {
            switch due.subject {
            case .attempt(let claim): decisions.append(.timeOut(claim: claim))
            case .chore(let chore):
                if chore == .admitScheduled { agenda.isAdmitting = true }
                if chore == .endControls { agenda.nextEnd = nil }
                decisions.append(.perform(chore))
            case .queue(let queue):
                guard case .waiting(let wait, let until, due.number) = phases[queue] else { continue }
                makeReady(queue)
                waits[queue] = (wait, until, isOver: true)
            }
        }
        return decisions + decide()
    }

    package var nextDeadline: Duration? { agenda.deadlines.first }
}
