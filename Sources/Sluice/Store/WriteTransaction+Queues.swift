internal import SluiceSQLite

extension WriteTransaction {
    /// The queue of a name, if the file knows it.
    func knownQueue(named name: QueueName) throws(SQLiteError) -> QueueDirectory.Entry? {
        if let entry = directory[name] { return entry }
        let found = try connection.cached("SELECT queue_id, sort_type FROM sluice_queue_rows WHERE name = ?1")
            .bind(1, name.rawValue)
            .first { ($0.int64(0), SortKey.Kind(rawValue: $0.text(1))) }
        guard let (id, kind) = found, let kind else { return nil }
        let entry = QueueDirectory.Entry(id: QueueID(rawValue: id), sortKind: kind)
        directory[name] = entry
        return entry
    }

    /// The queue of a name for an action with such a sort key.
    ///
    /// A new queue, and one without actions, takes the type of the key.
    func queue(named name: QueueName, sorting kind: SortKey.Kind) throws -> QueueID {
        guard let entry = try knownQueue(named: name) else {
            // Not by RETURNING, which makes a table for its answer.
            try connection.cached("INSERT INTO sluice_queue_rows (name, sort_type) VALUES (?1, ?2)")
                .bind(1, name.rawValue).bind(2, kind.rawValue).run()
            let id = QueueID(rawValue: connection.lastInsertedRowID)
            directory[name] = QueueDirectory.Entry(id: id, sortKind: kind)
            return id
        }
        guard entry.sortKind != kind, !mutant("type of sort key") else { return entry.id }
        // An action that moves here when its attempt ends counts: its key has the queue's type already.
        let hasActions = try connection.cached(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM sluice_action_facts WHERE queue_id = ?1)
                        OR EXISTS (SELECT 1 FROM sluice_state_rows WHERE moves_to_queue_id = ?1)
            """
        )
        .bind(1, entry.id.rawValue).hasRow()
        guard !hasActions else {
            throw SluiceError(
                .sortKeyMismatch,
                "the queue '\(name)' is ordered by \(entry.sortKind); the action's key is \(kind): "
                    + "give it one of \(entry.sortKind), or wait until the queue is empty"
            )
        }
        try connection.cached("UPDATE sluice_queue_rows SET sort_type = ?2 WHERE queue_id = ?1")
            .bind(1, entry.id.rawValue).bind(2, kind.rawValue).run()
        directory[name] = QueueDirectory.Entry(id: entry.id, sortKind: kind)
        return entry.id
    }
}
