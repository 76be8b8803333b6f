/// The times of chores, of attempts and of queues that wait.
struct Agenda {
    var deadlines = DeadlineQueue()
    /// The earliest time after its deadline that was asked for, of chores with a deadline.
    private var asked: [Chore: Duration] = [:]
    /// Whether scheduled actions are about to get their places: decided, and no time set since.
    var isAdmitting = false
    /// When the next look for due actions is made, and when the first of them is due, perhaps later.
    private var lookAhead: (look: Duration, due: Duration)?

    /// Sets the time of a chore, in place of the one before.
    mutating func schedule(_ chore: Chore, at time: Duration?) {
        asked[chore] = nil
        if chore == .admitScheduled { isAdmitting = false }
        deadlines.set(chore, at: time)
    }

    /// Has a chore performed at a time at the latest.
    ///
    /// - Returns: Whether its time has changed.
    mutating func schedule(_ chore: Chore, noLaterThan time: Duration) -> Bool {
        guard let known = deadlines.time(of: chore), known <= time else {
            schedule(chore, at: time)
            return true
        }
        // A look that was made before this request may replace the known time.
        asked[chore] = min(asked[chore] ?? time, time)
        return false
    }

    /// Sets the time of a chore in place of the one that its last performance set.
    ///
    /// If another time has been asked for since, the chore is performed no later than either.
    ///
    /// - Returns: Whether its time has changed.
    mutating func schedule(_ chore: Chore, at time: Duration?, insteadOf mark: Duration) -> Bool {
        guard deadlines.time(of: chore) == mark else {
            return time.map { schedule(chore, noLaterThan: $0) } ?? false
        }
        schedule(chore, at: [time, asked[chore]].compactMap { $0 }.min())
        return true
    }

    /// Sets the next look for due actions: when the first is due, or at `limit` if that is earlier.
    ///
    /// It replaces the look at `mark`.
    ///
    /// - Returns: Whether its time has changed.
    mutating func admitNext(
        at due: Duration?,
        noLaterThan limit: Duration,
        insteadOf mark: Duration
    ) -> Bool {
        lookAhead = due.map { (look: min($0, limit), due: $0) }
        return schedule(.admitScheduled, at: lookAhead?.look, insteadOf: mark)
    }

    /// When the first scheduled action is due, as far as the last look has found.
    var nextScheduled: Duration? {
        guard let look = deadlines.time(of: .admitScheduled) else { return nil }
        // Another time than the one that the look set: an action was scheduled since.
        guard let known = lookAhead, known.look == look else { return look }
        return known.due
    }

    /// Forgets everything but the sync of earlier writes.
    mutating func reset() {
        let sync = deadlines.time(of: .sync)
        self = Agenda()
        deadlines.set(.sync, at: sync)
    }
}
