internal import SluiceSQLite

/// Roll-back of the core's values, and the changes recorded for other processes.
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
    func hasWaited(since start: Duration) {
        waited = uptime - start
    }

    /// Changes of this transaction that other processes running the queues must learn.
    struct OutgoingChanges {
        /// Queues that may have become ready.
        var queues: Set<QueueID> = []
        var queuesOfNew: Set<QueueID> = []
        var actions: [ForeignChange] = []
        var controls: ControlChanges = []

        var isEmpty: Bool {
            queues.isEmpty && queuesOfNew.isEmpty && actions.isEmpty && controls.isEmpty
        }
    }

    /// Writes the changes for the other processes that run the queues.
    ///
    /// It omits a queue whose only slot is taken: the process that settles the running action then claims the
    /// next one and sees all changes. Of new actions one record is enough, since its reader reads them all.
    func notifyOthers(_ outgoing: OutgoingChanges) throws(SQLiteError) {
        var areTold = !outgoing.actions.isEmpty
        for queue in outgoing.queues where try wakeOthers(for: queue) { areTold = true }
        for queue in outgoing.queuesOfNew where !areTold { areTold = try wakeOthers(for: queue) }
        for change in outgoing.actions {
            try connection.cached(
                """
                INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
                SELECT epoch, ?2, ?3, ?4 FROM sluice_runner_rows WHERE epoch <> ?1
                """
            )
            .bind(1, epoch ?? 0).bind(2, change.queue.rawValue).bind(3, change.action?.rawValue)
            .bind(4, change.change).run()
        }
        for (change, name) in ControlChanges.names where outgoing.controls.contains(change) {
            try notifyRunners(name)
        }
    }

    /// Writes a wake-up for a queue, unless its only slot is taken; returns whether it was written.
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
    /// Records that a queue may have become ready.
    func touch(_ queue: QueueID) {
        touchedQueues.insert(queue)
        if !others.isEmpty { outgoing.queues.insert(queue) }
    }

    /// Records that a queue has a new action, with a new sequence.
    func touchNew(_ queue: QueueID) {
        touchedQueues.insert(queue)
        if !others.isEmpty { outgoing.queuesOfNew.insert(queue) }
    }

    /// Places an action in a queue again that was scheduled, in another queue or a dead letter.
    func restore(_ place: Place, in queue: QueueID) throws(SQLiteError) {
        try order.placed(place, in: queue)
        // The change implies a touch.
        log(ForeignChange(queue: queue, action: place.action, change: "update"))
        touchedQueues.insert(queue)
    }

    /// Records a change of an action for the other processes that run the queues.
    func log(_ change: ForeignChange) {
        if !others.isEmpty { outgoing.actions.append(change) }
    }
}

extension TransactionCore {
    /// Notifies the other processes that the set of runners has changed, or that they are to poll.
    func notifyRunners(_ change: String) throws(SQLiteError) {
        guard !others.isEmpty else { return }
        try connection.cached(
            """
            INSERT INTO sluice_changes (epoch, change)
            SELECT epoch, ?1 FROM sluice_runner_rows WHERE epoch <> ?2
            """
        )
        .bind(1, change).bind(2, epoch ?? 0).run()
    }

    /// Keeps the order in memory exactly while this process runs the queues.
    func followOrder() {
        if epoch != nil { order.follow() } else { order.unfollow() }
    }
}

extension TransactionCore {
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
        )
        .run()
    }
}
