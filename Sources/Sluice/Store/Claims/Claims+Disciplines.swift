internal import SluiceSQLite

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
        let (queue, discipline) = (request.queue, rules.discipline)
        let claims = try connection.cached(
            "SELECT slot, action_id, claim >> 32 FROM sluice_claim_rows WHERE queue_id = ?1 ORDER BY slot"
        ).bind(1, queue.rawValue).all {
            (slot: $0.int(0), action: ActionID(rawValue: $0.int64(1)), epoch: $0.int64(2))
        }
        let isShared = claims.contains { $0.epoch != core.epoch }
        guard claims.count < discipline.slots || mutant("slots") else {
            return isShared ? .takenElsewhere : .taken
        }
        // Fewer are taken than there are, so one of the first is free.
        let slot = claims.enumerated().first { $0.offset != $0.element.slot }?.offset ?? claims.count
        let running = claims.map(\.action)
        let turn = Turn(discipline: discipline, slot: slot, running: running, isShared: isShared)
        if let waiting = try gather(request, rules) { return waiting }
        for _ in 0..<Self.headLimit {
            guard let place = try order.head(of: queue, by: discipline) else {
                if try failRest(of: queue) { continue }
                if try discipline == .passOver && groups.endPass(of: queue) {
                    // Actions that were passed over belong to the next batch.
                    try batches.closeBatch(of: queue, rules, leavesRest: true)
                    if let waiting = try gather(request, rules) { return waiting }
                    continue
                }
                let leavesRest = discipline == .passOver && order.hasPassedOver(in: queue)
                try batches.closeBatch(of: queue, rules, leavesRest: leavesRest)
                order.release(queue)
                if running.isEmpty { try core.events.recordEmpty(queue) }
                return .empty
            }
            guard let row = try headRow(at: place, of: request) else {
                try order.pass(place, of: queue, isLeftover: true)
                continue
            }
            if running.contains(place.action) {
                // The process that runs it reports when it waits again.
                try order.pass(place, of: queue, isLeftover: false)
                continue
            }
            if let result = try claim(row, request, turn) {
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

    /// Defers or passes over an action that waits, and returns whether it did.
    ///
    /// The action waits for a gate, its retry or the start of its group, so that later ones run first.
    func isDeferred(
        _ row: HeadRow,
        _ queue: QueueID,
        _ turn: Turn,
        _ controls: Controls
    ) throws(SQLiteError) -> Bool {
        if let gate = row.gates.first(where: { !controls.isOpen($0) }) {
            try schedule.deferAction(row.action, untilOpen: gate)
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
