internal import SQLite

/// Which process runs the queues, and what it finds of those before it.
extension Store {
    /// How long a process that cannot be told dead keeps the right to run the queues, and how often it renews
    /// it.
    package static let leaseLength: Duration = .seconds(30)
    package static let leaseRenewal: Duration = .seconds(10)

    /// Becomes the process that runs the queues, and makes suspects of what a dead one left running.
    ///
    /// - Throws: ``SluiceError/Code/runningElsewhere`` while another process runs them.
    package func startRunning() async throws(SluiceError) {
        let me = ProcessIdentity.current
        try await write(sync: .owed) { try $0.startRunning(as: me) }
    }

    /// Renews the right to run the queues.
    ///
    /// - Throws: ``SluiceError/Code/runningElsewhere`` when another process has taken it over.
    package func renewLease() async throws(SluiceError) {
        try await write(sync: .later) { try $0.renewLease() }
    }

    /// Gives the right up.
    package func stopRunning() async throws(SluiceError) {
        try await write(sync: .later) { try $0.stopRunning() }
    }

    /// Queues with work, a page at a time: those with new actions, then the others in the order of their
    /// numbers.
    ///
    /// A queue may be named twice, and one that has become empty a moment ago too.
    package func queuesWithWork(
        _ page: WorkPage
    ) async throws(SluiceError) -> (queues: [QueueID], next: WorkPage?) {
        try await write(sync: .later) { try $0.queuesWithWork(page) }
    }

    /// Gives the scheduled actions that are due their place in the order, and tells when the next is due.
    package func admitScheduled() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { try $0.admitScheduled() }
    }

    /// Tries again what could not be decoded: the code may have changed.
    package func liftUndecodable() async throws(SluiceError) {
        try await write(sync: .later) { try $0.liftUndecodable() }
    }

    /// Removes the holds that have ended by themselves, and tells of them.
    ///
    /// - Returns: When the next one ends; `nil` when none does by itself.
    package func endHolds() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { transaction in
            try transaction.removeEndedHolds()
            return try transaction.nextEndOfHolds()
        }
    }

    /// Takes in what others have changed, by way of the commit's report.
    package func takeInForeignChanges() async throws(SluiceError) {
        try await write(sync: .later) { _ in }
    }

    /// Makes all earlier commits survive a loss of power.
    package func sync() async throws(SluiceError) {
        try await write(sync: .forced) { try $0.writeBarrier() }
    }
}

/// What part of the queues with work is asked for.
package enum WorkPage: Sendable, Hashable {
    /// The first, without a limit: memory has them anyway.
    case newest(thenLimit: Int)
    case ordered(after: QueueID, limit: Int)

    var limit: Int {
        switch self {
        case .newest(let limit), .ordered(_, let limit): limit
        }
    }
}

extension WriteTransaction {
    func startRunning(as me: ProcessIdentity) throws {
        if epoch == nil { try checkRight(of: me) }
        let epoch = try connection.cached(
            "UPDATE sluice_counters SET value = value + 1 WHERE name = 'epoch' RETURNING value"
        )
        .all { $0.int64(0) }.first
        guard let epoch else {
            throw SluiceError(.corrupt, "the counter 'epoch' is missing from sluice_counters")
        }
        try connection.cached(
            """
            INSERT INTO sluice_runner (only, epoch, pid, process, lease_until_us, lease_until_boot_us)
            VALUES (1, ?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (only) DO UPDATE SET
                epoch = excluded.epoch, pid = excluded.pid, process = excluded.process,
                lease_until_us = excluded.lease_until_us, lease_until_boot_us = excluded.lease_until_boot_us
            """
        )
        .bind(1, epoch).bind(2, me.pid).bind(3, me.mark).bind(4, (now + Store.leaseLength).microseconds)
        .bind(5, leaseEndOnMachine).run()
        self.epoch = epoch
        isRunElsewhere = false
        claimCount = 0
        // All queues with work are looked at now.
        try connection.cached("DELETE FROM sluice_changes").run()
        try forgetGates()
        try removeEndedHolds()
        try suspectOrphans()
        try liftUndecodable()
        try endReleases()
        try shortenWaits()
        followOrder()
    }

    /// Refuses while another process has the right to run the queues.
    private func checkRight(of me: ProcessIdentity) throws {
        let other = try connection.cached(
            "SELECT pid, process, lease_until_us, lease_until_boot_us FROM sluice_runner"
        )
        .first {
            (
                process: ProcessIdentity(pid: $0.int64(0), mark: $0.text(1)),
                leaseUntil: Timestamp(microseconds: $0.int64(2)), leaseOnMachine: $0.optionalInt64(3)
            )
        }
        guard let other else { return }
        // This process has one store on the file: what it finds of itself, an earlier store has left.
        if other.process == me || other.process.isDead(seenFrom: me) { return }
        let isOver =
            if let end = other.leaseOnMachine, other.process.sharesMachine(with: me),
                let uptime = ProcessIdentity.machineUptime
            {
                end <= uptime.wholeMicroseconds
            } else {
                other.leaseUntil <= now
            }
        guard isOver else {
            throw SluiceError(
                .runningElsewhere,
                "process \(other.process.pid) runs the queues of this file; stop it, or enqueue only"
            )
        }
    }

    private var leaseEndOnMachine: Int64? {
        ProcessIdentity.machineUptime.map { ($0 + Store.leaseLength).wholeMicroseconds }
    }

    func renewLease() throws {
        guard let epoch else { throw lostLease }
        let renewed = try connection.cached(
            "UPDATE sluice_runner SET lease_until_us = ?2, lease_until_boot_us = ?3 WHERE epoch = ?1"
        )
        .bind(1, epoch).bind(2, (now + Store.leaseLength).microseconds).bind(3, leaseEndOnMachine).run()
        guard renewed == 1 else { throw lostLease }
    }

    func stopRunning() throws {
        guard let epoch else { return }
        try order.removeLeftovers()
        try connection.cached("DELETE FROM sluice_runner WHERE epoch = ?1").bind(1, epoch).run()
        self.epoch = nil
        followOrder()
    }

    private var lostLease: SluiceError {
        SluiceError(.runningElsewhere, "another process has taken over the queues of this file")
    }

    /// Makes suspects of the actions that ran when their process died (G7).
    ///
    /// A death while an action ran alone is an attempt, and counts against it. One among several gets its
    /// attempt back: nobody knows which of them it was.
    private func suspectOrphans() throws {
        let orphans = try connection.cached(
            "SELECT queue_id, slot, action_id, claim, started_at_us, is_alone FROM sluice_claim_rows"
        )
        .all {
            (
                run: Receipt(
                    action: ActionID(rawValue: $0.int64(2)),
                    claim: $0.int64(3),
                    queue: QueueID(rawValue: $0.int64(0)),
                    slot: $0.int(1)
                ), startedAt: Timestamp(microseconds: $0.int64(4)), wasAlone: $0.bool(5)
            )
        }
        for orphan in orphans {
            try connection.cached(
                """
                INSERT INTO sluice_state_rows (action_id, is_suspect)
                SELECT id, 1 FROM sluice_action_rows WHERE id = ?1
                ON CONFLICT (action_id) DO UPDATE SET is_suspect = 1
                """
            )
            .bind(1, orphan.run.action.rawValue).run()
            guard orphan.wasAlone else { continue }
            let number = try connection.cached(
                """
                UPDATE sluice_state_rows SET attempts = attempts + 1, crashes = crashes + 1
                WHERE action_id = ?1
                RETURNING attempts
                """
            )
            .bind(1, orphan.run.action.rawValue).all { $0.int(0) }.first
            guard let number else { continue }
            let run = FailedRun(receipt: orphan.run, startedAt: orphan.startedAt, number: number)
            try record(run, "crashed", error: "the process died while the action ran alone")
        }
        // Every slot is free; what was asked for while they were taken can be done.
        try connection.cached("DELETE FROM sluice_claim_rows").run()
        for orphan in orphans { try endOrphan(orphan.run) }
    }

    /// Ends the waits of heads that were released: a restart may have brought what they lacked.
    private func endReleases() throws(SQLiteError) {
        try connection.cached(
            """
            UPDATE sluice_state_rows
            SET next_attempt_at_us = NULL, retry_delay_us = NULL, waits_for_gate = NULL, is_released = 0
            WHERE is_released = 1
            """
        )
        .run()
    }

    /// Has retries come no later than was asked, counted from here, that a wall clock which was set back has
    /// moved away (G8).
    ///
    /// A claim sees to that too; this has the file say so.
    private func shortenWaits() throws(SQLiteError) {
        try connection.cached(
            """
            UPDATE sluice_state_rows SET next_attempt_at_us = ?1 + retry_delay_us
            WHERE next_attempt_at_us - retry_delay_us > ?1
            """
        )
        .bind(1, now.microseconds).run()
    }

    func queuesWithWork(_ page: WorkPage) throws(SQLiteError) -> (queues: [QueueID], next: WorkPage?) {
        guard case .ordered(let last, let limit) = page else {
            return (try order.queuesOfNewest(), .ordered(after: QueueID(rawValue: 0), limit: page.limit))
        }
        // One step down the order for each queue, however many actions it holds.
        let queues = try connection.cached(
            """
            WITH RECURSIVE busy (queue_id) AS (
                SELECT (SELECT min(queue_id) FROM sluice_order_rows WHERE queue_id > ?1)
                UNION ALL
                SELECT (SELECT min(queue_id) FROM sluice_order_rows WHERE queue_id > busy.queue_id)
                FROM busy WHERE busy.queue_id IS NOT NULL
                LIMIT ?2
            )
            SELECT queue_id FROM busy WHERE queue_id IS NOT NULL
            """
        )
        .bind(1, last.rawValue).bind(2, limit).all { QueueID(rawValue: $0.int64(0)) }
        return (queues, queues.last.map { .ordered(after: $0, limit: limit) })
    }

    /// The most scheduled actions that one transaction gives their place.
    private static let scheduleBatchSize = 1_000

    func admitScheduled() throws(SQLiteError) -> Timestamp? {
        let due = try connection.cached(
            """
            UPDATE sluice_action_rows SET not_before_us = NULL
            WHERE id IN (SELECT id FROM sluice_action_rows WHERE not_before_us <= ?1
                         ORDER BY not_before_us LIMIT ?2)
            RETURNING queue_id, sort_key, id
            """
        )
        .bind(1, now.microseconds).bind(2, Self.scheduleBatchSize).all {
            (
                queue: QueueID(rawValue: $0.int64(0)),
                place: Place(key: PlaceKey($0, 1), action: ActionID(rawValue: $0.int64(2)))
            )
        }
        for (queue, place) in due { try restore(place, in: queue) }
        return try connection.cached(
            "SELECT min(not_before_us) FROM sluice_action_rows WHERE not_before_us IS NOT NULL"
        )
        .first { $0.optionalInt64(0).map(Timestamp.init(microseconds:)) } ?? nil
    }

    func liftUndecodable() throws(SQLiteError) {
        let queues = try connection.cached(
            """
            UPDATE sluice_queue_rows
            SET blocked_by = NULL, blocked_action_id = NULL, blocked_at_us = NULL, blocked_error = NULL
            WHERE blocked_by = 'undecodable' RETURNING queue_id
            """
        )
        .all { QueueID(rawValue: $0.int64(0)) }
        for queue in queues { touch(queue) }
    }

    /// Writes something, so that the commit has something to sync.
    ///
    /// An update that changes no byte writes no page, and SQLite syncs nothing for it.
    func writeBarrier() throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_counters (name, value) VALUES ('barrier', 1)
            ON CONFLICT (name) DO UPDATE SET value = value + 1
            """
        )
        .run()
    }
}
