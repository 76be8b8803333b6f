/// When chores are to be performed.
extension SchedulerStateMachine {
    /// A chore is to be performed at a time, instead of the one set before.
    package mutating func schedule(_ chore: Chore, at time: Duration?) -> [Decision] {
        asked[chore] = nil
        if chore == .admitScheduled { isAdmitting = false }
        deadlines.set(chore, at: time)
        return decide()
    }

    /// A chore is to be performed at a time at the latest.
    package mutating func schedule(_ chore: Chore, noLaterThan time: Duration) -> [Decision] {
        guard let known = deadlines.time(of: chore), known <= time else { return schedule(chore, at: time) }
        // The known time may give way to another, found by a look that was made before this was asked for.
        asked[chore] = min(asked[chore] ?? time, time)
        return []
    }

    /// A chore is to be performed at a time instead of the one that its last performance had set, unless
    /// another time has been asked for since: then no later than either.
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

    /// The next look for what is due comes when the first is, or at `limit` if that is earlier, instead of at
    /// `mark`.
    package mutating func admitNext(
        at due: Duration?,
        noLaterThan limit: Duration,
        insteadOf mark: Duration
    ) -> [Decision] {
        let look = due.map { min($0, limit) }
        lookAhead = due.map { (look: min($0, limit), due: $0) }
        return schedule(.admitScheduled, at: look, insteadOf: mark)
    }

    /// When the first of what is scheduled is due, as far as the last look has found it.
    var nextScheduled: Duration? {
        guard let look = deadlines.time(of: .admitScheduled) else { return nil }
        // Another time than the one that was set then: something has come, and is not known yet.
        guard let known = lookAhead, known.look == look else { return look }
        return known.due
    }

    /// Whether nothing is ready, runs or waits for a time.
    ///
    /// What has no route, or is parked, does not count; what other processes run does.
    package var isIdle: Bool {
        phases.isEmpty && beside.isEmpty && settlingBeside.isEmpty && taken.isEmpty && !isAdmitting
            && deadlines.time(of: .admitScheduled) == nil
    }

    /// Whether nothing is ready, runs or is being looked for: what is left waits for a time, for another
    /// process, or for somebody.
    var isResting: Bool {
        permitsInUse == 0 && settling == 0 && ready.isEmpty && !trial.isActive && beside.isEmpty
            && settlingBeside.isEmpty && !isAdmitting
    }

    /// Whether nothing is left to do before a time, but for as many attempts as are in their handlers.
    ///
    /// - Parameter paused: Outcomes that could not be written and wait for a time.
    func isAtRest(at now: Duration, butFor held: Int, paused: Int = 0) -> Bool {
        permitsInUse == held && settling == paused && !isAdmitting
            && nextDeadline.map { $0 > now } ?? true
    }
}

/// What time brings.
extension SchedulerStateMachine {
    /// A time has come.
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

    /// The earliest time for which ``timeReached(_:)`` must be called; `nil` when there is none.
    package var nextDeadline: Duration? { deadlines.first }
}
