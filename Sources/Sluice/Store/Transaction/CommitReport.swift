/// What a commit changed, for the scheduler.
package struct CommitReport: Sendable {
    /// Queues that may have become ready, in the order in which they came to the file.
    package let queues: [QueueID]
    /// Changes that others made, to single actions or to queues.
    package let foreignChanges: [ForeignChange]
    /// Others have added actions that are scheduled or end.
    package let hasForeignTimes: Bool
    /// What has become of the processes that run the queues.
    package let runnerChanges: RunnerChanges
    /// Gates that were closed before.
    package let openings: [GateOpening]
    /// Whether holds may have come or gone.
    package let changesHolds: Bool
    /// What has happened, if somebody observes, or the log asks for it.
    package let events: [QueueEvent]
    /// Whether somebody observes: else the events are the log's alone.
    package let isObserved: Bool
    /// What some of them are about, if somebody asks for it.
    let contents: ObservedContents?
    /// When something is due first that this commit has set aside.
    package let dueAt: Timestamp?
    /// Something was written that a loss of power could still undo.
    package let awaitsSync: Bool

    var isEmpty: Bool {
        queues.isEmpty && foreignChanges.isEmpty && openings.isEmpty && !changesHolds && !awaitsSync
            && events.isEmpty && runnerChanges.isEmpty && dueAt == nil
    }
}
