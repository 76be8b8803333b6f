internal import SluiceSQLite

final class GatesAndHolds: TransactionSubject {
    let core: TransactionCore
    let closings: Closings

    init(_ core: TransactionCore, _ closings: Closings) { (self.core, self.closings) = (core, closings) }

    func setGate(_ gate: GateName, isOpen: Bool, isPersistent: Bool, spread: Duration) throws(SQLiteError) {
        let known = try core.controls().gates[gate]
        let isOpened = isOpen && known?.isOpen != true
        if isOpened { try closings.countOpening() }
        // Opening an open gate that is kept does not limit it to this opening of the file.
        try connection.cached(
            """
            INSERT INTO sluice_gate_rows
                (name, is_open, opening, changed_at_us, owner, owner_pid, owner_process)
            VALUES (?1, ?2,
                    CASE WHEN ?3 THEN (SELECT value FROM sluice_counters WHERE name = 'opening') ELSE 0 END,
                    ?4, ?5, ?6, ?7)
            ON CONFLICT (name) DO UPDATE SET
                opening = iif(?3, excluded.opening, opening),
                changed_at_us = iif(is_open = excluded.is_open, changed_at_us, excluded.changed_at_us),
                is_open = excluded.is_open, opens_at_us = NULL, closed_for_us = NULL,
                (owner, owner_pid, owner_process) = (
                    iif(is_open AND excluded.is_open AND owner IS NULL, NULL, excluded.owner),
                    iif(is_open AND excluded.is_open AND owner IS NULL, NULL, excluded.owner_pid),
                    iif(is_open AND excluded.is_open AND owner IS NULL, NULL, excluded.owner_process))
            """
        ).bind(1, gate.rawValue).bind(2, isOpen).bind(3, isOpened).bind(4, now.microseconds)
            .bind(5, isPersistent ? nil : core.nonce).bind(6, isPersistent ? nil : core.identity.pid)
            .bind(7, isPersistent ? nil : core.identity.mark).run()
        core.changedControls(.gates)
        if isOpened {
            try closings.opened(GateOpening(gate: gate, spread: spread))
        } else if !isOpen, let known, known.isOpen || known.opensAt != nil {
            core.events.record(.gateClosed) { $0.gate = gate }
        }
    }

    /// Closes the gates that ended openings of the file had opened for their own lifetime.
    ///
    /// An opening ends with its process, or in this process with its store. If a process cannot be found
    /// dead, its opening lives while it runs the queues.
    func forgetGates() throws(SQLiteError) {
        let query: StaticString = """
            SELECT g.owner, g.owner_pid, g.owner_process,
                   EXISTS (SELECT 1 FROM sluice_runner_rows AS r WHERE r.nonce = g.owner)
            FROM sluice_gate_rows AS g WHERE g.owner <> ?1
            """
        let owners = try connection.cached(query).bind(1, core.nonce).all {
            ($0.int64(0), ProcessIdentity(pid: $0.int64(1), mark: $0.text(2)), runs: $0.bool(3))
        }
        for (nonce, process, runs) in owners where !runs {
            let lives =
                process.sharesMachine(with: core.identity) && !process.isDead(seenFrom: core.identity)
            guard process == core.identity || !lives else { continue }
            // An owner of several gates occurs several times, and has none left the second time.
            let forgotten = try connection.cached(
                """
                DELETE FROM sluice_gate_rows WHERE owner = ?1
                RETURNING name, is_open OR opens_at_us IS NOT NULL
                """
            ).bind(1, nonce).all { (name: GateName($0.text(0)), couldOpen: $0.bool(1)) }
            core.changedControls(.gates)
            for (name, couldOpen) in forgotten where couldOpen {
                core.events.record(.gateClosed) { $0.gate = name }
            }
        }
    }

    func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String,
        for duration: Duration?
    ) throws(SQLiteError) -> HoldID {
        let until = duration.map { now + $0 }
        try connection.cached(
            """
            INSERT INTO sluice_hold_rows (scope, holder, reason, since_us, until_us)
            VALUES (?1, ?2, ?3, ?4, ?5)
            """
        ).bind(1, pattern.rawValue).bind(2, holder).bind(3, reason).bind(4, now.microseconds)
            .bind(5, until?.microseconds).run()
        core.changedControls(.holds)
        core.events.record(.held) { ($0.pattern, $0.holder, $0.until) = (pattern, holder, until?.date) }
        return HoldID(rawValue: connection.lastInsertedRowID)
    }

    func endHold(_ hold: HoldID) throws(SQLiteError) -> Bool {
        let deletion = try connection.cached(
            "DELETE FROM sluice_hold_rows WHERE id = ?1 RETURNING id, scope, holder, until_us"
        )
        return try endHolds(deletion.bind(1, hold.rawValue)) > 0
    }

    func endHolds(matching pattern: QueuePattern, by holder: String?) throws(SQLiteError) -> Int {
        let deletion = try connection.cached(
            """
            DELETE FROM sluice_hold_rows WHERE scope = ?1 AND (?2 IS NULL OR holder = ?2)
            RETURNING id, scope, holder, until_us
            """
        )
        return try endHolds(deletion.bind(1, pattern.rawValue).bind(2, holder))
    }

    /// Deletes the holds that have ended by themselves.
    ///
    /// One that begins in the future, as the wall clock was set back, lasts as long as requested from now.
    func removeEndedHolds() throws(SQLiteError) {
        let deletion = try connection.cached(
            """
            DELETE FROM sluice_hold_rows WHERE until_us <= ?1 OR until_us <= since_us
            RETURNING id, scope, holder, until_us
            """
        )
        _ = try endHolds(deletion.bind(1, now.microseconds))
        let update: StaticString = """
            UPDATE sluice_hold_rows SET since_us = ?1, until_us = ?1 + (until_us - since_us)
            WHERE until_us IS NOT NULL AND since_us > ?1
            """
        let begun = try connection.cached(update).bind(1, now.microseconds).run()
        if begun > 0 { core.changedControls(.holds) }
    }

    func nextEndOfHolds() throws(SQLiteError) -> Timestamp? {
        try connection.cached("SELECT min(until_us) FROM sluice_hold_rows")
            .first { $0.optionalInt64(0).map(Timestamp.init(microseconds:)) } ?? nil
    }

    private func endHolds(_ deletion: Statement) throws(SQLiteError) -> Int {
        let ended = try deletion.all { Controls.StandingHold($0) }
        if !ended.isEmpty { core.changedControls(.holds) }
        for hold in ended { if let hold { core.events.record(.resumed, hold) } }
        return ended.count
    }
}
