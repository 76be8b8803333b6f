internal import SluiceSQLite

/// Owns the rows of queues, and the type of sort key of each.
final class QueueRows: TransactionSubject {
    let core: TransactionCore
    let failures: Failures
    let blocks: QueueBlocks

    init(_ core: TransactionCore, _ failures: Failures, _ blocks: QueueBlocks) {
        (self.core, self.failures, self.blocks) = (core, failures, blocks)
    }

    func queue(of draft: ActionDraft) throws -> QueueID {
        try queue(named: draft.queue, sorting: draft.sortKey.kind, isFixed: draft.fixesSortKind)
    }

    /// Returns the queue of a name; a new one, and one without actions, adopts the type of the action's key.
    ///
    /// So does any queue if the application's options have fixed the type: its actions' keys are converted.
    func queue(named name: QueueName, sorting kind: SortKey.Kind, isFixed: Bool = false) throws -> QueueID {
        guard let entry = try core.knownQueue(named: name) else {
            // Not by RETURNING, which makes a table for its answer.
            try connection.cached("INSERT INTO sluice_queue_rows (name, sort_type) VALUES (?1, ?2)")
                .bind(1, name.rawValue).bind(2, kind.rawValue).run()
            let id = QueueID(rawValue: connection.lastInsertedRowID)
            core.directory[name] = QueueDirectory.Entry(id: id, sortKind: kind)
            return id
        }
        guard entry.sortKind != kind, !mutant("type of sort key") else { return entry.id }
        let isEmpty = try !connection.cached("SELECT 1 FROM sluice_action_facts WHERE queue_id = ?1")
            .bind(1, entry.id.rawValue).hasRow()
        // An action that moves here when its attempt ends counts: its key already has the queue's type.
        let isAwaited = try connection.cached("SELECT 1 FROM sluice_state_rows WHERE moves_to_queue_id = ?1")
            .bind(1, entry.id.rawValue).hasRow()
        guard !isAwaited, isEmpty || isFixed && !mutant("options over the type") else {
            let text =
                "the queue '\(name)' is ordered by \(entry.sortKind); the action's key is \(kind): "
                + "give it one of \(entry.sortKind), or wait until the queue is empty"
            throw SluiceError(.sortKeyMismatch, text)
        }
        if !isEmpty { try convertKeys(of: entry.id, from: entry.sortKind, to: kind) }
        try connection.cached("UPDATE sluice_queue_rows SET sort_type = ?2 WHERE queue_id = ?1")
            .bind(1, entry.id.rawValue).bind(2, kind.rawValue).run()
        core.directory[name] = QueueDirectory.Entry(id: entry.id, sortKind: kind)
        return entry.id
    }

    /// Converts the sort keys of a queue's actions to the type that the application's options set.
    ///
    /// Another connection has set the other type, for example by an `INSERT` without a key into the empty
    /// queue. If dates order the queue, an action without a key gets the time of its enqueueing. An action
    /// whose key cannot be converted becomes a dead letter.
    private func convertKeys(
        of queue: QueueID,
        from old: SortKey.Kind,
        to kind: SortKey.Kind
    ) throws(SQLiteError) {
        let statement = try connection.cached(Self.convertedKeys)
            .bind(1, queue.rawValue).bind(2, old.rawValue).bind(3, kind.rawValue)
        let actions = try statement.all {
            (
                id: ActionID(rawValue: $0.int64(0)), key: $0.isNull(1) ? nil : PlaceKey($0, 1),
                isPlaced: $0.bool(2), isRunning: $0.bool(3)
            )
        }
        for action in actions {
            // A running action stays for its handler; if it has to wait again, it sorts first.
            guard let key = action.key ?? (action.isRunning ? Self.smallestKey(of: kind) : nil) else {
                let error =
                    "its sort key, of the type \(old), cannot be made a key of the type \(kind), by which "
                    + "the options of the application order the queue"
                let cause = FailureCause.undecodable.rawValue
                try failures.makeDeadLetter(action.id, of: queue, cause, error: error)
                try blocks.liftBlock(of: action.id, in: queue)
                continue
            }
            if !action.isRunning { try order.leaving(action.id, of: queue) }
            try connection.cached("UPDATE sluice_action_rows SET sort_key = ?2 WHERE id = ?1")
                .bind(1, action.id.rawValue).bind(2, key).run()
            if action.isPlaced { try core.restore(Place(key: key, action: action.id), in: queue) }
        }
        // The mark of a pass is a place by the old keys.
        try order.restartPass(of: queue)
        core.touch(queue)
    }

    /// Selects the actions of a queue with their converted keys; `NULL` if a key cannot be converted.
    private static let convertedKeys: StaticString = """
        SELECT f.id,
               CASE ?3
                   WHEN 'arrival' THEN 0
                   WHEN 'integer' THEN iif(?2 = 'date', f.sort_key, NULL)
                   WHEN 'real' THEN iif(?2 = 'integer', CAST(f.sort_key AS REAL), NULL)
                   WHEN 'date' THEN
                   CASE WHEN ?2 = 'arrival' THEN f.enqueued_at_us
                        WHEN typeof(f.sort_key) = 'integer' THEN f.sort_key
                        WHEN typeof(f.sort_key) = 'text'
                             AND strftime('%Y-%m-%dT%H:%M:%S', substr(f.sort_key, 1, 19), '+0 days')
                                 IS replace(substr(f.sort_key, 1, 19), ' ', 'T')
                             AND (substr(f.sort_key, 20) IN ('', 'Z')
                                  OR substr(f.sort_key, 20, 2) GLOB '.[0-9]')
                        THEN CAST(strftime('%s', substr(f.sort_key, 1, 19)) AS INTEGER) * 1000000
                             + CAST(substr(rtrim(substr(f.sort_key, 21), 'Z') || '000000', 1, 6) AS INTEGER)
                   END
               END,
               f.not_before_us IS NULL,
               EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = ?1 AND c.action_id = f.id)
        FROM sluice_action_facts AS f WHERE f.queue_id = ?1
        """

    private static func smallestKey(of kind: SortKey.Kind) -> PlaceKey {
        switch kind {
        case .arrival: .integer(0)
        case .integer, .date: .integer(.min)
        case .real: .real(-.infinity)
        // Text, or a composite key, whose text is longer.
        default: .text("")
        }
    }
}
