internal import SluiceSQLite

/// An action as stored in its row: everything needed to store it again.
struct StoredAction: Sendable {
    var id: ActionID
    var key: PlaceKey
    let sortKind: SortKey.Kind
    let enqueuedAt: Timestamp
    /// The random number of the opening that enqueued it.
    var nonce: Int64
    let kind: String
    let payload: String
    let version: Int
    let tag: String?
    let gate: GateName?
    let expiresAt: Timestamp?
    let trace: String?
    var groups = ActionGroups()
    var place: Place { Place(key: key, action: id) }

    /// Reads the row of an action; `nil` if it is deleted.
    static func read(_ action: ActionID, on connection: Connection) throws(SQLiteError) -> StoredAction? {
        // Most actions have no groups and need no second query.
        let found = try connection.cached(
            """
            SELECT a.sort_key, q.sort_type, a.enqueued_at_us, a.nonce, a.kind, a.payload, a.version, a.tag,
                   a.gate, a.expires_at_us, a.trace,
                   EXISTS (SELECT 1 FROM sluice_group_rows AS g WHERE g.action_id = a.id)
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            WHERE a.id = ?1
            """
        ).bind(1, action.rawValue).first {
            var columns = $0.columns
            let stored = StoredAction(
                id: action,
                key: PlaceKey(&columns),
                sortKind: columns.sortKind(),
                enqueuedAt: columns.time(),
                nonce: columns.int64(),
                kind: columns.text(),
                payload: columns.text(),
                version: columns.int(),
                tag: columns.optionalText(),
                gate: columns.gate(),
                expiresAt: columns.optionalTime(),
                trace: columns.optionalText()
            )
            return (action: stored, hasGroups: columns.bool())
        }
        guard var stored = found?.action else { return nil }
        if found?.hasGroups == true { stored.groups = try ActionGroups(of: action, connection) }
        return stored
    }
}
