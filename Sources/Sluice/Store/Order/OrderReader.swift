internal import SluiceSQLite

/// Reads the order of waiting actions from a snapshot of the file, without the writer's memory.
struct OrderReader {
    let connection: Connection

    /// Returns actions of the queues that match a pattern, by queue.
    ///
    /// Those of a queue are in the order in which it runs them, followed by scheduled ones by time.
    func actions(_ form: QueuePattern.Form, limit: Int) throws(SQLiteError) -> [ActionID] {
        let (first, last) = form.bounds
        let newest = try newestPlaces(first, last)
        var found: [ActionID] = []
        var page = try queues(from: first, before: last, after: nil)
        while found.count < limit {
            for queue in page where found.count < limit {
                found += try actions(in: queue, newest[queue] ?? [], limit: limit - found.count)
            }
            guard page.count == Self.pageSize else { break }
            page = try queues(from: first, before: last, after: page.last)
        }
        return found
    }

    private static let pageSize = 1_000

    private func queues(
        from first: String,
        before last: String?,
        after end: QueueID?
    ) throws(SQLiteError) -> [QueueID] {
        // Not by the last name as read: in a damaged file, text that is not UTF-8 reads differently.
        try connection.cached(
            """
            SELECT queue_id FROM sluice_queue_rows WHERE (name, queue_id) > (
                      coalesce((SELECT n.name FROM sluice_queue_rows AS n WHERE n.queue_id = ?3), ?1),
                      coalesce(?3, -9e999))
              AND (?2 IS NULL OR name < ?2) ORDER BY name, queue_id LIMIT ?4
            """
        ).bind(1, first).bind(2, last).bind(3, end?.rawValue).bind(4, Self.pageSize)
            .all { QueueID(rawValue: $0.int64(0)) }
    }

    /// Returns the places of the newest actions, which have none on disk, by queue.
    private func newestPlaces(_ first: String, _ last: String?) throws(SQLiteError) -> [QueueID: [Place]] {
        let rows = try connection.cached(
            """
            SELECT a.queue_id, a.sort_key, a.id FROM sluice_action_rows AS a
            JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            WHERE a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
              AND a.not_before_us IS NULL AND q.name >= ?1 AND (?2 IS NULL OR q.name < ?2)
            """
        ).bind(1, first).bind(2, last).all {
            (queue: QueueID(rawValue: $0.int64(0)), place: Place($0, key: 1, action: 2))
        }
        return Dictionary(grouping: rows, by: \.queue).mapValues { $0.map(\.place) }
    }

    private func actions(in queue: QueueID, _ newest: [Place], limit: Int) throws(SQLiteError) -> [ActionID] {
        let ordered = try connection.cached(
            """
            SELECT o.sort_key, o.action_id FROM sluice_order_rows AS o JOIN sluice_action_rows AS a
              ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
            WHERE o.queue_id = ?1 AND a.not_before_us IS NULL ORDER BY o.sort_key, o.action_id LIMIT ?2
            """
        ).bind(1, queue.rawValue).bind(2, limit).all { Place($0, key: 0, action: 1) }
        let places = (ordered + newest).sorted().prefix(limit)
        let scheduled = try connection.cached(
            """
            SELECT id FROM sluice_action_rows WHERE queue_id = ?1 AND not_before_us IS NOT NULL
            ORDER BY not_before_us, sort_key, id LIMIT ?2
            """
        ).bind(1, queue.rawValue).bind(2, limit - places.count).all { ActionID(rawValue: $0.int64(0)) }
        return places.map(\.action) + scheduled
    }
}
