internal import SluiceSQLite

/// Enqueueing of actions with deduplication keys.
extension Enqueues {
    /// Stores actions of which some have keys, all or none, in their order.
    func enqueueSingly(_ drafts: [ActionDraft]) throws -> Result<[ActionID], SluiceError> {
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

    private func enqueueOne(_ draft: ActionDraft) throws -> Result<(id: ActionID, isNew: Bool), SluiceError> {
        let key = draft.extras?.key
        if let key, let entry = try core.knownQueue(named: draft.queue),
            let known = try keys.look(up: key.text, in: entry.id)
        {
            switch key.policy {
            case .keepFirst: return .success((known.action, false))
            case .refuse:
                let text = "the queue '\(draft.queue)' has had action \(known.action) under the same key"
                return .failure(SluiceError(.duplicateKey, text))
            case .replace where known.isWaiting:
                try replace(known.action, in: entry.id, with: draft)
                return .success((known.action, true))
            case .replace: break
            }
        }
        if let refusal = try refusalByDepth([draft]) { return .failure(refusal) }
        let id = try enqueue(draft)
        if let key { try keys.remember(key, of: id, in: try queueRows.queue(of: draft)) }
        return .success((id, true))
    }

    /// Replaces the contents of a waiting action.
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
        core.touch(queue)
    }
}
