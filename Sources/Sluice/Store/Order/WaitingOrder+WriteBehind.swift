internal import SluiceSQLite

/// Writes and deletes places on disk, many at a time.
extension WaitingOrder {
    func isWriteBehindDue(lastAction: Int64?) -> Bool {
        if leftovers.count >= max(limits.batch, dueAgain.leftovers) { return true }
        guard let lastAction, let ordered, lastAction >= dueAgain.action else { return false }
        return lastAction - ordered >= Int64(limits.newest)
    }

    /// Deletes leftover places, and writes those of the oldest of the newest actions.
    func writeBehind(lastAction: Int64) throws(SQLiteError) {
        try removeLeftovers()
        let ordered = try readOrdered()
        guard lastAction - ordered >= Int64(limits.newest) else { return }
        let through = ordered + Int64(limits.batch)
        try connection.cached(
            """
            INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id)
            SELECT queue_id, sort_key, id FROM sluice_action_rows
            WHERE id > ?1 AND id <= ?2 AND not_before_us IS NULL ORDER BY queue_id, sort_key, id
            """
        ).bind(1, ordered).bind(2, through).run()
        try connection.cached("UPDATE sluice_counters SET value = ?1 WHERE name = 'ordered'").bind(1, through)
            .run()
        orderedNext = through
    }

    /// Deletes places in the order of the disk, unless an action has returned to its place, as its row shows.
    func removeLeftovers() throws(SQLiteError) {
        leftovers.sort { ($0.queue, $0.place) < ($1.queue, $1.place) }
        let delete = try connection.cached(
            """
            DELETE FROM sluice_order_rows WHERE queue_id = ?1 AND sort_key = ?2 AND action_id = ?3
            AND NOT EXISTS (SELECT 1 FROM sluice_action_rows AS a
                            WHERE a.id = ?3 AND a.queue_id = ?1 AND a.sort_key = ?2
                              AND a.not_before_us IS NULL)
            """
        )
        for (queue, place) in leftovers {
            try delete.bind(1, queue.rawValue).bind(2, place.key).bind(3, place.action.rawValue).run()
        }
        leftoversCleared = leftovers.count
    }

    /// Postpones the next try, after a failure, until as many changes again have accumulated.
    func postponeWriteBehind(lastAction: Int64?) {
        dueAgain = (leftovers.count + limits.batch, (lastAction ?? 0) + Int64(limits.batch))
    }
}
