internal import SluiceSQLite

extension TransactionCore {
    /// What stood when a transaction began.
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

        /// Puts it back, but for what only goes up.
        func restore(_ transaction: TransactionCore) {
            transaction.epoch = epoch
            transaction.claimCount = max(transaction.claimCount, claimCount)
            transaction.others = others
            transaction.seenOpening = seenOpening
        }
    }

    /// It has begun only behind a wait for the write lock, since a time by the clock's uptime.
    func hasWaited(since start: Duration) {
        waited = uptime - start
    }

    /// What this transaction has changed that other processes, which run the queues too, are to know.
    struct News {
        /// Queues that may have become ready.
        var queues: Set<QueueID> = []
        /// Queues with new actions.
        var queuesOfNew: Set<QueueID> = []
        /// What has become of single actions.
        var actions: [ForeignChange] = []
        /// Gates and holds.
        var controls: ControlChanges = []

        var isEmpty: Bool {
            queues.isEmpty && queuesOfNew.isEmpty && actions.isEmpty && controls.isEmpty
        }
    }

    /// Tells the other processes that run the queues.
    ///
    /// Not of a queue whose one slot is taken: whoever has claimed its action looks for the next one when it
    /// settles this, and sees then what has come meanwhile. And not of each new action: who is told of one
    /// reads them all.
    func tellOthers(_ news: News) throws(SQLiteError) {
        var areTold = !news.actions.isEmpty
        for queue in news.queues where try wakeOthers(for: queue) { areTold = true }
        for queue in news.queuesOfNew where !areTold { areTold = try wakeOthers(for: queue) }
        for change in news.actions {
            try connection.cached(
                """
                INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
                SELECT epoch, ?2, ?3, ?4 FROM sluice_runner_rows WHERE epoch <> ?1
                """
            )
            .bind(1, epoch ?? 0).bind(2, change.queue.rawValue).bind(3, change.action?.rawValue)
            .bind(4, change.change).run()
        }
        for (change, name) in ControlChanges.names where news.controls.contains(change) {
            try tellRunners(name)
        }
    }

    /// - Returns: Whether they are told: the queue is nobody's.
    private func wakeOthers(for queue: QueueID) throws(SQLiteError) -> Bool {
        let told = try connection.cached(
            """
            INSERT INTO sluice_changes (epoch, queue_id, change)
            SELECT epoch, ?2, 'wake' FROM sluice_runner_rows
            WHERE epoch <> ?1
              AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = ?2 AND slots = 1)
            """
        )
        .bind(1, epoch ?? 0).bind(2, queue.rawValue).run()
        return told > 0
    }
}

// MARK: - Noting

extension TransactionCore {
    /// Notes that a queue may have become ready.
    func touch(_ queue: QueueID) {
        touchedQueues.insert(queue)
        if !others.isEmpty { news.queues.insert(queue) }
    }

    /// Notes that a queue has got a new action, which has a number of its own.
    func touchNew(_ queue: QueueID) {
        touchedQueues.insert(queue)
        if !others.isEmpty { news.queuesOfNew.insert(queue) }
    }

    /// Gives an action that was stored before its place in a queue: it was scheduled, elsewhere or dead.
    func restore(_ place: Place, in queue: QueueID) throws(SQLiteError) {
        try order.placed(place, in: queue)
        // It says all that a touch would.
        log(ForeignChange(queue: queue, action: place.action, change: "update"))
        touchedQueues.insert(queue)
    }

    /// Tells the engines of other processes that run the queues what has become of an action.
    func log(_ change: ForeignChange) {
        if !others.isEmpty { news.actions.append(change) }
    }
}

extension TransactionCore {
    /// Tells the others that those who run the queues have changed, or that they are to look for work.
    func tellRunners(_ change: String) throws(SQLiteError) {
        guard !others.isEmpty else { return }
        try connection.cached(
            """
            INSERT INTO sluice_changes (epoch, change)
            SELECT epoch, ?1 FROM sluice_runner_rows WHERE epoch <> ?2
            """
        )
        .bind(1, change).bind(2, epoch ?? 0).run()
    }

    /// Keeps the order in memory while this process runs the queues, and not otherwise.
    func followOrder() {
        if epoch != nil { order.follow() } else { order.unfollow() }
    }
}

extension TransactionCore {
    /// Writes what concerns one row of many.
    ///
    /// Where the row cannot be written, as in a damaged file, it stays as it is, and holds up no other (G9):
    /// what it says goes on to hold, and a full look at the file names it.
    func writeIfPossible(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        do { try body() } catch  where isOfRow(error) { return }
    }

    /// Whether a row refuses to be written, and the transaction goes on without it.
    func isOfRow(_ error: SQLiteError) -> Bool {
        error.code.primary == .constraint && connection.isInTransaction
    }

    /// Writes something, so that the commit has something to sync.
    ///
    /// An update that changes no byte writes no page, and SQLite syncs nothing for it.
    func writeBarrier() throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_counters (name, value) VALUES ('barrier', 1)
            ON CONFLICT (name) DO UPDATE SET value = value + 1
            """
        )
        .run()
    }
}
