internal import SluiceSQLite

/// Deferred actions: where others may pass a waiting action, it leaves the order, so that no claim skips it.
///
/// The end of its wait is found like the time of a scheduled action.
extension Schedule {
    func deferAction(_ action: ActionID, until time: Timestamp) throws(SQLiteError) {
        try setTime(of: action, time)
        noteScheduled(at: time)
        expect(time)
    }

    func deferAction(_ action: ActionID, untilOpen gate: GateName) throws(SQLiteError) {
        try setTime(of: action, .whenOpened)
        try connection.cached("INSERT OR REPLACE INTO sluice_deferred_rows (action_id, gate) VALUES (?1, ?2)")
            .bind(1, action.rawValue).bind(2, gate.rawValue).run()
        groups.hasTraces = true
    }

    func setNextAttempt(of action: ActionID, at time: Timestamp) throws(SQLiteError) {
        let text: StaticString = "UPDATE sluice_state_rows SET next_attempt_at_us = ?2 WHERE action_id = ?1"
        try run(text, action, time.microseconds)
    }

    /// What an action waits for before it is tried again.
    struct Wait {
        /// The length; `nil` if it waits for the gate alone.
        var delay: Duration?
        let gate: GateName?

        init(delay: Duration?, gate: GateName?) { (self.delay, self.gate) = (delay, gate) }

        /// A gate whose counter `opening` is later than that of the attempt's begin has opened since.
        init(_ delay: Duration, untilOpen gate: GateName?, openedSince opening: Int64, _ controls: Controls) {
            self.gate = gate
            let state = gate.flatMap { controls.gates[$0] }
            let isOpen = gate == nil || state?.isOpen == true
            let isOpened = (state?.opening ?? 0) > opening && !mutant("opening during an attempt")
            self.delay = !isOpen ? nil : isOpened ? .zero : max(delay, .zero)
        }
    }

    /// Defers an action, if its discipline does so; without a wait it was stopped, or failed for good.
    func deferAfterAttempt(
        _ place: Place,
        in queue: QueueID,
        by discipline: QueueDiscipline,
        _ wait: Wait?
    ) throws(SQLiteError) {
        guard discipline.defersWaiting else { return }
        // It ran while the queue failed, and so is exempt from the failing.
        if discipline.slots > 1, try core.exists(place.action) {
            try blocks.noteArrival(place.action, to: queue)
        }
        if discipline == .passOver && wait != nil && !mutant("pass") {
            try order.passOver(place, of: queue, wasTried: true)
        }
        if let delay = wait?.delay, delay > .zero {
            try order.leaving(place.action, of: queue)
            try deferAction(place.action, until: now + delay)
        } else if let wait, wait.delay == nil, let gate = wait.gate {
            try order.leaving(place.action, of: queue)
            try deferAction(place.action, untilOpen: gate)
        } else if discipline.slots > 1 {
            // Another process may have seen it run, and have forgotten its place.
            core.log(ForeignChange(.update, of: place.action, in: queue))
        }
    }

    func endDeferral(_ action: ActionID) throws(SQLiteError) {
        if let aside = try aside(action) { try place(aside) }
        try groups.forgetDeferral(action)
    }

    /// Returns deferred actions to their places, and how many; an unwritable one delays no other (G9).
    @discardableResult
    private func endDeferral(each actions: [ActionID]) throws(SQLiteError) -> Int {
        var count = 0
        for action in actions {
            if let aside = try aside(action), try !placeIfWritable(aside) { continue }
            try groups.forgetDeferral(action)
            count += 1
        }
        return count
    }

    /// Returns an action, with the time until which it is deferred; `nil` if it is not deferred.
    private func aside(_ action: ActionID) throws(SQLiteError) -> DueAction? {
        try connection.cached(
            """
            SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
            WHERE id = ?1 AND (not_before_us = ?2 OR not_before_us = (
                SELECT s.next_attempt_at_us FROM sluice_state_rows AS s WHERE s.action_id = ?1))
            """
        ).bind(1, action.rawValue).bind(2, Timestamp.whenOpened.microseconds).all(DueAction.init).first
    }

    /// The most actions that one transaction puts back after gates have opened.
    private static let putBackLimit = 1_000

    /// Puts back a batch of actions whose gates are open; returns whether there may be more.
    func placeOpened() throws(SQLiteError) -> Bool {
        while true {
            let limit = Self.putBackLimit + memory.unplaced.count
            let actions = try connection.cached(
                """
                SELECT w.action_id FROM sluice_gate_rows AS g
                CROSS JOIN sluice_deferred_rows AS w ON w.gate = g.name
                LEFT JOIN sluice_action_rows AS a ON a.id = w.action_id
                WHERE g.is_open AND (a.id IS NULL OR typeof(a.sort_key) NOT IN ('blob', 'null')) LIMIT ?1
                """
            ).bind(1, limit).all { ActionID(rawValue: $0.int64(0)) }
            let count = try endDeferral(each: actions)
            if actions.count < limit || count > 0 { return actions.count == limit }
        }
    }

    /// Makes the actions deferred for a gate due, since the gate has opened.
    func expectOpening(for gate: GateName) throws(SQLiteError) {
        guard core.epoch != nil else { return }
        let isAwaited = try connection.cached("SELECT 1 FROM sluice_deferred_rows WHERE gate = ?1 LIMIT 1")
            .bind(1, gate.rawValue).hasRow()
        if isAwaited { expect(now) }
    }

    /// Puts back actions that wait for a retry in the queues of a pattern, before the wait is ended.
    func placeWaiting(_ form: QueuePattern.Form) throws(SQLiteError) {
        let (first, last) = form.bounds
        let actions = try connection.cached(
            """
            SELECT a.id FROM sluice_state_rows AS s
            CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
            CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            WHERE s.next_attempt_at_us = a.not_before_us AND q.name >= ?1 AND (?2 IS NULL OR q.name < ?2)
              AND typeof(a.sort_key) NOT IN ('blob', 'null')
            """
        ).bind(1, first).bind(2, last).all { ActionID(rawValue: $0.int64(0)) }
        try endDeferral(each: actions)
    }

    /// Puts back released actions, which a restart may allow to run.
    func placeReleased() throws(SQLiteError) {
        let query: StaticString = """
            SELECT a.id FROM sluice_state_rows AS s
            CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
            WHERE s.is_released = 1 AND a.not_before_us IS NOT NULL
              AND typeof(a.sort_key) NOT IN ('blob', 'null')
            """
        let actions = try connection.cached(query).all { ActionID(rawValue: $0.int64(0)) }
        try endDeferral(each: actions)
    }

    /// Shortens deferrals to the requested wait, counted from now, if the wall clock was set back (G8).
    func shortenDeferrals() throws(SQLiteError) {
        try moveDeferrals(areAfter: true, now) { _, delay in now + delay }
    }

    /// Checks, before due actions get their places, whether the wall clock was set back since the last time.
    func noteAdmission() throws(SQLiteError) {
        if let last = lastAdmission {
            let lost = (core.uptime - last.uptime) - (now - last.wall)
            if lost > Self.clockTolerance {
                // Those made by the wall clock of then, by the time that it has lost since.
                try moveDeferrals(areAfter: false, last.wall) { due, _ in due + (.zero - lost) }
            }
            // While the file was not open, the clock may have been ahead for others, and be set back.
            if lost > Self.clockTolerance || last.isOfEarlierOpening { try shortenDeferrals() }
        }
        lastAdmission = Admission(wall: now, uptime: core.uptime)
    }

    /// What the wall clock may lose between two checks: more than the steps by which a system adjusts it.
    private static let clockTolerance: Duration = .seconds(1)

    /// Changes the times of deferrals made after a time, or of those made before, if they can be written.
    private func moveDeferrals(
        areAfter: Bool,
        _ start: Timestamp,
        to newTime: (_ due: Timestamp, _ delay: Duration) -> Timestamp
    ) throws(SQLiteError) {
        let query: StaticString = """
            SELECT a.id, a.not_before_us, s.retry_delay_us FROM sluice_state_rows AS s
            CROSS JOIN sluice_action_rows AS a ON a.id = s.action_id
            WHERE a.not_before_us = s.next_attempt_at_us
              AND (s.next_attempt_at_us - s.retry_delay_us > ?1) = ?2
            """
        let asides = try connection.cached(query).bind(1, start.microseconds).bind(2, areAfter).all {
            (
                ActionID(rawValue: $0.int64(0)), Timestamp(microseconds: $0.int64(1)),
                Duration.microseconds($0.int64(2))
            )
        }
        for (action, due, delay) in asides {
            let time = newTime(due, delay)
            try core.writeIfPossible { () throws(SQLiteError) in
                // Equal times in the two rows mark the action as deferred.
                try setNextAttempt(of: action, at: time)
                do throws(SQLiteError) {
                    try deferAction(action, until: time)
                } catch {
                    if connection.isInTransaction { try setNextAttempt(of: action, at: due) }
                    throw error
                }
            }
        }
    }
}
