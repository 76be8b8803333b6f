internal import SluiceSQLite

/// Owns the closings of gates that end by themselves.
///
/// A gate stays closed until ``openEnded()`` has opened it, which the broker calls at the end of the closing.
final class Closings: TransactionSubject {
    let core: TransactionCore
    let schedule: Schedule
    /// The ends that this process has read, with the uptime at which they are reached.
    ///
    /// Each is used only for the same end in the file, so a roll-back need not forget it.
    private var ends: [GateName: (end: Timestamp, uptime: Duration)] = [:]

    init(_ core: TransactionCore, _ schedule: Schedule) { (self.core, self.schedule) = (core, schedule) }

    /// Closes a gate for a time.
    ///
    /// If it is closed without an end, it remains so; of two ends the later one counts. A gate that has a row
    /// keeps its owner.
    func close(_ gate: GateName, isPersistent: Bool, for duration: Duration) throws(SQLiteError) {
        let length = max(duration, .zero)
        let end = now + length
        let changed = try connection.cached(
            """
            INSERT INTO sluice_gate_rows
                (name, is_open, changed_at_us, owner, owner_pid, owner_process, opens_at_us, closed_for_us)
            VALUES (?1, 0, ?2, ?3, ?4, ?5, ?6, ?7)
            ON CONFLICT (name) DO UPDATE SET
                changed_at_us = iif(is_open, excluded.changed_at_us, changed_at_us), is_open = 0,
                opens_at_us = excluded.opens_at_us, closed_for_us = excluded.closed_for_us
            WHERE is_open OR opens_at_us < excluded.opens_at_us
            """
        ).bind(1, gate.rawValue).bind(2, now.microseconds).bind(3, isPersistent ? nil : core.nonce)
            .bind(4, isPersistent ? nil : core.identity.pid).bind(5, isPersistent ? nil : core.identity.mark)
            .bind(6, end.microseconds).bind(7, length.wholeMicroseconds).run()
        guard changed > 0 else { return }
        ends[gate] = (end, core.uptime + length)
        core.expectEnd(at: end)
        core.changedControls(.gates)
        core.events.record(.gateClosed) { ($0.gate, $0.until) = (gate, end.date) }
    }

    /// Opens the gates whose closing has ended, and reports the ends of the others.
    ///
    /// A closing ends by the wall clock, by the uptime since this process has read its end, or after its
    /// whole length from now, whichever is first. So a wall clock that was set back does not prolong it (G8).
    func openEnded() throws(SQLiteError) {
        let closed = try connection.cached(
            "SELECT name, opens_at_us, closed_for_us FROM sluice_gate_rows WHERE opens_at_us IS NOT NULL"
        ).all {
            (
                gate: GateName($0.text(0)), end: Timestamp(microseconds: $0.int64(1)),
                length: Duration.microseconds($0.int64(2))
            )
        }
        let known = ends
        ends = [:]
        for (gate, end, length) in closed {
            var left = min(end - now, length)
            if let seen = known[gate], seen.end == end { left = min(left, seen.uptime - core.uptime) }
            guard left > .zero else {
                try open(gate, after: length)
                continue
            }
            let isTooFar = end - now > length
            if isTooFar { try move(gate, to: now + left) }
            ends[gate] = (isTooFar ? now + left : end, core.uptime + left)
            core.expectEnd(at: now + left)
        }
    }

    private func open(_ gate: GateName, after length: Duration) throws(SQLiteError) {
        try countOpening()
        try connection.cached(
            """
            UPDATE sluice_gate_rows
            SET is_open = 1, opening = (SELECT value FROM sluice_counters WHERE name = 'opening'),
                changed_at_us = ?2, opens_at_us = NULL
            WHERE name = ?1
            """
        ).bind(1, gate.rawValue).bind(2, now.microseconds).run()
        core.changedControls(.gates)
        try opened(GateOpening(of: gate, closedFor: length))
    }

    /// Ends a closing earlier, since the wall clock was set back before its beginning.
    private func move(_ gate: GateName, to end: Timestamp) throws(SQLiteError) {
        try connection.cached("UPDATE sluice_gate_rows SET opens_at_us = ?2 WHERE name = ?1")
            .bind(1, gate.rawValue).bind(2, end.microseconds).run()
        core.changedControls(.gates)
        core.events.record(.gateClosed) { ($0.gate, $0.until) = (gate, end.date) }
    }

    func countOpening() throws(SQLiteError) {
        try connection.cached("UPDATE sluice_counters SET value = value + 1 WHERE name = 'opening'").run()
    }

    /// Reports that a gate has opened, to the actions that wait for it and to observers.
    func opened(_ opening: GateOpening) throws(SQLiteError) {
        try core.opened(opening)
        try schedule.expectOpening(for: opening.gate)
        core.events.record(.gateOpened) { $0.gate = opening.gate }
    }
}
