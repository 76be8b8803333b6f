internal import SluiceSQLite

/// Settlements in transactions that contain the application's writes.
extension Settlements {
    /// - Returns: `false` if the receipt does not hold the slot, or the action is deleted; the savepoint must
    ///   be rolled back.
    func succeedJoined(_ receipt: Receipt) throws(SQLiteError) -> Bool {
        // First: it takes the write lock, so that later reads see the file's last state.
        guard try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) else { return false }
        core.touch(receipt.queue)
        return try connection.cached(
            """
            SELECT 1 FROM sluice_claim_rows
            WHERE queue_id = ?1 AND slot = ?2 AND action_id = ?3 AND claim = ?4
            """
        ).bind(receipt).hasRow()
    }

    /// Ends a run that the application settled in a transaction of its own, when the handler has returned.
    func endOwn(_ own: OwnSettlements.Entry, _ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        _ = try takeSlot(of: receipt)
        try order.leaving(receipt.action, of: receipt.queue)
        core.settledActions.note(receipt.action, .succeeded)
        let events = core.events
        if events.isOn {
            events.record(.succeeded, receipt.action, of: own.kind, in: own.queue) { $0.attempt = own.number }
            events.leaves(receipt.queue)
        }
        return .settledByApplication
    }
}

// MARK: - In the engine's transaction

extension Settlements {
    /// Settles a run with success and the application's writes.
    ///
    /// If the receipt does not hold the slot, or the action is deleted, nothing is written (G6). As in other
    /// settlements, the success of a cancelled action is kept.
    func succeed(_ receipt: Receipt, _ work: SettlingWork) throws -> SettleResult {
        guard try takeSlot(of: receipt) != nil else { return try refuse(receipt) }
        try core.events.recordSuccess(receipt)
        // Before the application's code, which may need the room or the key, or delete this action by a
        // trigger.
        guard try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) else { return .removed }
        try work.perform(core, enqueues)
        // Read the changes that the application's triggers have made.
        try core.readForeignChanges(isOfTransaction: true)
        try schedule.readChanges()
        return .settled
    }
}
