internal import SluiceSQLite

/// The notices that make other processes read what this transaction has changed.
extension TransactionCore {
    /// Changes of this transaction that other processes running the queues must learn.
    struct OutgoingChanges {
        var queues: Set<QueueID> = []
        var queuesOfNew: Set<QueueID> = []
        var actions: [ForeignChange] = []
        var controls: ControlChanges = []

        var isEmpty: Bool { queues.isEmpty && queuesOfNew.isEmpty && actions.isEmpty && controls.isEmpty }
    }

    /// Writes the changes for the other processes that run the queues.
    ///
    /// A process that runs the queues omits a queue whose only slot is taken: the process that settles its
    /// action sees all changes. One record of new actions is enough, since its reader reads them all.
    func notifyOthers(_ outgoing: OutgoingChanges) throws(SQLiteError) {
        var areTold = !outgoing.actions.isEmpty
        // The observers of a process that alone runs the queues know from records what may have changed.
        for queue in outgoing.queues {
            if try wakeOthers(for: queue, unlessTaken: epoch != nil) { areTold = true }
        }
        for queue in outgoing.queuesOfNew where !areTold { areTold = try wakeOthers(for: queue) }
        for change in outgoing.actions {
            try connection.cached(
                """
                INSERT INTO sluice_changes (epoch, queue_id, action_id, change)
                SELECT epoch, ?2, ?3, ?4 FROM sluice_runner_rows WHERE epoch <> ?1
                """
            ).bind(1, epoch ?? 0).bind(2, change.queue.rawValue).bind(3, change.action?.rawValue)
                .bind(4, change.kind.rawValue).run()
        }
        for (change, kind) in ControlChanges.kinds where outgoing.controls.contains(change) {
            try notifyRunners(kind)
        }
    }

    /// Writes a wake-up for a queue, perhaps unless its only slot is taken; returns whether it was written.
    private func wakeOthers(for queue: QueueID, unlessTaken: Bool = true) throws(SQLiteError) -> Bool {
        try connection.cached(
            """
            INSERT INTO sluice_changes (epoch, queue_id, change)
            SELECT epoch, ?2, 'wake' FROM sluice_runner_rows WHERE epoch <> ?1
              AND NOT (?3 AND EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = ?2 AND slots = 1))
            """
        ).bind(1, epoch ?? 0).bind(2, queue.rawValue).bind(3, unlessTaken).run() > 0
    }

    func touch(_ queue: QueueID) {
        touchedQueues.insert(queue)
        if !others.isEmpty { outgoing.queues.insert(queue) }
    }

    /// Records a change of one action; of the application's transactions, observers need its number.
    func touch(_ action: ActionID, in queue: QueueID) {
        guard isJoined else { return touch(queue) }
        log(ForeignChange(.update, of: action, in: queue))
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
        log(ForeignChange(.update, of: place.action, in: queue))
        touchedQueues.insert(queue)
    }

    func log(_ change: ForeignChange) { if !others.isEmpty { outgoing.actions.append(change) } }

    /// Notifies the other processes that the set of runners has changed, or that they are to poll.
    func notifyRunners(_ change: ForeignChange.Kind) throws(SQLiteError) {
        guard !others.isEmpty else { return }
        try connection.cached(
            """
            INSERT INTO sluice_changes (epoch, change)
            SELECT epoch, ?1 FROM sluice_runner_rows WHERE epoch <> ?2
            """
        ).bind(1, change.rawValue).bind(2, epoch ?? 0).run()
    }
}
