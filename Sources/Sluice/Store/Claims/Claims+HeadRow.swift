internal import SluiceSQLite

/// Reads the row of a head in one query.
extension Claims {
    func headRow(at place: Place, of request: ClaimRequest) throws(SQLiteError) -> HeadRow? {
        let row = try connection.cached(
            """
            SELECT q.name, q.blocked_by, a.queue_id = ?2 AND a.not_before_us IS NULL, a.sort_key, a.kind,
                   a.enqueued_at_us, a.nonce, s.attempts, s.next_attempt_at_us, s.retry_delay_us,
                   s.is_suspect, s.crashes, s.is_cancelled,
                   (SELECT c.claim FROM sluice_claim_rows AS c WHERE c.queue_id = ?2),
                   s.last_error, q.blocked_action_id, a.payload, a.gate, s.waits_for_gate, a.expires_at_us,
                   q.blocked_error, a.version, a.trace, q.is_reversed, s.suspicion
            FROM sluice_action_rows AS a
            JOIN sluice_queue_rows AS q ON q.queue_id = ?2
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.id = ?1
            """
        ).bind(1, place.action.rawValue).bind(2, request.queue.rawValue).first { HeadRow($0, at: place, now) }
        return row ?? nil
    }
}
