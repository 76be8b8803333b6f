internal import SluiceSQLite

/// Roll-back of the core's values, and writes that may fail for one row alone.
extension TransactionCore {
    /// The values of the core when a transaction began.
    struct Before {
        private let epoch: Int64?
        private let claimCount: Int64
        private let others: [Int64]
        private let seenOpening: Int64

        init(_ transaction: TransactionCore) {
            epoch = transaction.epoch
            claimCount = transaction.claimCount
            others = transaction.others
            seenOpening = transaction.seenOpening
        }

        /// Restores the values in a roll-back, except counters that are never lowered.
        func restore(_ transaction: TransactionCore) {
            transaction.epoch = epoch
            transaction.claimCount = max(transaction.claimCount, claimCount)
            transaction.others = others
            transaction.seenOpening = seenOpening
        }
    }

    /// Records that BEGIN had to wait for the write lock since `start`, by the clock's uptime.
    func hasWaited(since start: Duration) { waited = uptime - start }

    /// Keeps the order in memory exactly while this process runs the queues.
    func followOrder() { if epoch != nil { order.follow() } else { order.unfollow() } }

    /// Writes a change that concerns one row of many.
    ///
    /// If the row cannot be written, as in a damaged file, it stays as it is and delays no other (G9). Its
    /// contents remain valid, and a full check of the file names it.
    func writeIfPossible(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        do { try body() } catch  where isOfRow(error) { return }
    }

    /// Returns whether one row refuses to be written, so that the transaction can continue without it.
    func isOfRow(_ error: SQLiteError) -> Bool {
        error.code.primary == .constraint && connection.isInTransaction
    }

    /// Writes a counter, so that the commit has something to sync.
    ///
    /// An update that changes no byte writes no page, and SQLite syncs nothing for it.
    func writeBarrier() throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_counters (name, value) VALUES ('barrier', 1)
            ON CONFLICT (name) DO UPDATE SET value = value + 1
            """
        ).run()
    }
}
