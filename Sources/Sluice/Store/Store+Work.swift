/// Finding work, and changes that happen by time.
extension Store {
    /// Returns queues with work, a page at a time: those with new actions, then the others by id.
    ///
    /// Parked queues are left out, since the end of a parking is reported. A queue may occur twice; it may
    /// have just become empty, or be parked with new actions.
    package func queuesWithWork(
        _ page: WorkPage
    ) async throws(SluiceError) -> (queues: [QueueID], next: WorkPage?) {
        try await write(sync: .later) { try $0.fronts.queuesWithWork(page) }
    }

    /// Lifts the parking of undecodable actions: the code may have changed.
    package func liftUndecodable() async throws(SluiceError) {
        try await write(sync: .later) { try $0.waits.liftUndecodable() }
    }

    /// Deletes and reports the holds that have ended by themselves.
    ///
    /// - Returns: When the next one ends; `nil` if none ends by itself.
    package func endHolds() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { transaction in
            try transaction.gatesAndHolds.removeEndedHolds()
            return try transaction.gatesAndHolds.nextEndOfHolds()
        }
    }

    /// Returns whether any connection has committed since the last call; always `false` in memory.
    ///
    /// It may return `true` without a commit.
    func hasNewCommits() async throws(SluiceError) -> Bool {
        guard let reader else { return false }
        return try await reader.hasNewCommits()
    }

    /// Reads the changes of other connections, which the commit's report then contains.
    package func readForeignChanges() async throws(SluiceError) {
        try await write(sync: .later) { _ in }
    }

    /// Makes all earlier commits survive a loss of power.
    package func sync() async throws(SluiceError) {
        try await write(sync: .forced) { try $0.core.writeBarrier() }
    }
}
