/// The times of chores, of attempts and of queues that wait.
struct Agenda {
    var deadlines = DeadlineQueue()
    /// The earliest time after its deadline that was asked for, of the look for due actions.
    private var asked: Duration?
    /// When the next hold or closing of a gate ends, as commits have reported; perhaps later than the chore.
    var nextEnd: Duration?
    /// Whether scheduled actions are about to get their places: decided, and no time set since.
    var isAdmitting = false
    /// When the next look for due actions is made, and when the first of them is due, perhaps later.
    private var lookAhead: (look: Duration, due: Duration)?

    mutating func schedule(_ chore: Chore, at time: Duration?) {
        if chore == .admitScheduled { (isAdmitting, asked) = (false, nil) }
        deadlines.set(chore, at: time)
    }

    /// Has a chore performed at a time at the latest; returns whether its time has changed.
    mutating func schedule(_ chore: Chore, noLaterThan time: Duration) -> Bool {
        guard let known = deadlines.time(of: chore), known <= time else {
            schedule(chore, at: time)
            return true
        }
        // A look that was made before this request may replace the known time.
        if chore == .admitScheduled { asked = min(asked ?? time, time) }
        return false
    }

    /// Sets the next look for due actions: when the first is due, or at `limit` if that is earlier.
    ///
    /// It replaces the look at `old`, or if another time was asked for since, is made no later than either.
    /// Returns whether its time has changed.
    mutating func admitNext(at due: Duration?, noLaterThan limit: Duration, insteadOf old: Duration) -> Bool {
        lookAhead = due.map { (look: min($0, limit), due: $0) }
        let look = lookAhead?.look
        guard deadlines.time(of: .admitScheduled) == old else {
            return look.map { schedule(.admitScheduled, noLaterThan: $0) } ?? false
        }
        schedule(.admitScheduled, at: [look, asked].compactMap { $0 }.min())
        return true
    }

    /// When the first scheduled action is due, as far as the last look has found.
    var nextScheduled: Duration? {
        guard let look = deadlines.time(of: .admitScheduled) else { return nil }
        // Another time than the one that the look set: an action was scheduled since.
        guard let known = lookAhead, known.look == look else { return look }
        return known.due
    }
}
