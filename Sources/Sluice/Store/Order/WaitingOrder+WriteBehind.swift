internal import SluiceSQLite

/// Giving places in the file, and removing them, many at a time.
extension WaitingOrder {
    /// Whether enough has come together, given the number of the last action.
    func isWriteBehindDue(lastAction: Int64?) -> Bool {
        if leftovers.count >= max(limits.batch, dueAgain.leftovers) { return true }
        guard let lastAction, let ordered, lastAction >= dueAgain.action else { return false }
        return lastAction - ordered >= Int64(limits.newest)
    }

    /// Removes what is left over, and gives the oldest of the newest actions their places.
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
        )
        .bind(1, ordered).bind(2, through).run()
        try connection.cached("UPDATE sluice_counters SET value = ?1 WHERE name = 'ordered'")
            .bind(1, through).run()
        orderedNext = through
    }

    /// Removes the places of actions that are gone, in the order in which they stand in the file.
    ///
    /// An action may have come back to its place since: its row tells.
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

    /// It failed, and is not tried again before as much has come together once more.
    func postponeWriteBehind(lastAction: Int64?) {
        dueAgain = (leftovers.count + limits.batch, (lastAction ?? 0) + Int64(limits.batch))
    }
}
