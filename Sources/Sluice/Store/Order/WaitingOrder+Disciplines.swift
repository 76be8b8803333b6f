internal import SluiceSQLite

/// The order of queues with a discipline of their own: from the back, or in passes.
extension WaitingOrder {
    /// The place in a queue that comes first by its discipline, as far as memory and the order in the file
    /// know; in a pass, the first behind its mark.
    func head(of queue: QueueID, by discipline: QueueDiscipline) throws(SQLiteError) -> Place? {
        try load()
        lanes[queue, default: Lane()].turn(isReversed: discipline == .lastInFirstOut && !mutant("last first"))
        if discipline == .passOver {
            try followPass(of: queue)
        } else if lanes[queue]?.pass != nil {
            lanes[queue]?.forgetPasses()
            passQueues.remove(queue)
        }
        return try head(of: queue)
    }

    /// Reads how far the pass has come, unless memory knows it.
    private func followPass(of queue: QueueID) throws(SQLiteError) {
        let isKnown = lanes[queue]?.pass != nil
        if isKnown, lanes[queue]?.pass?.isOutdated == false { return }
        let row = try connection.cached(
            "SELECT sort_key, action_id, is_worth_repeating FROM sluice_pass_rows WHERE queue_id = ?1"
        )
        .bind(1, queue.rawValue).first {
            (
                mark: Place(key: PlaceKey($0, 0), action: ActionID(rawValue: $0.int64(1))),
                isWorthRepeating: $0.bool(2)
            )
        }
        let closesGroups = try connection.cached(
            "SELECT 1 FROM sluice_closed_group_rows WHERE queue_id = ?1 LIMIT 1"
        )
        .bind(1, queue.rawValue).hasRow()
        if isKnown {
            let isWorthRepeating = row?.isWorthRepeating == true || closesGroups
            lanes[queue]?.resumePass(at: row?.mark, isWorthRepeating: isWorthRepeating)
        } else {
            // What has come in front of a mark meanwhile is unknown.
            lanes[queue]?.beginPasses(at: row?.mark, isWorthRepeating: row != nil || closesGroups)
            passQueues.insert(queue)
        }
    }

    /// The pass goes on behind a place whose action has been passed over; never back, where that has got an
    /// earlier place while it ran.
    ///
    /// - Parameter wasTried: Whether it has failed, and not been passed over with its group.
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
        )
        .bind(1, queue.rawValue).bind(2, place.key).bind(3, place.action.rawValue).bind(4, wasTried).run()
        // A rollback has the mark read again.
        let isBack = lanes[queue]?.pass?.mark.map { place < $0 } ?? false
        if !isBack { lanes[queue]?.moveMark(to: place) }
        if wasTried { lanes[queue]?.pass?.isWorthRepeating = true }
    }

    /// Ends the pass, unless nothing has been passed over in it, or the next one would be no other.
    ///
    /// - Returns: Whether another pass begins, at the front.
    func endPass(of queue: QueueID) throws(SQLiteError) -> Bool {
        guard let pass = lanes[queue]?.pass, pass.mark != nil, pass.isWorthRepeating else { return false }
        try connection.cached("DELETE FROM sluice_pass_rows WHERE queue_id = ?1").bind(1, queue.rawValue)
            .run()
        lanes[queue]?.endPass()
        return true
    }

    /// The pass under way is over, and the next one begins at the front.
    func restartPass(of queue: QueueID) throws(SQLiteError) {
        try connection.cached("DELETE FROM sluice_pass_rows WHERE queue_id = ?1").bind(1, queue.rawValue)
            .run()
        lanes[queue]?.endPass()
    }

    /// Whether something has been passed over in the pass under way.
    func hasPassedOver(in queue: QueueID) -> Bool { lanes[queue]?.pass?.mark != nil }

    /// What a pass has gone by may have become able to run.
    func repeatPass(of queue: QueueID) {
        if !passQueues.isEmpty { lanes[queue]?.pass?.isWorthRepeating = true }
    }

    /// Forgets all passes: what a transaction has made of them is rolled back.
    func forgetPasses() {
        for queue in passQueues { lanes[queue]?.forgetPasses() }
        passQueues = []
    }

    /// Has the marks read again: other connections may have moved them.
    ///
    /// What has been added is compared with the mark; any other change may be that of a group's start.
    func outdatePasses(_ changes: [ForeignChange]) {
        guard !passQueues.isEmpty else { return }
        for queue in passQueues { lanes[queue]?.pass?.outdate() }
        for change in changes where change.action != nil && change.change != "insert" {
            repeatPass(of: change.queue)
        }
    }

    /// By which discipline an action runs.
    func discipline(ofRunning action: ActionID) -> QueueDiscipline {
        running[action]?.discipline ?? .firstInFirstOut
    }
}
