internal import Synchronization

/// The times of chores.
extension Scheduler {
    /// Performs a chore at a time, instead of the time set before.
    func schedule(_ chore: Chore, at time: Duration) { update { $0.schedule(chore, at: time) } }

    /// Performs a chore after a delay, instead of the time set before.
    func schedule(_ chore: Chore, after delay: Duration) { schedule(chore, at: clock.uptime + delay) }

    /// Sets the next check for due actions: when the first is due, or after `limit` if that is earlier.
    ///
    /// It replaces the time `mark`. If that was changed since, the earlier of both times applies.
    func admitNext(after delay: Duration?, noLaterThan limit: Duration, insteadOf mark: Duration) {
        let now = clock.uptime
        update { $0.admitNext(at: delay.map { now + $0 }, noLaterThan: now + limit, insteadOf: mark) }
    }

    /// Performs a chore after a delay, or at its time if that is earlier.
    func schedule(_ chore: Chore, within delay: Duration) {
        schedule(chore, noLaterThan: clock.uptime + delay)
    }

    /// Performs a chore at a time, or at its own time if that is earlier.
    func schedule(_ chore: Chore, noLaterThan time: Duration) {
        update { $0.schedule(chore, noLaterThan: time) }
    }

    /// Performs a chore now, if it has a time.
    func hasten(_ chore: Chore) {
        let isSet = machine.withLock { $0.agenda.deadlines.time(of: chore) != nil }
        if isSet { schedule(chore, within: .zero) }
    }
}
