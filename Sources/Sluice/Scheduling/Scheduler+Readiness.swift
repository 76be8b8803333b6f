internal import Synchronization

/// The state of the scheduler and its queues.
extension Scheduler {
    var isIdle: Bool { machine.withLock { $0.isIdle } }

    /// Whether nothing can be done now; queues may wait for a time or another process.
    var isResting: Bool { machine.withLock { $0.isResting } }

    /// The work that remains to be done by itself.
    var workAhead: RemainingWork {
        let now = clock.uptime
        return machine.withLock { machine in
            admissions.load(ordering: .relaxed) > 0 ? .now : machine.workAhead(at: now)
        }
    }

    /// Records a chore that continues after the call that began it, until ``choreEnded()``.
    func choreBegan() { chores.add(1, ordering: .relaxed) }

    func choreEnded() {
        chores.subtract(1, ordering: .relaxed)
        restWaiters?.changed()
    }

    /// Whether all work possible at this time is done, except for `held` attempts in their handlers.
    func isAtRest(butFor held: Int) -> Bool {
        let now = clock.uptime
        // An outcome that could not be written is tried again when time has passed.
        let paused = pauses.withLock { $0.count { $0 > now } }
        return machine.withLock { machine in
            chores.load(ordering: .relaxed) == 0 && machine.isAtRest(at: now, butFor: held, paused: paused)
        }
    }

    /// The next time at which a queue, an attempt, a scheduled time, an expiry or the end of a hold is due.
    var nextDueTime: Duration? {
        let now = clock.uptime
        return machine.withLock { $0.agenda.deadlines.nextDueTime(after: now, ofChores: true) }
    }

    /// The next time at which a queue or an attempt is due; `nil` if there is none.
    var nextQueueTime: Duration? {
        let now = clock.uptime
        return machine.withLock { $0.agenda.deadlines.nextDueTime(after: now, ofChores: false) }
    }

    /// Records the end of a check for due scheduled actions.
    func endAdmission() { admissions.subtract(1, ordering: .relaxed) }

    /// When a chore is to be performed; `nil`: it is not.
    func time(of chore: Chore) -> Duration? { machine.withLock { $0.agenda.deadlines.time(of: chore) } }

    /// Returns why the file refuses the queue's claims or outcomes.
    func refusal(of queue: QueueID) -> Because? {
        refusals.refusal(of: queue).map { .refused(error: "\($0.error)", since: $0.since.date) }
    }

    func standing(of queue: QueueID) -> QueueReadiness {
        machine.withLock { $0.readiness(of: queue) }
    }

    /// Records the due scheduled actions without a place: these and no others.
    func keepPlaces(_ unplaced: [UnplacedAction]) {
        for queue in refusals.keepPlaces(unplaced, at: clock.now) { delegate.waits(queue) }
    }
}
