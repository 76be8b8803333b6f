internal import SluiceSQLite

/// Reasons in the file why this broker cannot run a head, if no other process can.
extension Claims {
    /// Records that the head of a queue has no route, unless another process has one.
    func noteUnroutable(_ row: HeadRow, hasRoute: Bool, in queue: QueueID, _ turn: Turn) throws {
        // A process with a route for the queue may lack one for this kind.
        let others = core.others
        if !hasRoute, !others.isEmpty, runElsewhere.contains(queue, at: core.uptime, among: others) { return }
        if try wasTriedElsewhere(row.action) { return }
        try note(hasRoute ? .unknownKind : .noRoute, nil, of: row, in: queue, turn)
    }

    /// Records once in the file why the broker cannot run a head.
    func note(_ why: BlockReason, _ text: String?, of row: HeadRow, in queue: QueueID, _ turn: Turn) throws {
        guard row.blockedBy != why || row.blockedError != text else { return }
        try blocks.noteBlock(why, text, of: row.action, isHead: turn.defersWaiting, in: queue)
    }

    /// Deletes the record that the head has no route, since something else blocks it now.
    func forgetNote(of row: HeadRow, in queue: QueueID) throws {
        if row.blockedBy?.isOfRoute == true { try blocks.unblock(queue) }
    }

    /// Returns whether another process that runs the queues has tried the action.
    private func wasTriedElsewhere(_ action: ActionID) throws(SQLiteError) -> Bool {
        guard let epoch = core.epoch, !core.others.isEmpty else { return false }
        return try connection.cached(
            """
            SELECT 1 FROM sluice_attempt_rows WHERE action_id = ?1
              AND claim >> 32 IN (SELECT epoch FROM sluice_runner_rows WHERE epoch <> ?2)
            LIMIT 1
            """
        ).bind(1, action.rawValue).bind(2, epoch).hasRow()
    }
}
