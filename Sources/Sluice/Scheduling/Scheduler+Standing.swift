internal import Synchronization

/// How things stand.
extension Scheduler {
    var isIdle: Bool { machine.withLock { $0.isIdle } }

    /// Whether there is nothing to do at the moment, but for what waits for a time or another process.
    var isResting: Bool { machine.withLock { $0.isResting } }

    /// What there is to do by itself.
    var workAhead: RemainingWork {
        let now = clock.uptime
        return machine.withLock { machine in
            admissions.load(ordering: .relaxed) > 0 ? .now : machine.workAhead(at: now)
        }
    }

    /// A chore goes on behind the call that has begun it, until ``choreEnded()``.
    func choreBegan() { chores.add(1, ordering: .relaxed) }

    func choreEnded() {
        chores.subtract(1, ordering: .relaxed)
        restWaiters?.changed()
    }

    /// Whether all has been done that can be done at this time, but for attempts that their handlers hold.
    func isAtRest(butFor held: Int) -> Bool {
        let now = clock.uptime
        // An outcome that could not be written is tried again when time has passed.
        let paused = pauses.withLock { $0.count { $0 > now } }
        return machine.withLock { machine in
            chores.load(ordering: .relaxed) == 0 && machine.isAtRest(at: now, butFor: held, paused: paused)
        }
    }

    /// The next time at which a queue or an attempt is due, or something that is scheduled, expires or is
    /// held; `nil` when there is none.
    var nextDueTime: Duration? {
        let now = clock.uptime
        return machine.withLock { $0.agenda.deadlines.nextDueTime(after: now) }
    }

    /// The next time at which a queue or an attempt is due; `nil` when there is none.
    var nextQueueTime: Duration? {
        let now = clock.uptime
        return machine.withLock { $0.agenda.deadlines.nextDueTime(after: now, ofChores: false) }
    }

    /// A look for scheduled actions that are due is over.
    func endAdmission() { admissions.subtract(1, ordering: .relaxed) }

    /// When a chore is to be performed; `nil`: it is not.
    func time(of chore: Chore) -> Duration? { machine.withLock { $0.agenda.deadlines.time(of: chore) } }

    /// What the file says to the queue's claims or outcomes, which it refuses.
    func refusal(of queue: QueueID) -> Because? {
        refusals.refusal(of: queue).map { .refused(error: "\($0.error)", since: $0.since.date) }
    }

    func standing(of queue: QueueID) -> QueueReadiness {
        machine.withLock { $0.readiness(of: queue) }
    }

    /// These scheduled actions, and no others, are due and have no place.
    func keepPlaces(_ unplaced: [UnplacedAction]) {
        for queue in refusals.keepPlaces(unplaced, at: clock.now) { delegate.waits(queue) }
    }
}
