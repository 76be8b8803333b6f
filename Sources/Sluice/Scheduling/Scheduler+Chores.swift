internal import Synchronization

/// When chores are to be performed.
extension Scheduler {
    /// Performs a chore at a time, instead of the time set before.
    func schedule(_ chore: Chore, at time: Duration) { update { $0.schedule(chore, at: time) } }

    /// Performs a chore after a delay, instead of the time set before.
    func schedule(_ chore: Chore, after delay: Duration) { schedule(chore, at: clock.uptime + delay) }

    /// Looks again for what is due when the first is, or after `limit` if that is earlier, instead of at the
    /// time `mark` that was set before; if that has been changed since, then at the latest.
    func admitNext(after delay: Duration?, noLaterThan limit: Duration, insteadOf mark: Duration) {
        let now = clock.uptime
        update { $0.admitNext(at: delay.map { now + $0 }, noLaterThan: now + limit, insteadOf: mark) }
    }

    /// Performs a chore after a delay, or earlier if it is to be performed earlier already.
    func schedule(_ chore: Chore, within delay: Duration) {
        schedule(chore, noLaterThan: clock.uptime + delay)
    }

    /// Performs a chore at a time, or earlier if it is to be performed earlier already.
    func schedule(_ chore: Chore, noLaterThan time: Duration) {
        update { $0.schedule(chore, noLaterThan: time) }
    }

    /// Performs a chore now, if it is to be performed at all: what it waits for may have gone.
    func hasten(_ chore: Chore) {
        let isSet = machine.withLock { $0.agenda.deadlines.time(of: chore) != nil }
        if isSet { schedule(chore, within: .zero) }
    }
}

extension Scheduler {
    func attempt(for action: ClaimedAction) -> Attempt { Attempt(action, of: origin) }

    func retryUndecodable() { schedule(.liftUndecodable, within: .zero) }
}
