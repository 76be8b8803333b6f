internal import SluiceSQLite

extension Claims {
    /// Notes that the head of a queue has no route, unless another process has one.
    func noteUnroutable(_ row: HeadRow, hasRoute: Bool, in queue: QueueID, _ turn: Turn) throws {
        // Who has a route for the queue need not have one for each kind.
        if !hasRoute, !core.others.isEmpty, runElsewhere.contains(queue, at: core.uptime, among: core.others)
        {
            return
        }
        if try wasTriedElsewhere(row.head.action) { return }
        try note(hasRoute ? .unknownKind : .noRoute, nil, of: row, in: queue, turn)
    }

    /// Notes in the file why the broker cannot run a head, once.
    func note(
        _ reason: BlockReason,
        _ detail: String?,
        of row: HeadRow,
        in queue: QueueID,
        _ turn: Turn
    ) throws(SQLiteError) {
        guard row.blockedBy != reason || row.blockedError != detail else { return }
        try blocks.noteBlock(reason, detail, of: row.head.action, isHead: turn.setsAside, in: queue)
    }

    /// Forgets that the head had no route, where something else keeps it by now.
    func forgetNote(of row: HeadRow, in queue: QueueID) throws {
        guard row.blockedBy?.isOfRoute == true else { return }
        try blocks.unblock(queue)
    }

    /// Whether another process that runs the queues has tried the action.
    private func wasTriedElsewhere(_ action: ActionID) throws(SQLiteError) -> Bool {
        guard let epoch = core.epoch, !core.others.isEmpty else { return false }
        return try connection.cached(
            """
            SELECT 1 FROM sluice_attempt_rows
            WHERE action_id = ?1
              AND claim >> 32 IN (SELECT epoch FROM sluice_runner_rows WHERE epoch <> ?2)
            LIMIT 1
            """
        )
        .bind(1, action.rawValue).bind(2, epoch).hasRow()
    }
}
