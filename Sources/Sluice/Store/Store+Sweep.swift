/// The bounded sweep: what has expired, and keys whose time is over.
extension Store {
    /// Sets aside what has expired, as far as its policy skips it, and removes ended keys: a batch of each.
    ///
    /// What another policy is for stays until it is the head; its queue is looked at once.
    ///
    /// - Returns: When to sweep again; `nil` when nothing is left that will end.
    package func sweep(_ admission: Admission) async throws(SluiceError) -> Timestamp? {
        try await write(sync: .owed) { try $0.expiry.sweep(admission) }
    }

    /// Gives the scheduled actions that are due their place, and tells when the next is due and when to
    /// sweep, and which have none as their rows cannot be written.
    func admitDue() async throws(SluiceError) -> Admitted {
        try await write(sync: .later) {
            Admitted(
                scheduled: try $0.schedule.admitScheduled(),
                sweep: try $0.expiry.nextSweep(),
                unplaced: $0.schedule.memory.unplaced
            )
        }
    }

    /// What a look at the schedule has found.
    struct Admitted: Sendable {
        let scheduled: Timestamp?
        let sweep: Timestamp?
        let unplaced: [UnplacedAction]
    }
}

/// Actions that are scheduled for later, and take their place when they are due (G2).
extension Store {
    /// Gives the scheduled actions that are due their place in the order, and tells when the next is due.
    package func admitScheduled() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { try $0.schedule.admitScheduled() }
    }
}
