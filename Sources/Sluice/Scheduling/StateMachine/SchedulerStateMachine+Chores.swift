/// When chores are to be performed: see ``Agenda``.
extension SchedulerStateMachine {
    package mutating func schedule(_ chore: Chore, at time: Duration?) -> [SchedulerDecision] {
        agenda.schedule(chore, at: time)
        return decide()
    }

    package mutating func schedule(_ chore: Chore, noLaterThan time: Duration) -> [SchedulerDecision] {
        agenda.schedule(chore, noLaterThan: time) ? decide() : []
    }

    package mutating func admitNext(
        at due: Duration?,
        noLaterThan limit: Duration,
        insteadOf mark: Duration
    ) -> [SchedulerDecision] {
        agenda.admitNext(at: due, noLaterThan: limit, insteadOf: mark) ? decide() : []
    }

    /// Whether nothing is ready, runs, waits for a time or is run by other processes.
    ///
    /// Queues that are parked, or have no route, do not count.
    package var isIdle: Bool {
        phases.isEmpty && beside.isEmpty && settlingBeside.isEmpty && taken.isEmpty && !agenda.isAdmitting
            && agenda.deadlines.time(of: .admitScheduled) == nil
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
