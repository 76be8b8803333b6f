internal import SluiceSQLite

/// The order of queues with another discipline than first in, first out: from the back, or in passes.
extension WaitingOrder {
    /// Returns the first place of a queue by its discipline; in a pass, the first after its mark.
    func head(of queue: QueueID, by discipline: QueueDiscipline) throws(SQLiteError) -> Place? {
        try load()
        lane(of: queue).turn(isReversed: discipline == .lastInFirstOut && !mutant("last first"))
        if discipline == .passOver {
            try followPass(of: queue)
        } else if lanes[queue]?.pass != nil {
            lanes[queue]?.forgetPasses()
            passQueues.remove(queue)
        }
        return try head(of: queue)
    }

    private func followPass(of queue: QueueID) throws(SQLiteError) {
        let pass = lanes[queue]?.pass
        if pass?.isOutdated == false { return }
        let row = try connection.cached(
            "SELECT sort_key, action_id, is_worth_repeating FROM sluice_pass_rows WHERE queue_id = ?1"
        ).bind(1, queue.rawValue).first { (mark: Place($0, key: 0, action: 1), isWorthRepeating: $0.bool(2)) }
        let closesGroups = try connection.cached(
            "SELECT 1 FROM sluice_closed_group_rows WHERE queue_id = ?1 LIMIT 1"
        ).bind(1, queue.rawValue).hasRow()
        guard pass == nil else {
            let isWorthRepeating = row?.isWorthRepeating == true || closesGroups
            lanes[queue]?.resumePass(at: row?.mark, isWorthRepeating: isWorthRepeating)
            return
        }
        // Places before the mark that were added since are unknown.
        lanes[queue]?.beginPasses(at: row?.mark, isWorthRepeating: row != nil || closesGroups)
        passQueues.insert(queue)
    }

    /// Moves the mark of the pass to a place whose action was passed over, tried or with its group.
    ///
    /// The mark never moves back, to an earlier place that the action has got while it ran.
    func passOver(_ place: Place, of queue: QueueID, wasTried: Bool) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_pass_rows (queue_id, sort_key, action_id, is_worth_repeating)
            VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT (queue_id) DO UPDATE SET
                sort_key = iif((sort_key, action_id) < (excluded.sort_key, excluded.action_id),
                               excluded.sort_key, sort_key),
                action_id = iif((sort_key, action_id) < (excluded.sort_key, excluded.action_id),
                                excluded.action_id, action_id),
                is_worth_repeating = max(is_worth_repeating, excluded.is_worth_repeating)
            """
        ).bind(1, queue.rawValue).bind(2, place.key).bind(3, place.action.rawValue).bind(4, wasTried).run()
        // After a roll-back the mark is read again.
        let isBack = lanes[queue]?.pass?.mark.map { place < $0 } ?? false
        if !isBack { lanes[queue]?.moveMark(to: place) }
        if wasTried { lanes[queue]?.pass?.isWorthRepeating = true }
    }

    /// Ends the pass and returns `true`, unless nothing was passed over or the next pass would be the same.
    func endPass(of queue: QueueID) throws(SQLiteError) -> Bool {
        guard let pass = lanes[queue]?.pass, pass.mark != nil, pass.isWorthRepeating else { return false }
        try restartPass(of: queue)
        return true
    }

    /// Ends the pass; the next one begins at the front.
    func restartPass(of queue: QueueID) throws(SQLiteError) {
        try connection.cached("DELETE FROM sluice_pass_rows WHERE queue_id = ?1").bind(1, queue.rawValue)
            .run()
        lanes[queue]?.endPass()
    }

    func hasPassedOver(in queue: QueueID) -> Bool { lanes[queue]?.pass?.mark != nil }

    /// Records that an action passed over may have become able to run.
    func repeatPass(of queue: QueueID) {
        if !passQueues.isEmpty { lanes[queue]?.pass?.isWorthRepeating = true }
    }

    /// Forgets all passes, whose changes in the transaction are rolled back.
    func forgetPasses() {
        for queue in passQueues { lanes[queue]?.forgetPasses() }
        passQueues = []
    }

    /// Marks all passes to be read again, since other connections may have moved them.
    ///
    /// New actions are compared with the mark. Any other change may concern the start of a group, but for the
    /// wake-up by a success in the application's transaction, which has opened its groups itself.
    func outdatePasses(_ changes: [ForeignChange]) {
        guard !passQueues.isEmpty else { return }
        for queue in passQueues { lanes[queue]?.pass?.outdate() }
        for change in changes where change.action != nil && change.kind != .insert && change.kind != .wake {
            repeatPass(of: change.queue)
        }
    }

    func discipline(ofRunning action: ActionID) -> QueueDiscipline {
        running[action]?.discipline ?? .firstInFirstOut
    }
}
