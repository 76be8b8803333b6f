internal import SluiceSQLite

/// Owns the settling of attempts: frees the slot, then deletes the action or records its wait or failure.
final class Settlements: TransactionSubject {
    let core: TransactionCore
    let removals: Removals
    let schedule: Schedule
    let closings: Closings
    let groups: Groups
    let failures: Failures
    let edits: Edits
    let enqueues: Enqueues
    let history: AttemptHistory

    /// The longest wait of an action that is released again and again until an open gate opens.
    static let longestReleaseDelay: Duration = .seconds(60)

    init(
        _ core: TransactionCore,
        _ removals: Removals,
        _ schedule: Schedule,
        _ closings: Closings,
        _ groups: Groups,
        _ failures: Failures,
        _ edits: Edits,
        _ enqueues: Enqueues,
        _ history: AttemptHistory
    ) {
        (self.core, self.removals, self.schedule, self.groups) = (core, removals, schedule, groups)
        (self.failures, self.edits, self.enqueues) = (failures, edits, enqueues)
        (self.closings, self.history) = (closings, history)
    }

    /// - Parameter mayBeWritten: Whether an earlier write of it was in a commit with an unknown result.
    func settle(
        _ receipt: Receipt,
        _ settlement: Settlement,
        mayBeWritten: Bool = false
    ) throws -> SettleResult {
        core.routeUse.end(receipt.claim)
        if mayBeWritten, try isWritten(receipt) { return try endWritten(receipt, settlement) }
        if let own = core.ownSettlements.entry(of: receipt), try !core.exists(receipt.action) {
            return try endOwn(own, receipt)
        }
        if case .success = settlement { return try succeed(receipt) }
        if case .successWriting(let work) = settlement { return try succeed(receipt, work) }
        guard let began = try takeSlot(of: receipt) else { return try refuse(receipt) }
        let discipline = order.discipline(ofRunning: receipt.action)
        guard let place = try order.ended(receipt.action) else { return .removed }
        let state = try StateRow.read(receipt.action, in: core)
        if state.isCancelled {
            // The server is busy, whatever becomes of the action.
            if let (gate, delay) = settlement.closing { try close(gate, for: delay) }
            try removals.remove(receipt.action, in: receipt.queue)
            return .removed
        }
        let run = EndedRun(receipt: receipt, began: began, place: place, discipline: discipline, state: state)
        switch settlement {
        case .success, .successWriting: preconditionFailure("a success is settled by its own method")
        case .retry(let delay, let gate, let closes, let error):
            try history.record(run.failed, "retry", error: error)
            try wait(run, delay, gate, closes: closes, isRetry: true, error)
        case .release(let delay, let gate, let closes, let error):
            try wait(run, delay, gate, closes: closes, isRetry: false, error)
        case .stop: try stop(run)
        // The payload that did not decode was replaced during the attempt: the next reads the new one.
        case .fail(.undecodable, _, _) where state.isEdited(during: receipt): try stop(run)
        case .fail(let cause, let policy, let error): try fail(run, cause, policy, error)
        }
        try carryOutMove(of: receipt, state)
        return .settled
    }

    /// Writes a wait, and clears suspicion; a release spends no attempt, and may keep the last error.
    ///
    /// If it closes its gate, the action waits for the delay and for the gate, which may be closed longer. A
    /// gate that nobody has opened is closed already: nothing opens it, and the action waits for the delay.
    private func wait(
        _ run: EndedRun,
        _ delay: Duration,
        _ gate: GateName?,
        closes: Bool,
        isRetry: Bool,
        _ error: String?
    ) throws(SQLiteError) {
        var gate = gate
        if closes, let name = gate, try core.controls().gates[name] == nil { gate = nil }
        var wait =
            try closes
            ? Schedule.Wait(delay: max(delay, .zero), gate: gate)
            : Schedule.Wait(delay, untilOpen: gate, openedSince: run.began.opening, core.controls())
        if !isRetry, !closes, gate != nil, let asked = wait.delay, asked > .zero,
            !mutant("release by open gate")
        {
            // It waits for a gate that is open: no attempt is spent, so nothing else would slow it down.
            wait.delay = max(asked, min(run.state.releaseDelay * 2, Self.longestReleaseDelay))
        }
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
        ).bind(1, run.action.rawValue).bind(2, run.state.attempts + (isRetry ? 1 : 0))
            .bind(3, wait.delay.map { (now + $0).microseconds }).bind(4, wait.delay?.wholeMicroseconds)
            .bind(5, (error ?? run.state.lastError).map(bounded)).bind(6, !isRetry)
            .bind(7, wait.gate?.rawValue).run()
        try core.events.record(isRetry ? .retrying : .released, run.action, in: run.queue) {
            ($0.attempt, $0.delay, $0.gate) = (run.number, wait.delay, wait.gate)
            $0.error = error.map(bounded)
        }
        if closes, let gate { try close(gate, for: delay) }
        try schedule.deferAfterAttempt(run.place, in: run.queue, by: run.discipline, wait)
    }

    /// Closes a gate for a time; one that nobody has opened is closed already.
    private func close(_ gate: GateName, for delay: Duration) throws(SQLiteError) {
        guard try core.controls().gates[gate] != nil, !mutant("closing") else { return }
        try closings.close(gate, isPersistent: true, for: delay)
    }

    private func stop(_ run: EndedRun) throws(SQLiteError) {
        try core.events.record(.released, run.action, in: run.queue) { $0.attempt = run.number }
        if run.state.isSuspect {
            let update: StaticString = """
                UPDATE sluice_state_rows SET is_suspect = 0, crashes = 0, suspicion = 0 WHERE action_id = ?1
                """
            try self.run(update, run.action)
        }
        try schedule.deferAfterAttempt(run.place, in: run.queue, by: run.discipline, nil)
    }

    private func fail(
        _ run: EndedRun,
        _ cause: FailureCause,
        _ policy: FailurePolicy,
        _ error: String
    ) throws(SQLiteError) {
        let (action, queue, discipline, number) = (run.action, run.queue, run.discipline, run.number)
        let spent = cause == .undecodable ? 0 : 1
        try history.record(run.failed, cause.rawValue, error: error)
        let insert: StaticString = """
            INSERT INTO sluice_state_rows (action_id, attempts, last_error) VALUES (?1, ?2, ?3)
            ON CONFLICT (action_id) DO UPDATE SET
                attempts = attempts + excluded.attempts, last_error = excluded.last_error,
                is_suspect = 0, crashes = 0, suspicion = 0
            """
        try connection.cached(insert).bind(1, action.rawValue).bind(2, spent).bind(3, bounded(error)).run()
        try groups.leavePass(action, of: queue, by: discipline, policy)
        try failures.fail(action, in: queue, by: discipline, cause, policy, error: error, attempt: number)
        try schedule.deferAfterAttempt(run.place, in: queue, by: discipline, nil)
    }

    /// Frees the slot if the receipt holds it, and removes the action; its claim has lifted what blocked it.
    private func succeed(_ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        let freed = try connection.cached(
            mutant("receipt of a success")
                ? "DELETE FROM sluice_claim_rows WHERE queue_id = ?1 AND slot = ?2 AND ?3 AND ?4"
                : """
                DELETE FROM sluice_claim_rows
                WHERE queue_id = ?1 AND slot = ?2 AND action_id = ?3 AND claim = ?4
                """
        ).bind(receipt).run()
        guard freed > 0 else { return try refuse(receipt) }
        try core.events.recordSuccess(receipt)
        return try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) ? .settled : .removed
    }

    /// Returns whether the file has the unknown commit: nobody else deletes a living process's claim.
    private func isWritten(_ receipt: Receipt) throws(SQLiteError) -> Bool {
        guard receipt.claim >> 32 == core.epoch, !mutant("written before") else { return false }
        return try !connection.cached("SELECT 1 FROM sluice_claim_rows WHERE claim = ?1")
            .bind(1, receipt.claim).hasRow()
    }

    /// Ends a run whose outcome is in the file already; observers were not notified of it.
    private func endWritten(_ receipt: Receipt, _ settlement: Settlement) throws(SQLiteError) -> SettleResult
    {
        try order.lost(receipt)
        core.events.interest.noteUntoldChange()
        switch settlement {
        case .success, .successWriting: core.settledActions.note(receipt.action, .succeeded)
        case .retry, .release, .stop, .fail: break
        }
        return .settled
    }

    /// Settles nothing, since the receipt does not hold the slot.
    func refuse(_ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        try order.lost(receipt)
        return .stale
    }

    /// Frees the slot if the receipt holds it (G6); returns the start of the run and the `opening` then.
    func takeSlot(of receipt: Receipt) throws(SQLiteError) -> (at: Timestamp, opening: Int64)? {
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
        ).bind(receipt).all { (Timestamp(microseconds: $0.int64(0)), $0.int64(1)) }.first
    }

    /// Carries out a cancellation or a move requested while the action ran in a process that has died.
    func endOrphan(_ receipt: Receipt) throws(SQLiteError) {
        let state = try StateRow.read(receipt.action, in: core)
        if state.isCancelled { return try removals.remove(receipt.action, in: receipt.queue) }
        try carryOutMove(of: receipt, state)
    }

    private func carryOutMove(of receipt: Receipt, _ state: StateRow) throws(SQLiteError) {
        guard let target = state.movesTo else { return }
        try edits.forgetMove(of: receipt.action)
        guard try core.exists(receipt.action) else { return }
        try edits.relocate(receipt.action, from: receipt.queue, to: target)
    }

    // MARK: - With the application's writes

    /// Returns `false` if the receipt lacks the slot or the action is deleted: roll the savepoint back.
    func succeedJoined(_ receipt: Receipt) throws(SQLiteError) -> Bool {
        // First: it takes the write lock, so that later reads see the file's last state.
        guard try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) else { return false }
        core.log(ForeignChange(.wake, of: receipt.action, in: receipt.queue))
        let query: StaticString = """
            SELECT 1 FROM sluice_claim_rows
            WHERE queue_id = ?1 AND slot = ?2 AND action_id = ?3 AND claim = ?4
            """
        return try connection.cached(query).bind(receipt).hasRow()
    }

    /// Ends a run that the application settled in a transaction of its own, when the handler has returned.
    func endOwn(_ own: OwnSettlements.Entry, _ receipt: Receipt) throws(SQLiteError) -> SettleResult {
        _ = try takeSlot(of: receipt)
        try order.leaving(receipt.action, of: receipt.queue)
        core.settledActions.note(receipt.action, .succeeded)
        let events = core.events
        if events.isOn {
            events.record(.succeeded, receipt.action, of: own.kind, in: own.queue) { $0.attempt = own.number }
            events.leaves(receipt.queue)
        }
        return .settledByApplication
    }

    /// Settles a run with success and the application's writes.
    ///
    /// If the receipt does not hold the slot, or the action is deleted, nothing is written (G6). As in other
    /// settlements, the success of a cancelled action is kept.
    func succeed(_ receipt: Receipt, _ work: SettlingWork) throws -> SettleResult {
        guard try takeSlot(of: receipt) != nil else { return try refuse(receipt) }
        try core.events.recordSuccess(receipt)
        // Before the application's code, which may need the room or the key, or delete it by a trigger.
        guard try removals.discard(receipt.action, of: receipt.queue, as: .succeeded) else { return .removed }
        try work.perform(core, enqueues)
        // Read the changes that the application's triggers have made.
        try core.readForeignChanges(isOfTransaction: true)
        try schedule.readChanges()
        return .settled
    }
}

extension Statement {
    /// Binds what identifies a run as the values 1 to 4.
    func bind(_ receipt: Receipt) throws(SQLiteError) -> Statement {
        try bind(1, receipt.queue.rawValue).bind(2, receipt.slot).bind(3, receipt.action.rawValue)
            .bind(4, receipt.claim)
    }
}

/// The row of `sluice_state_rows`, or the defaults if it is missing.
struct StateRow {
    var attempts = 0
    var lastError: String?
    var isSuspect = false
    var isCancelled = false
    var movesTo: QueueID?
    /// The claim of the run during which the action was last edited.
    var editedClaim: Int64?
    /// The delay of the last attempt if it was released; zero otherwise.
    var releaseDelay = Duration.zero

    /// Returns whether the payload was replaced while the run read another.
    func isEdited(during run: Receipt) -> Bool {
        editedClaim == run.claim && !mutant("edit while undecodable")
    }

    static func read(_ action: ActionID, in core: TransactionCore) throws(SQLiteError) -> StateRow {
        try core.connection.cached(
            """
            SELECT attempts, last_error, is_suspect, is_cancelled, moves_to_queue_id, edited_claim,
                   iif(is_released, retry_delay_us, 0)
            FROM sluice_state_rows WHERE action_id = ?1
            """
        ).bind(1, action.rawValue).first {
            StateRow(
                attempts: $0.count(0),
                lastError: $0.optionalText(1),
                isSuspect: $0.bool(2),
                isCancelled: $0.bool(3),
                movesTo: $0.optionalInt64(4).map(QueueID.init(rawValue:)),
                editedClaim: $0.optionalInt64(5),
                releaseDelay: .microseconds($0.optionalInt64(6) ?? 0)
            )
        } ?? StateRow()
    }
}

/// A run whose slot has been freed, and the facts that its settlement needs.
private struct EndedRun {
    let receipt: Receipt
    /// When it began, and the counter `opening` then.
    let began: (at: Timestamp, opening: Int64)
    let place: Place
    let discipline: QueueDiscipline
    let state: StateRow

    var action: ActionID { receipt.action }
    var queue: QueueID { receipt.queue }
    var number: Int { state.attempts + 1 }
    var failed: FailedRun { FailedRun(receipt: receipt, startedAt: began.at, number: number) }
}
