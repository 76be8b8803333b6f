internal import SluiceSQLite

/// Owns the settling of attempts: frees the slot, then deletes the action or records its wait or failure.
final class Settlements: TransactionSubject {
    let core: TransactionCore
    let removals: Removals
    let schedule: Schedule
    let groups: Groups
    let failures: Failures
    let edits: Edits
    let enqueues: Enqueues
    let history: AttemptHistory

    init(
        _ core: TransactionCore,
        _ removals: Removals,
        _ schedule: Schedule,
        _ groups: Groups,
        _ failures: Failures,
        _ edits: Edits,
        _ enqueues: Enqueues,
        _ history: AttemptHistory
    ) {
        self.core = core
        self.removals = removals
        self.schedule = schedule
        self.groups = groups
        self.failures = failures
        self.edits = edits
        self.enqueues = enqueues
        self.history = history
    }

    func settle(_ receipt: Receipt, _ settlement: Settlement) throws -> SettleResult {
        core.routeUse.end(receipt.claim)
        if let own = core.ownSettlements.entry(of: receipt), try !core.exists(receipt.action) {
            return try endOwn(own, receipt)
        }
        switch settlement {
        case .success: return try succeed(receipt)
        case .successWriting(let work): return try succeed(receipt, work)
        case .retry, .fail, .release, .stop: break
        }
        guard let (startedAt, opening) = try takeSlot(of: receipt) else { return try refuse(receipt) }
        let discipline = order.discipline(ofRunning: receipt.action)
        guard let place = try order.ended(receipt.action) else { return .removed }
        let state = try ActionState.read(receipt.action, in: core)
        if state.isCancelled {
            try removals.remove(receipt.action, in: receipt.queue)
            return .removed
        }
        let run = EndedRun(receipt, startedAt, opening, place, discipline, state)
        switch settlement {
        case .success, .successWriting: preconditionFailure("a success is settled by its own method")
        case .retry(let delay, let gate, let error): try retry(run, after: delay, gate, error)
        case .release(let delay, let gate, let error): try release(run, for: delay, gate, error)
        case .stop: try stop(run)
        case .fail(let cause, let policy, let error): try fail(run, cause, policy, error)
        }
        if let target = state.movesTo { try carryOutMove(receipt.action, from: receipt.queue, to: target) }
        return .settled
    }

    private func retry(_ run: EndedRun, after delay: Duration, _ gate: GateName?, _ error: String) throws {
        try history.record(run.failed, "retry", error: error)
        let wait = try Wait(delay, untilOpen: gate, openedSince: run.opening, core.controls())
        try beginWait(wait, of: run.action, after: run.state, spendingAttempt: true, error: error)
        try core.events.record(.retrying, run.action, in: run.queue) {
            ($0.attempt, $0.error) = (run.number, bounded(error))
            ($0.delay, $0.gate) = (wait.delay, wait.gate)
        }
        try schedule.deferAfterAttempt(
            run.place,
            in: run.queue,
            by: run.discipline,
            delay: wait.delay,
            gate: wait.gate
        )
    }

    private func release(_ run: EndedRun, for delay: Duration, _ gate: GateName?, _ error: String?) throws {
        let wait = try Wait(delay, untilOpen: gate, openedSince: run.opening, core.controls())
        let error = error ?? run.state.lastError
        try beginWait(wait, of: run.action, after: run.state, spendingAttempt: false, error: error)
        try core.events.record(.released, run.action, in: run.queue) {
            ($0.attempt, $0.delay, $0.gate) = (run.number, wait.delay, wait.gate)
        }
        try schedule.deferAfterAttempt(
            run.place,
            in: run.queue,
            by: run.discipline,
            delay: wait.delay,
            gate: wait.gate
        )
    }

    private func stop(_ run: EndedRun) throws {
        try core.events.record(.released, run.action, in: run.queue) { $0.attempt = run.number }
        if run.state.isSuspect { try clearSuspicion(run.action) }
        try deferAfterAttempt(run)
    }

    private func fail(_ run: EndedRun, _ cause: FailureCause, _ policy: FailurePolicy, _ error: String) throws
    {
        let (action, queue, discipline) = (run.action, run.queue, run.discipline)
        try history.record(run.failed, cause.rawValue, error: error)
        try finish(action, spending: cause == .undecodable ? 0 : 1, error: error)
        try groups.leavePass(action, of: queue, by: discipline, policy)
        try failures.fail(
            action,
            in: queue,
            by: discipline,
            cause,
            policy,
            error: error,
            attempt: run.number
        )
        try deferAfterAttempt(run)
    }

    private func deferAfterAttempt(_ run: EndedRun) throws {
        let (queue, discipline) = (run.queue, run.discipline)
        try schedule.deferAfterAttempt(
            run.place,
            in: queue,
            by: discipline,
            delay: .zero,
            gate: nil,
            hasFailed: false
        )
    }

    /// Frees the slot if the receipt holds it, and removes the action.
    ///
    /// What blocked it has been lifted by its claim.
    private func succeed(_ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        let freed = try connection.cached(
            mutant("receipt of a success")
                ? "DELETE FROM sluice_claim_rows WHERE queue_id = ?1 AND slot = ?2 AND ?3 AND ?4"
                : """
                DELETE FROM sluice_claim_rows
                WHERE queue_id = ?1 AND slot = ?2 AND action_id = ?3 AND claim = ?4
                """
        )
        .bind(1, receipt.queue.rawValue).bind(2, receipt.slot)
        .bind(3, receipt.action.rawValue).bind(4, receipt.claim).run()
        guard freed > 0 else { return try refuse(receipt) }
        try core.events.recordSuccess(receipt)
        return try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) ? .settled : .removed
    }

    /// Settles nothing, since the receipt does not hold the slot.
    func refuse(_ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        try order.lost(receipt)
        return .stale
    }

    /// Frees the slot if the receipt holds it (G6); returns the start of the run and the `opening` then.
    func takeSlot(
        of receipt: Receipt
    ) throws(SQLiteError) -> (startedAt: Timestamp, opening: Int64)? {
        try connection.cached(
            mutant("receipt of another end")
                ? """
                DELETE FROM sluice_claim_rows WHERE queue_id = ?1 AND slot = ?2 AND ?3 AND ?4
                RETURNING started_at_us, opening
                """
                : """
                DELETE FROM sluice_claim_rows
                WHERE queue_id = ?1 AND slot = ?2 AND action_id = ?3 AND claim = ?4
                RETURNING started_at_us, opening
                """
        )
        .bind(1, receipt.queue.rawValue).bind(2, receipt.slot)
        .bind(3, receipt.action.rawValue).bind(4, receipt.claim)
        .all { (Timestamp(microseconds: $0.int64(0)), $0.int64(1)) }.first
    }
}

extension Settlements {
    /// Writes when a head is retried; if the attempt finished, its suspicion is cleared.
    private func beginWait(
        _ wait: Wait,
        of action: ActionID,
        after state: ActionState,
        spendingAttempt: Bool,
        error: String?
    ) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_state_rows
                (action_id, attempts, next_attempt_at_us, retry_delay_us, last_error, is_released,
                 waits_for_gate)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (action_id) DO UPDATE SET
                attempts = excluded.attempts, next_attempt_at_us = excluded.next_attempt_at_us,
                retry_delay_us = excluded.retry_delay_us, last_error = excluded.last_error,
                is_released = excluded.is_released, waits_for_gate = excluded.waits_for_gate,
                is_suspect = 0, crashes = 0, suspicion = 0
            """
        )
        .bind(1, action.rawValue).bind(2, state.attempts + (spendingAttempt ? 1 : 0))
        .bind(3, wait.delay.map { (now + $0).microseconds }).bind(4, wait.delay?.wholeMicroseconds)
        .bind(5, error.map(bounded)).bind(6, !spendingAttempt).bind(7, wait.gate?.rawValue).run()
    }

    private func clearSuspicion(_ action: ActionID) throws(SQLiteError) {
        try connection.cached(
            "UPDATE sluice_state_rows SET is_suspect = 0, crashes = 0, suspicion = 0 WHERE action_id = ?1"
        )
        .bind(1, action.rawValue).run()
    }

    /// Writes that an attempt failed; the failure policy is applied separately.
    private func finish(_ action: ActionID, spending attempts: Int, error: String) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_state_rows (action_id, attempts, last_error) VALUES (?1, ?2, ?3)
            ON CONFLICT (action_id) DO UPDATE SET
                attempts = attempts + excluded.attempts, last_error = excluded.last_error,
                is_suspect = 0, crashes = 0, suspicion = 0
            """
        )
        .bind(1, action.rawValue).bind(2, attempts).bind(3, bounded(error)).run()
    }

    /// Carries out a cancellation or a move requested while the action ran in a process that has died.
    func endOrphan(_ receipt: Receipt) throws(SQLiteError) {
        let state = try ActionState.read(receipt.action, in: core)
        if state.isCancelled { return try removals.remove(receipt.action, in: receipt.queue) }
        if let target = state.movesTo { try carryOutMove(receipt.action, from: receipt.queue, to: target) }
    }

    /// Carries out a move requested while the action ran.
    private func carryOutMove(
        _ action: ActionID,
        from queue: QueueID,
        to target: QueueID
    ) throws(SQLiteError) {
        try connection.cached("UPDATE sluice_state_rows SET moves_to_queue_id = NULL WHERE action_id = ?1")
            .bind(1, action.rawValue).run()
        guard try core.exists(action) else { return }
        try edits.relocate(action, from: queue, to: target)
    }
}

// MARK: - Facts of earlier attempts

/// The row of `sluice_state_rows`, or the defaults if it is missing.
private struct ActionState {
    var attempts = 0
    var lastError: String?
    var isSuspect = false
    var isCancelled = false
    var movesTo: QueueID?

    static func read(_ action: ActionID, in core: TransactionCore) throws(SQLiteError) -> ActionState {
        try core.connection.cached(
            """
            SELECT attempts, last_error, is_suspect, is_cancelled, moves_to_queue_id
            FROM sluice_state_rows WHERE action_id = ?1
            """
        )
        .bind(1, action.rawValue).first {
            ActionState(
                attempts: $0.count(0),
                lastError: $0.optionalText(1),
                isSuspect: $0.bool(2),
                isCancelled: $0.bool(3),
                movesTo: $0.optionalInt64(4).map(QueueID.init(rawValue:))
            )
        } ?? ActionState()
    }
}

/// A run whose slot has been freed, and the facts that its settlement needs.
private struct EndedRun {
    let receipt: Receipt
    let startedAt: Timestamp
    /// The counter `opening` when it began.
    let opening: Int64
    let place: Place
    let discipline: QueueDiscipline
    let state: ActionState

    init(
        _ receipt: Receipt,
        _ startedAt: Timestamp,
        _ opening: Int64,
        _ place: Place,
        _ discipline: QueueDiscipline,
        _ state: ActionState
    ) {
        (self.receipt, self.startedAt, self.opening) = (receipt, startedAt, opening)
        (self.place, self.discipline, self.state) = (place, discipline, state)
    }

    var action: ActionID { receipt.action }
    var queue: QueueID { receipt.queue }
    /// The attempt's number, counted from 1.
    var number: Int { state.attempts + 1 }
    var failed: FailedRun { FailedRun(receipt: receipt, startedAt: startedAt, number: number) }
}

/// What an action waits for before it is tried again.
private struct Wait {
    /// The length; `nil` if it waits for the gate alone.
    let delay: Duration?
    let gate: GateName?

    /// - Parameters:
    ///   - delay: The wait, unless a gate shortens it.
    ///   - opening: The counter `opening` when the attempt began; a gate with a later value opened during it.
    init(_ delay: Duration, untilOpen gate: GateName?, openedSince opening: Int64, _ controls: Controls) {
        self.gate = gate
        guard let gate else {
            self.delay = max(delay, .zero)
            return
        }
        let state = controls.gates[gate]
        let isOpen = state?.isOpen ?? false
        let isOpened = (state?.opening ?? 0) > opening && !mutant("opening during an attempt")
        self.delay = !isOpen ? nil : isOpened ? .zero : max(delay, .zero)
    }
}
