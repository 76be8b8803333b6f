extension Store {
    /// Makes dead letters of expired actions whose policy is to skip, and deletes ended keys, in batches.
    ///
    /// It returns when to sweep again. With another policy, the action remains until it is the head, and its
    /// queue is polled once.
    package func sweep(_ admission: Admission) async throws(SluiceError) -> Timestamp? {
        try await write(sync: .owed) { try $0.expiry.sweep(admission) }
    }

    /// Places due scheduled actions; returns when to do so again, when to sweep, and which cannot be placed.
    func admitDue() async throws(SluiceError) -> (
        scheduled: Timestamp?, sweep: Timestamp?, unplaced: [UnplacedAction]
    ) {
        try await write(sync: .later) {
            (try $0.schedule.admitScheduled(), try $0.expiry.nextSweep(), $0.schedule.memory.unplaced)
        }
    }

    /// Places due scheduled actions (G2), and returns when the next is due.
    package func admitScheduled() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { try $0.schedule.admitScheduled() }
    }
}
