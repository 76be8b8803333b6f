/// The changes of one commit, reported to the scheduler.
package struct CommitReport: Sendable {
    /// Queues that may have become ready: those of foreign changes in order of commit, then the others by id.
    package let queues: [QueueID]
    package let foreignChanges: [ForeignChange]
    /// Whether other connections have added actions that are scheduled or expire.
    package let hasForeignTimes: Bool
    package let runnerChanges: RunnerChanges
    /// How many of this store's commits, this one included, have found that a process has ended, or may have.
    let deaths: Int
    /// Gates that were closed before the commit and are open now.
    package let openings: [GateOpening]
    /// Closed gates for which actions were deferred, in queues of this store's routes.
    package let deferrals: Set<GateName>
    package let changesHolds: Bool
    /// When the next hold ends, or the next closed gate opens by itself, of those that the commit has met.
    let endsAt: Timestamp?
    /// The commit's events, if the store is observed or the logger asks for them.
    package let events: [QueueEvent]
    /// Whether the store is observed; if not, the events are for the logger only.
    package let isObserved: Bool
    /// Whether an observer has come since the transaction began, so that it has no events of it.
    let missesObservers: Bool
    let contents: ObservedContents?
    /// The earliest time at which an action deferred by this commit is due.
    package let dueAt: Timestamp?
    /// Whether a loss of power could still undo something that was written.
    package let awaitsSync: Bool

    var isEmpty: Bool {
        queues.isEmpty && foreignChanges.isEmpty && openings.isEmpty && deferrals.isEmpty
            && !changesHolds && !awaitsSync && events.isEmpty && runnerChanges.isEmpty && dueAt == nil
            && endsAt == nil && !missesObservers
    }
}
