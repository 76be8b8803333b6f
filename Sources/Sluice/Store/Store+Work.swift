/// Finding the work there is, and what happens by time.
extension Store {
    /// Queues with work, a page at a time: those with new actions, then the others in the order of their
    /// numbers.
    ///
    /// Parked queues are left out: of what lifts that all are told. A queue may be named twice, and one that
    /// has become empty a moment ago too, or is parked and has new actions.
    package func queuesWithWork(
        _ page: WorkPage
    ) async throws(SluiceError) -> (queues: [QueueID], next: WorkPage?) {
        try await write(sync: .later) { try $0.fronts.queuesWithWork(page) }
    }

    /// Tries again what could not be decoded: the code may have changed.
    package func liftUndecodable() async throws(SluiceError) {
        try await write(sync: .later) { try $0.waits.liftUndecodable() }
    }

    /// Removes the holds that have ended by themselves, and tells of them.
    ///
    /// - Returns: When the next one ends; `nil` when none does by itself.
    package func endHolds() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { transaction in
            try transaction.gatesAndHolds.removeEndedHolds()
            return try transaction.gatesAndHolds.nextEndOfHolds()
        }
    }

    /// Whether anybody has committed since the last call; never in memory.
    ///
    /// It may say so when nobody has.
    func hasNewCommits() async throws(SluiceError) -> Bool {
        guard let reader else { return false }
        return try await reader.hasNewCommits()
    }

    /// Takes in what others have changed, by way of the commit's report.
    package func takeInForeignChanges() async throws(SluiceError) {
        try await write(sync: .later) { _ in }
    }

    /// Makes all earlier commits survive a loss of power.
    package func sync() async throws(SluiceError) {
        try await write(sync: .forced) { try $0.core.writeBarrier() }
    }
}
