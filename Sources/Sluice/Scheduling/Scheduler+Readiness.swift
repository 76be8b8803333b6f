internal import Synchronization

/// The times of chores, and the state of the scheduler and its queues.
extension Scheduler {
    /// Performs a chore at a time, instead of the time set before.
    func schedule(_ chore: Chore, at time: Duration) { update { $0.schedule(chore, at: time) } }
    func schedule(_ chore: Chore, after delay: Duration) { schedule(chore, at: clock.uptime + delay) }

    /// Performs a chore at a time, or at its own time if that is earlier.
    func schedule(_ chore: Chore, noLaterThan time: Duration) {
        update { $0.schedule(chore, noLaterThan: time) }
    }
    func schedule(_ chore: Chore, within delay: Duration) {
        schedule(chore, noLaterThan: clock.uptime + delay)
    }

    /// Performs a chore now, if it has a time.
    func hasten(_ chore: Chore) { if time(of: chore) != nil { schedule(chore, within: .zero) } }
    /// When a chore is to be performed; `nil`: it is not.
    func time(of chore: Chore) -> Duration? { machine.withLock { $0.agenda.deadlines.time(of: chore) } }

    /// Sets the next check for due actions: when the first is due, or after `limit` if that is earlier.
    ///
    /// It replaces the time `mark`. If that was changed since, the earlier of both times applies.
    func admitNext(after delay: Duration?, noLaterThan limit: Duration, insteadOf mark: Duration) {
        let now = clock.uptime
        update { $0.admitNext(at: delay.map { now + $0 }, noLaterThan: now + limit, insteadOf: mark) }
    }

    /// Records the end of a check for due scheduled actions.
    func endAdmission() { admissions.subtract(1, ordering: .relaxed) }
    /// Records a chore that continues after the call that began it, until ``choreEnded()``.
    func choreBegan() { chores.add(1, ordering: .relaxed) }

    func choreEnded() {
        chores.subtract(1, ordering: .relaxed)
        restWaiters?.changed()
    }

    // MARK: - The state of the scheduler and its queues

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
    var nextDueTime: Duration? { nextDueTime(ofChores: true) }
    /// The next time at which a queue or an attempt is due.
    var nextQueueTime: Duration? { nextDueTime(ofChores: false) }

    private func nextDueTime(ofChores: Bool) -> Duration? {
        let now = clock.uptime
        return machine.withLock { $0.agenda.deadlines.nextDueTime(after: now, ofChores: ofChores) }
    }

    /// Returns why the file refuses the queue's claims or outcomes.
    func refusal(of queue: QueueID) -> Because? {
        refusals.refusal(of: queue).map { .refused(error: "\($0.error)", since: $0.since.date) }
    }

    func standing(of queue: QueueID) -> QueueReadiness { machine.withLock { $0.readiness(of: queue) } }

    /// Records the due scheduled actions without a place: these and no others.
    func keepPlaces(_ unplaced: [UnplacedAction]) {
        for queue in refusals.keepPlaces(unplaced, at: clock.now) { delegate.waits(queue) }
    }
}
