internal import SluiceSQLite

// MARK: - Claiming

/// Claims in queues with rules: slots, batches, passes, and deferred actions.
extension Claims {
    /// Returns the rules of the claim's queue; `nil` if no queue has rules of its own.
    func rules(of request: ClaimRequest) throws(SQLiteError) -> QueueRules? {
        let queues = request.admission.queues
        guard queues.hasRules else { return nil }
        if let name = names[request.queue] { return queues.rules(of: name) }
        guard let name = try core.events.queueName(request.queue) else { return nil }
        if names.count >= Self.nameLimit { names.removeAll() }
        names[request.queue] = name
        return queues.rules(of: name)
    }

    /// Claims the next action by the rules of its queue.
    func claim(_ request: ClaimRequest, by rules: QueueRules) throws -> ClaimResult {
        let queue = request.queue
        let turn: Turn
        switch try self.turn(in: queue, by: rules.discipline) {
        case .success(let found): turn = found
        case .failure(let taken): return taken.isElsewhere ? .takenElsewhere : .taken
        }
        if let waiting = try gather(request, rules) { return waiting }
        for _ in 0..<Self.headLimit {
            guard let place = try order.head(of: queue, by: rules.discipline) else {
                if try failRest(of: queue) { continue }
                if try rules.discipline == .passOver && groups.endPass(of: queue) {
                    // Actions that were passed over belong to the next batch.
                    try batches.closeBatch(of: queue, rules, leavesRest: true)
                    if let waiting = try gather(request, rules) { return waiting }
                    continue
                }
                let leavesRest = rules.discipline == .passOver && order.hasPassedOver(in: queue)
                try batches.closeBatch(of: queue, rules, leavesRest: leavesRest)
                order.release(queue)
                if turn.running.isEmpty { try core.events.recordEmpty(queue) }
                return .empty
            }
            guard let row = try headRow(at: place, of: request) else {
                try order.pass(place, of: queue, isLeftover: true)
                continue
            }
            if turn.running.contains(place.action) {
                // The process that runs it reports when it waits again.
                try order.pass(place, of: queue, isLeftover: false)
                continue
            }
            if let result = try claim(row, at: place, request, turn) {
                if case .claimed = result {} else { order.release(queue) }
                return result
            }
        }
        return .unfinished
    }

    private func gather(_ request: ClaimRequest, _ rules: QueueRules) throws(SQLiteError) -> ClaimResult? {
        try batches.gather(in: request.queue, waitedFor: request.waitedFor, rules)
            .map { .gathering($0.wait, until: $0.until) }
    }

    /// Thrown if all slots are taken.
    private struct Taken: Error {
        /// Whether other processes have some of them; those do not report when they are done.
        let isElsewhere: Bool
    }

    /// Returns the first free slot of a queue.
    private func turn(
        in queue: QueueID,
        by discipline: QueueDiscipline
    ) throws(SQLiteError) -> Result<Turn, Taken> {
        let claims = try connection.cached(
            "SELECT slot, action_id, claim >> 32 FROM sluice_claim_rows WHERE queue_id = ?1 ORDER BY slot"
        ).bind(1, queue.rawValue).all {
            (slot: $0.int(0), action: ActionID(rawValue: $0.int64(1)), epoch: $0.int64(2))
        }
        guard claims.count < discipline.slots || mutant("slots") else {
            return .failure(Taken(isElsewhere: claims.contains { $0.epoch != core.epoch }))
        }
        // Fewer are taken than there are, so one of the first is free.
        let slot = claims.enumerated().first { $0.offset != $0.element.slot }?.offset ?? claims.count
        return .success(
            Turn(
                discipline: discipline,
                slot: slot,
                running: claims.map(\.action),
                isShared: claims.contains { $0.epoch != core.epoch }
            )
        )
    }

    /// Defers or passes over an action that waits, and returns whether it did.
    ///
    /// The action waits for a gate, its retry or the start of its group, so that later ones run first.
    func isDeferred(
        _ row: HeadRow,
        at place: Place,
        _ request: ClaimRequest,
        _ turn: Turn,
        _ controls: Controls
    ) throws(SQLiteError) -> Bool {
        let action = row.head.action
        if let gate = row.gates.first(where: { !controls.isOpen($0) }) {
            try schedule.deferAction(action, untilOpen: gate)
        } else if let wait = row.wait, wait.nextAttemptAt > now, !mutant("wait aside") {
            var time = wait.nextAttemptAt
            if time - now > row.retryDelay {
                // The wall clock was set back: never wait longer than the requested delay (G8).
                time = now + row.retryDelay
                try schedule.setNextAttempt(of: action, at: time)
            }
            try schedule.deferAction(action, until: time)
        } else if turn.discipline == .passOver, try groups.isGroupClosed(for: place, in: request.queue),
            !mutant("closed group")
        {
            try order.passOver(place, of: request.queue, wasTried: false)
            return true
        } else {
            return false
        }
        try order.pass(place, of: request.queue, isLeftover: true)
        return true
    }
}

extension Claims {
    /// Records in the file, for readers that do not know the discipline, whether a queue runs its last first.
    func noteDirection(isReversed: Bool, _ queue: QueueID) throws(SQLiteError) {
        try connection.cached("UPDATE sluice_queue_rows SET is_reversed = ?2 WHERE queue_id = ?1")
            .bind(1, queue.rawValue).bind(2, isReversed).run()
    }
}
