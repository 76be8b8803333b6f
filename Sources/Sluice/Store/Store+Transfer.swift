internal import SluiceSQLite

extension Store {
    /// Returns waiting and running actions, in the order in which they were enqueued.
    ///
    /// Enqueued again in this order, each queue has its own order again, with ``movedActions(of:)`` before or
    /// after it. The byte limit of a page's payloads is approximate; only the page after the last is empty.
    package func page(
        of form: QueuePattern.Form,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws(SluiceError) -> [TransferredAction] {
        try await read { connection in
            let (first, end) = form.bounds
            var page: [TransferredAction] = []
            var byteCount = 0
            while page.count < limit && byteCount < byteLimit {
                let next = try connection.cached(
                    """
                    SELECT a.id, q.name, a.kind, q.sort_type, a.sort_key, a.payload, a.version, a.tag, a.gate,
                           iif(a.not_before_us = 9223372036854775806 OR a.not_before_us = (
                                   SELECT s.next_attempt_at_us FROM sluice_state_rows AS s
                                   WHERE s.action_id = a.id),
                               NULL, a.not_before_us),
                           a.expires_at_us, a.trace
                    FROM sluice_action_rows AS a CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
                    WHERE a.id > ?1 AND q.name >= ?2 AND (?3 IS NULL OR q.name < ?3) ORDER BY a.id LIMIT 1
                    """
                ).bind(1, (page.last?.id ?? last).rawValue).bind(2, first).bind(3, end)
                    .first(TransferredAction.init)
                guard var next else { break }
                // In a damaged tree a search may find earlier rows, again and again.
                guard next.id > page.last?.id ?? last else {
                    throw SQLiteError(code: .corrupt, message: "the actions are out of their order")
                }
                next.groups = try ActionGroups(of: next.id, connection)
                byteCount += next.payload.utf8.count
                page.append(next)
            }
            return page
        }
    }

    /// Returns the actions that were moved to the front, or to the end, of a queue in the order of arrival.
    ///
    /// They are in the order of their queues.
    package func movedActions(
        of form: QueuePattern.Form
    ) async throws(SluiceError) -> (first: [ActionID], last: [ActionID]) {
        try await read { connection in
            let (first, end) = form.bounds
            func ids(_ least: Int64, _ greatest: Int64) throws(SQLiteError) -> [ActionID] {
                try connection.cached(
                    """
                    SELECT o.action_id, o.queue_id, o.sort_key
                    FROM sluice_queue_rows AS q
                    CROSS JOIN sluice_order_rows AS o
                        ON o.queue_id = q.queue_id AND o.sort_key BETWEEN ?3 AND ?4
                    -- A place that an action has left may still be there.
                    CROSS JOIN sluice_action_rows AS a
                        ON a.id = o.action_id AND a.queue_id = o.queue_id AND a.sort_key = o.sort_key
                    WHERE q.sort_type = 'arrival' AND q.name >= ?1 AND (?2 IS NULL OR q.name < ?2)
                    UNION
                    SELECT a.id, a.queue_id, a.sort_key
                    FROM sluice_action_rows AS a CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
                    WHERE (a.id > (SELECT value FROM sluice_counters WHERE name = 'ordered')
                           OR a.not_before_us IS NOT NULL)
                        AND a.sort_key BETWEEN ?3 AND ?4
                        AND q.sort_type = 'arrival' AND q.name >= ?1 AND (?2 IS NULL OR q.name < ?2)
                    ORDER BY 2, 3, 1
                    """
                ).bind(1, first).bind(2, end).bind(3, least).bind(4, greatest)
                    .all { ActionID(rawValue: $0.int64(0)) }
            }
            return (first: try ids(.min, -1), last: try ids(1, .max))
        }
    }

    /// Returns the deduplication key of an action, also after its end, and its groups.
    package func keyAndGroups(
        of action: ActionID
    ) async throws(SluiceError) -> (key: String?, groups: ActionGroups) {
        try await read { connection in
            let key = try connection.cached("SELECT key FROM sluice_key_rows WHERE action_id = ?1")
                .bind(1, action.rawValue).first { $0.text(0) }
            let groups = try ActionGroups(of: action, connection)
            return (key: key, groups: groups)
        }
    }

    /// Stores actions from another file, all or none, in order; returns `nil` for one whose key is taken.
    func take(_ actions: [TransferredAction]) async throws -> [ActionID?] {
        try await writeUnlessCancelled(sync: .owed) { try actions.map($0.transfers.take) }
    }
}
