internal import SluiceSQLite

/// Claims in queues with rules: slots, batches, passes, and deferred actions.
extension Claims {
    /// Returns the rules of a queue; `nil` if no queue has rules of its own.
    func rules(of queue: QueueID, in queues: QueueTable) throws(SQLiteError) -> QueueRules? {
        guard queues.hasRules else { return nil }
        if let name = names[queue] { return queues.rules(of: name) }
        guard let name = try core.events.queueName(queue) else { return nil }
        if names.count >= Self.nameLimit { names.removeAll() }
        names[queue] = name
        return queues.rules(of: name)
    }

    /// Returns the first free slot of a queue, and whether other processes have some of the taken ones.
    func turn(in queue: QueueID, by discipline: QueueDiscipline) throws -> (free: Turn?, isShared: Bool) {
        let claims = try connection.cached(
            "SELECT slot, action_id, claim >> 32 FROM sluice_claim_rows WHERE queue_id = ?1 ORDER BY slot"
        ).bind(1, queue.rawValue).all {
            (slot: $0.int(0), action: ActionID(rawValue: $0.int64(1)), epoch: $0.int64(2))
        }
        let isShared = claims.contains { $0.epoch != core.epoch }
        guard claims.count < discipline.slots || mutant("slots") else { return (nil, isShared) }
        // Fewer are taken than there are, so one of the first is free.
        let slot = claims.enumerated().first { $0.offset != $0.element.slot }?.offset ?? claims.count
        let running = claims.map(\.action)
        return (Turn(discipline: discipline, slot: slot, running: running, isShared: isShared), isShared)
    }

    func gather(_ request: ClaimRequest, _ rules: QueueRules) throws(SQLiteError) -> ClaimResult? {
        try batches.gather(in: request.queue, waitedFor: request.waitedFor, rules)
            .map { .gathering($0.wait, until: $0.until) }
    }

    /// Closes the batch of a queue with nothing left in its order; returns whether a new pass begins.
    func closeBatch(of queue: QueueID, _ rules: QueueRules) throws(SQLiteError) -> Bool {
        let passes = rules.discipline == .passOver
        let begins = try passes ? groups.endPass(of: queue) : false
        // Actions that were passed over belong to the next batch.
        let leavesRest = begins || passes && order.hasPassedOver(in: queue)
        try batches.closeBatch(of: queue, rules, leavesRest: leavesRest)
        return begins
    }

    /// Defers or passes over an action that waits, so that later ones run first; returns whether it did.
    func isDeferred(
        _ row: HeadRow,
        _ queue: QueueID,
        _ admission: Admission,
        _ turn: Turn,
        _ controls: Controls
    ) throws -> Bool {
        if let gate = row.gates.first(where: { !controls.isOpen($0) }) {
            try schedule.deferAction(row.action, untilOpen: gate)
            if admission.route(for: row.queue, kind: row.kind).matchesQueue {
                core.deferrals.insert(gate)
            }
        } else if let wait = row.wait, wait.nextAttemptAt > now, !mutant("wait aside") {
            var time = wait.nextAttemptAt
            if time - now > row.retryDelay {
                // The wall clock was set back: never wait longer than the requested delay (G8).
                time = now + row.retryDelay
                try schedule.setNextAttempt(of: row.action, at: time)
            }
            try schedule.deferAction(row.action, until: time)
        } else if turn.discipline == .passOver, try groups.isGroupClosed(for: row.place, in: queue),
            !mutant("closed group")
        {
            try order.passOver(row.place, of: queue, wasTried: false)
            return true
        } else {
            return false
        }
        try order.pass(row.place, of: queue, isLeftover: true)
        return true
    }
}
