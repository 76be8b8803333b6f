/// The times of chores.
extension SchedulerStateMachine {
    /// Sets the time of a chore, instead of the time set before.
    package mutating func schedule(_ chore: Chore, at time: Duration?) -> [Decision] {
        asked[chore] = nil
        if chore == .admitScheduled { isAdmitting = false }
        deadlines.set(chore, at: time)
        return decide()
    }

    /// Sets the time of a chore, unless its time is earlier.
    package mutating func schedule(_ chore: Chore, noLaterThan time: Duration) -> [Decision] {
        guard let known = deadlines.time(of: chore), known <= time else { return schedule(chore, at: time) }
        // The earlier time may be replaced by another, found by a check made before this request.
        asked[chore] = min(asked[chore] ?? time, time)
        return []
    }

    /// Replaces the time `mark` of a chore, set by its last performance; a time requested since counts if
    /// earlier.
    package mutating func schedule(
        _ chore: Chore,
        at time: Duration?,
        insteadOf mark: Duration
    ) -> [Decision] {
        if deadlines.time(of: chore) == mark {
            return schedule(chore, at: [time, asked[chore]].compactMap { $0 }.min())
        }
        return time.map { schedule(chore, noLaterThan: $0) } ?? []
    }

    /// Sets the next check for due actions: when the first is due, or at `limit` if that is earlier.
    ///
    /// It replaces the time `mark`.
    package mutating func admitNext(
        at due: Duration?,
        noLaterThan limit: Duration,
        insteadOf mark: Duration
    ) -> [Decision] {
        let look = due.map { min($0, limit) }
        lookAhead = due.map { (look: min($0, limit), due: $0) }
        return schedule(.admitScheduled, at: look, insteadOf: mark)
    }

    /// The time at which the first scheduled action is due, by the last check.
    var nextScheduled: Duration? {
        guard let look = deadlines.time(of: .admitScheduled) else { return nil }
        // If the time was changed since, a new action may be scheduled, whose time is unknown.
        guard let known = lookAhead, known.look == look else { return look }
        return known.due
    }

    /// Whether nothing is ready, runs or waits for a time.
    ///
    /// Queues without a route and parked queues do not count; queues that other processes run do.
    package var isIdle: Bool {
        phases.isEmpty && beside.isEmpty && settlingBeside.isEmpty && taken.isEmpty && !isAdmitting
            && deadlines.time(of: .admitScheduled) == nil
    }

    /// Whether nothing is ready, runs or is polled: all else waits for a time, another process or a person.
    var isResting: Bool {
        permitsInUse == 0 && settling == 0 && ready.isEmpty && !trial.isActive && beside.isEmpty
            && settlingBeside.isEmpty && !isAdmitting
    }

    /// Returns whether nothing is left to do before a time, except for `held` attempts in their handlers.
    ///
    /// - Parameter paused: The number of outcomes that could not be written and wait for a time.
    func isAtRest(at now: Duration, butFor held: Int, paused: Int = 0) -> Bool {
        permitsInUse == held && settling == paused && !isAdmitting
            && nextDeadline.map { $0 > now } ?? true
    }
}

/// The effects of time.
extension SchedulerStateMachine {
    /// Ends all deadlines that are due.
    package mutating func timeReached(_ now: Duration) -> [Decision] {
        var decisions: [Decision] = []
        while let due = deadlines.popDue(now) {
            switch due.subject {
            case .attempt(let claim): decisions.append(.timeOut(claim: claim))
            case .chore(let chore):
                if chore == .admitScheduled { isAdmitting = true }
                decisions.append(.perform(chore))
            case .queue(let queue):
                guard case .waiting(let wait, let until, due.number) = phases[queue] else { continue }
                makeReady(queue)
                waits[queue] = (wait, until, isOver: true)
            }
        }
        return decisions + decide()
    }

    /// The earliest time at which ``timeReached(_:)`` must be called; `nil` if there is none.
    package var nextDeadline: Duration? { deadlines.first }
}
