internal import SluiceSQLite

final class Enqueues: TransactionSubject {
    let core: TransactionCore
    let keys: DeduplicationKeys
    let queueRows: QueueRows
    let edits: Edits
    let expiry: Expiry
    let groups: Groups
    let schedule: Schedule

    init(
        _ core: TransactionCore,
        _ keys: DeduplicationKeys,
        _ queueRows: QueueRows,
        _ edits: Edits,
        _ expiry: Expiry,
        _ groups: Groups,
        _ schedule: Schedule
    ) {
        (self.core, self.keys, self.queueRows, self.edits) = (core, keys, queueRows, edits)
        (self.expiry, self.groups, self.schedule) = (expiry, groups, schedule)
    }

    /// Stores actions; returns a refusal before anything is written, so that its group needs no roll-back.
    func enqueue(_ drafts: [ActionDraft]) throws -> Result<[ActionID], SluiceError> {
        if drafts.contains(where: { $0.extras?.key != nil }) { return try enqueueSingly(drafts) }
        if let refusal = try refusalByDepth(drafts) { return .failure(refusal) }
        var ids: [ActionID] = []
        ids.reserveCapacity(drafts.count)
        var rest = drafts[...]
        while let draft = rest.first {
            let rows = rest.prefix(Self.rowsTogether)
            // With keys of one type: a later draft of one statement cannot see a type set by an earlier one.
            if rows.count == Self.rowsTogether,
                rows.allSatisfy({ $0.isPlain && $0.sortKey.kind == draft.sortKey.kind })
            {
                ids += try enqueueTogether(rows)
                rest.removeFirst(Self.rowsTogether)
            } else {
                ids.append(try enqueue(draft))
                rest.removeFirst()
            }
        }
        return .success(ids)
    }

    /// Stores an action without checking its deduplication key.
    func enqueue(_ draft: ActionDraft) throws -> ActionID {
        let new = try number(draft)
        if draft.isPlain {
            let statement = try connection.cached(Self.plainInsert)
            try bind(draft, new, to: statement, at: 1)
            try statement.run()
        } else {
            try insert(stored(draft, new), into: new.queue, notBefore: draft.notBefore)
        }
        noteEnqueued(draft, new)
        return new.id
    }

    /// Writes the rows of an action: its own and those of its groups.
    func insert(_ action: StoredAction, into queue: QueueID, notBefore: Timestamp? = nil) throws {
        try connection.cached(
            """
            INSERT INTO sluice_action_rows
                (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload, version, tag,
                 gate, expires_at_us, trace)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """
        ).bind(1, action.id.rawValue).bind(2, queue.rawValue).bind(3, action.key)
            .bind(4, notBefore?.microseconds).bind(5, action.enqueuedAt.microseconds).bind(6, action.nonce)
            .bind(7, action.kind).bind(8, action.payload).bind(9, action.version).bind(10, action.tag)
            .bind(11, action.gate?.rawValue).bind(12, action.expiresAt?.microseconds).bind(13, action.trace)
            .run()
        if !action.groups.isEmpty { try groups.setGroups(of: action.id, in: queue, action.groups) }
        expiry.expiryChanged(to: action.expiresAt)
    }

    /// Stores plain actions with one statement, which opens the table and its indexes once for all of them.
    private func enqueueTogether(_ drafts: ArraySlice<ActionDraft>) throws -> [ActionID] {
        let insert = try connection.cached(Self.plainInsertTogether)
        var new: [NewAction] = []
        new.reserveCapacity(drafts.count)
        var column: Int32 = 1
        for draft in drafts {
            let numbered = try number(draft)
            try bind(draft, numbered, to: insert, at: column)
            new.append(numbered)
            column += Self.plainColumns
        }
        try insert.run()
        for (draft, numbered) in zip(drafts, new) { noteEnqueued(draft, numbered) }
        return new.map(\.id)
    }

    private typealias NewAction = (id: ActionID, queue: QueueID, key: PlaceKey)

    private func number(_ draft: ActionDraft) throws -> NewAction {
        let queue = try queueRows.queue(of: draft)
        return (try core.nextActionID(), queue, mutant("sort key") ? .integer(0) : PlaceKey(draft.sortKey))
    }

    private func bind(_ draft: ActionDraft, _ new: NewAction, to insert: Statement, at start: Int32) throws {
        try insert.bind(start, new.id.rawValue).bind(start + 1, new.queue.rawValue)
            .bind(start + 2, new.key).bind(start + 3, draft.notBefore?.microseconds)
            .bind(start + 4, now.microseconds).bind(start + 5, core.nonce).bind(start + 6, draft.kind)
            .bind(start + 7, draft.payload)
    }

    private func noteEnqueued(_ draft: ActionDraft, _ new: NewAction) {
        order.added(new.id, key: new.key, to: new.queue, isPlaced: draft.notBefore == nil)
        if let time = draft.notBefore { schedule.noteScheduled(at: time) }
        if !core.isJoined {
            core.touchNew(new.queue)
        } else {
            // Recorded by its sequence, so that the process that runs the queues can identify it.
            core.log(ForeignChange(.insert, of: new.id, in: new.queue))
        }
        core.events.record(.enqueued, new.id, of: draft.kind, in: draft.queue, contents: stored(draft, new)) {
            $0.until = draft.notBefore?.date
        }
    }

    private func stored(_ draft: ActionDraft, _ new: NewAction) -> StoredAction {
        let extras = draft.extras
        return StoredAction(
            id: new.id,
            key: new.key,
            sortKind: draft.sortKey.kind,
            enqueuedAt: now,
            nonce: core.nonce,
            kind: draft.kind,
            payload: draft.payload,
            version: draft.version,
            tag: extras?.tag,
            gate: extras?.gate,
            expiresAt: extras?.expiresAt,
            trace: draft.trace,
            groups: extras?.groups ?? ActionGroups()
        )
    }

    /// Rows in one statement: more of them save little more.
    private static let rowsTogether = 8
    private static let plainColumns: Int32 = 8

    /// For most actions: columns with default values need no binding.
    private static let plainInsert: StaticString = """
        INSERT INTO sluice_action_rows
            (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        """

    private static let plainInsertTogether: StaticString = """
        INSERT INTO sluice_action_rows
            (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload)
        VALUES (?,?,?,?,?,?,?,?), (?,?,?,?,?,?,?,?), (?,?,?,?,?,?,?,?), (?,?,?,?,?,?,?,?),
               (?,?,?,?,?,?,?,?), (?,?,?,?,?,?,?,?), (?,?,?,?,?,?,?,?), (?,?,?,?,?,?,?,?)
        """

    private func refusalByDepth(_ drafts: [ActionDraft]) throws -> SluiceError? {
        var added: [QueueName: Int] = [:]
        for draft in drafts {
            guard let limit = draft.depthLimit else { continue }
            added[draft.queue, default: 0] += 1
            let adding = added[draft.queue, default: 0]
            let entry = try core.knownQueue(named: draft.queue)
            let depth = if let entry { try order.depth(of: entry.id) } else { 0 }
            if depth + adding > limit { return core.full(draft.queue, limit) }
        }
        return nil
    }

    // MARK: - Deduplication keys

    /// Stores actions of which some have keys, all or none, in their order.
    private func enqueueSingly(_ drafts: [ActionDraft]) throws -> Result<[ActionID], SluiceError> {
        var ids: [ActionID] = []
        var hasWritten = false
        for draft in drafts {
            switch try enqueueOne(draft) {
            case .success(let stored):
                ids.append(stored.id)
                hasWritten = hasWritten || stored.isNew
            case .failure(let refusal):
                // The roll-back also undoes the actions stored before.
                if hasWritten { throw refusal }
                return .failure(refusal)
            }
        }
        return .success(ids)
    }

    private struct Stored {
        let id: ActionID
        /// False if the key led to an action that is there already.
        let isNew: Bool
    }

    private func enqueueOne(_ draft: ActionDraft) throws -> Result<Stored, SluiceError> {
        let key = draft.extras?.key
        if let key, let entry = try core.knownQueue(named: draft.queue),
            let known = try keys.look(up: key.text, in: entry.id)
        {
            switch key.policy {
            case .keepFirst:
                core.hasFoundStored = true
                return .success(Stored(id: known.action, isNew: false))
            case .refuse:
                let text = "the queue '\(draft.queue)' has had action \(known.action) under the same key"
                return .failure(SluiceError(.duplicateKey, text))
            case .replace where known.isWaiting:
                try replace(known.action, in: entry.id, with: draft)
                return .success(Stored(id: known.action, isNew: true))
            case .replace: break
            }
        }
        if let refusal = try refusalByDepth([draft]) { return .failure(refusal) }
        let id = try enqueue(draft)
        if let key { try keys.remember(key, of: id, in: try queueRows.queue(of: draft)) }
        return .success(Stored(id: id, isNew: true))
    }

    private func replace(_ action: ActionID, in queue: QueueID, with draft: ActionDraft) throws {
        try edits.edit(action, kind: draft.kind, payload: draft.payload, version: draft.version)
        let extras = draft.extras
        try connection.cached(
            "UPDATE sluice_action_rows SET tag = ?2, gate = ?3, expires_at_us = ?4 WHERE id = ?1"
        ).bind(1, action.rawValue).bind(2, extras?.tag).bind(3, extras?.gate?.rawValue)
            .bind(4, extras?.expiresAt?.microseconds).run()
        expiry.expiryChanged(to: extras?.expiresAt)
        try connection.cached("UPDATE sluice_key_rows SET keep_us = ?2 WHERE action_id = ?1")
            .bind(1, action.rawValue).bind(2, extras?.key?.retention.wholeMicroseconds ?? 0).run()
        try groups.setGroups(of: action, in: queue, extras?.groups ?? ActionGroups())
        // It may have been deferred for a gate that it does not need now.
        try schedule.endDeferral(action)
    }
}

extension TransactionCore {
    func full(_ queue: QueueName, _ limit: Int) -> SluiceError {
        SluiceError(.queueFull, "the queue '\(queue)' holds \(limit) actions, as many as its options allow")
    }
}
