extension Store {
    /// Returns queues with work, a page at a time: those with new actions, then the others by id.
    ///
    /// Parked queues are left out: the end of a parking is reported. A queue may occur twice, have just
    /// become empty, or be parked with new actions.
    package func queuesWithWork(
        _ page: WorkPage
    ) async throws(SluiceError) -> (queues: [QueueID], next: WorkPage?) {
        try await write(sync: .later) { try $0.fronts.queuesWithWork(page) }
    }

    /// Lifts the parking of undecodable actions: the code may have changed.
    package func liftUndecodable() async throws(SluiceError) {
        try await write(sync: .later) { try $0.waits.liftUndecodable() }
    }

    /// Deletes the batches of queues whose options were removed, so that the next claims see the new rules.
    func forgetBatches(_ form: QueuePattern.Form) async throws(SluiceError) {
        try await write(sync: .later) { try $0.batches.forget(form) }
    }

    /// Deletes holds that have ended by themselves, and opens such gates; the commit reports the next end.
    package func endControls() async throws(SluiceError) {
        try await write(sync: .later) {
            try $0.gatesAndHolds.removeEndedHolds()
            try $0.closings.openEnded()
            if let end = try $0.gatesAndHolds.nextEndOfHolds() { $0.core.expectEnd(at: end) }
        }
    }

    /// Whether any connection may have committed since the last call; always `false` in memory.
    ///
    /// At the first call, `nil` means: not since the first read.
    func hasNewCommits() async throws(SluiceError) -> Bool? {
        guard let reader else { return false }
        return try await reader.hasNewCommits()
    }

    /// Reads the changes of other connections, which the commit's report then contains.
    package func readForeignChanges() async throws(SluiceError) { try await write(sync: .later) { _ in } }

    /// Makes all earlier commits survive a loss of power.
    package func sync() async throws(SluiceError) {
        try await write(sync: .forced) { try $0.core.writeBarrier() }
    }

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
