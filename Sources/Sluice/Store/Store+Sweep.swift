/// The bounded sweep of expired actions and ended deduplication keys.
extension Store {
    /// Makes dead letters of expired actions whose policy is to skip, and deletes ended keys: a batch of
    /// each.
    ///
    /// With another policy, the action remains until it is the head, and its queue is polled once.
    ///
    /// - Returns: When to sweep again; `nil` if nothing is left that ends.
    package func sweep(_ admission: Admission) async throws(SluiceError) -> Timestamp? {
        try await write(sync: .owed) { try $0.expiry.sweep(admission) }
    }

    /// Places due scheduled actions; returns when to do so again, when to sweep, and which cannot be placed.
    func admitDue() async throws(SluiceError) -> Admitted {
        try await write(sync: .later) {
            Admitted(
                scheduled: try $0.schedule.admitScheduled(),
                sweep: try $0.expiry.nextSweep(),
                unplaced: $0.schedule.memory.unplaced
            )
        }
    }

    struct Admitted: Sendable {
        let scheduled: Timestamp?
        let sweep: Timestamp?
        let unplaced: [UnplacedAction]
    }
}

/// Scheduled actions, which get their places when they are due (G2).
extension Store {
    /// Places due scheduled actions, and returns when the next is due.
    package func admitScheduled() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { try $0.schedule.admitScheduled() }
    }
}
