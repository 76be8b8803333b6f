internal import SluiceSQLite

extension Settlements {
    /// - Returns: `false` when the receipt does not hold the slot, or the action is gone: the savepoint is to
    ///   be rolled back.
    func succeedJoined(_ receipt: Receipt) throws(SQLiteError) -> Bool {
        // First: it takes the write lock, and what is read behind it is the file's last state.
        guard try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) else { return false }
        core.touch(receipt.queue)
        return try connection.cached(
            """
            SELECT 1 FROM sluice_claim_rows
            WHERE queue_id = ?1 AND slot = ?2 AND action_id = ?3 AND claim = ?4
            """
        )
        .bind(1, receipt.queue.rawValue).bind(2, receipt.slot)
        .bind(3, receipt.action.rawValue).bind(4, receipt.claim).hasRow()
    }

    /// Ends a run that the application had settled in a transaction of its own: the handler has returned.
    func endOwn(_ own: OwnSettlements.Entry, _ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        _ = try takeSlot(of: receipt)
        try order.leaving(receipt.action, of: receipt.queue)
        core.settledActions.note(receipt.action, .succeeded)
        if core.events.isOn {
            core.events.record(.succeeded, receipt.action, of: own.kind, in: own.queue) {
                $0.attempt = own.number
            }
            core.events.leaves(receipt.queue)
        }
        return .settledByApplication
    }
}

// MARK: - In the engine's transaction

extension Settlements {
    /// Settles a run with success, and with what the application writes.
    ///
    /// A receipt that does not hold the slot, and an action that is gone, have nothing written (G6). A
    /// success of an action that was cancelled stands, as it does otherwise.
    func succeed(_ receipt: Receipt, _ work: SettlingWork) throws -> SettleResult {
        guard try takeSlot(of: receipt) != nil else { return try refuse(receipt) }
        try core.events.recordSuccess(receipt)
        // Before the application's code, which may want the room or the key, or delete a row that takes this
        // action along.
        guard try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) else { return .removed }
        try work.perform(core, enqueues)
        // What triggers of the application's have done to actions.
        try core.takeInChanges(isOfTransaction: true)
        try schedule.readChanges()
        return .settled
    }
}
