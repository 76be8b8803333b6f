internal import SluiceSQLite

final class Removals: TransactionSubject {
    let core: TransactionCore
    let blocks: QueueBlocks
    let keys: DeduplicationKeys
    let groups: Groups

    init(_ core: TransactionCore, _ blocks: QueueBlocks, _ keys: DeduplicationKeys, _ groups: Groups) {
        (self.core, self.blocks, self.keys, self.groups) = (core, blocks, keys, groups)
    }

    /// Removes an action with all its rows, and lifts the parking that it caused.
    func remove(_ action: ActionID, in queue: QueueID) throws(SQLiteError) {
        try core.events.record(.removed, action, in: queue)
        try discard(action, of: queue, as: .removed)
        try blocks.liftBlock(of: action, in: queue)
    }

    /// Deletes an action, and returns whether it was there.
    @discardableResult
    func discard(_ action: ActionID, of queue: QueueID, as end: ActionEnd) throws(SQLiteError) -> Bool {
        try order.leaving(action, of: queue)
        let removed = try run("DELETE FROM sluice_action_rows WHERE id = ?1", action)
        if removed > 0 {
            order.count(-1, in: queue)
            core.settledActions.note(action, end)
            try keys.beginRetention(of: action, as: end)
            try groups.forgetTraces(of: action)
        }
        let hadState = try run("DELETE FROM sluice_state_rows WHERE action_id = ?1", action)
        guard hadState > 0 else { return removed > 0 }
        try run("DELETE FROM sluice_attempt_rows WHERE action_id = ?1", action)
        return removed > 0
    }
}
