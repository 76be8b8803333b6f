internal import SluiceSQLite

/// Owns the sweep that finds expired actions and ended deduplication keys.
final class Expiry: TransactionSubject {
    let core: TransactionCore
    let keys: DeduplicationKeys
    let removals: Removals
    let groups: Groups
    let failures: Failures
    let blocks: QueueBlocks
    let schedule: Schedule
    /// The last action that was swept; `nil` if the sweep starts from the beginning.
    private var mark: (expiry: Timestamp, action: ActionID)?
    /// Expired actions that could not be written; their expiry is handled when they are heads.
    private var unwritable: Set<ActionID> = []

    init(
        _ core: TransactionCore,
        _ keys: DeduplicationKeys,
        _ removals: Removals,
        _ groups: Groups,
        _ failures: Failures,
        _ blocks: QueueBlocks,
        _ schedule: Schedule
    ) {
        (self.core, self.keys, self.removals, self.groups) = (core, keys, removals, groups)
        (self.failures, self.blocks, self.schedule) = (failures, blocks, schedule)
    }

    func forget() { mark = nil }

    /// The interval between sweeps of ended keys.
    static let keySweepInterval: Duration = .seconds(60)
    /// The most actions that one transaction checks.
    static let sweepBatchSize = 500
    static let expiredError = "its time was over before it could start"

    func sweep(_ admission: Admission) throws(SQLiteError) -> Timestamp? {
        // Only the process that runs the queues knows the policies.
        guard core.epoch != nil else { return nil }
        let leavesExpired = try sweepExpired(admission)
        let leavesKeys = try keys.sweepKeys()
        return leavesExpired || leavesKeys ? now : try nextSweep()
    }

    /// Returns when the next action or key ends.
    func nextSweep() throws(SQLiteError) -> Timestamp? {
        guard core.epoch != nil else { return nil }
        forgetSweptTime()
        // A value that is not a number, in a damaged file, sorts after all times.
        let query: StaticString = """
            SELECT min(expires_at_us) FROM sluice_action_rows
            WHERE expires_at_us > ?1 AND expires_at_us <= ?2
            """
        let swept = mark?.expiry.microseconds ?? .min
        let expiry = try connection.cached(query).bind(1, swept).bind(2, Int64.max)
            .first { $0.optionalInt64(0).map(Timestamp.init(microseconds:)) }
        let times: [Timestamp?] = [expiry ?? nil, try keys.hasAnyKeys() ? now + Self.keySweepInterval : nil]
        return times.compactMap { $0 }.min()
    }

    /// Moves the sweep back if a new expiry is at or before its mark.
    func expiryChanged(to time: Timestamp?) {
        if let time, let known = mark, time <= known.expiry { mark = (time, ActionID(rawValue: 0)) }
    }

    /// Restarts the sweep if the wall clock was set back before its mark.
    private func forgetSweptTime() { if let known = mark, known.expiry > now { mark = nil } }

    private struct ExpiredRow {
        let action: ActionID
        let queue: QueueID
        let name: QueueName
        let kind: String
        let expiry: Timestamp
        /// Whether it runs or has parked its queue, so that the next claim or an operator handles it.
        let isLeft: Bool
        let isCancelled: Bool
        /// Whether it is scheduled or deferred, and so has no place in the order.
        let isWaiting: Bool

        init(_ row: Row) {
            (action, queue) = (ActionID(rawValue: row.int64(0)), QueueID(rawValue: row.int64(1)))
            (name, kind) = (QueueName(row.text(2)), row.text(3))
            expiry = Timestamp(microseconds: row.int64(4))
            (isLeft, isCancelled, isWaiting) = (row.bool(5), row.bool(6), row.bool(7))
        }
    }

    /// Sweeps one batch, and returns whether there may be more.
    private func sweepExpired(_ admission: Admission) throws(SQLiteError) -> Bool {
        forgetSweptTime()
        let rows = try expiredRows()
        for row in rows where !row.isLeft && !unwritable.contains(row.action) {
            do {
                try endExpired(row, admission)
            } catch {
                // The next sweep skips this action, so that it does not hold up others (G9).
                if error.code.primary == .constraint { unwritable.insert(row.action) }
                throw error
            }
        }
        guard rows.count == Self.sweepBatchSize, let last = rows.last else {
            mark = (now, ActionID(rawValue: .max))
            return false
        }
        mark = (last.expiry, last.action)
        return true
    }

    private func endExpired(_ row: ExpiredRow, _ admission: Admission) throws(SQLiteError) {
        if row.isCancelled {
            try removals.remove(row.action, in: row.queue)
        } else if admission.expiryPolicy(in: row.name, of: row.kind) == .skip {
            // As at a claim: the groups that it starts are closed for this pass.
            let discipline = admission.queues.rules(of: row.name).discipline
            try groups.leavePass(row.action, of: row.queue, by: discipline, .skip)
            try failures.fail(row.action, in: row.queue, .expired, .skip, error: Self.expiredError)
            try blocks.liftBlock(of: row.action, in: row.queue)
        } else if row.isWaiting {
            // Its policy is applied when it is the head, so it must have its place.
            try schedule.endDeferral(row.action)
        }
        core.touch(row.queue)
    }

    private func expiredRows() throws(SQLiteError) -> [ExpiredRow] {
        try connection.cached(
            """
            SELECT a.id, a.queue_id, q.name, a.kind, a.expires_at_us,
                   EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = a.queue_id AND action_id = a.id)
                   OR (q.blocked_action_id IS a.id
                       AND q.blocked_by NOT IN ('unknown kind', 'no route', 'gate')),
                   coalesce(s.is_cancelled, 0), a.not_before_us IS NOT NULL
            FROM sluice_action_rows AS a
            CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.expires_at_us <= ?1 AND (a.expires_at_us, a.id) > (?2, ?3)
            ORDER BY a.expires_at_us, a.id LIMIT ?4
            """
        ).bind(1, now.microseconds).bind(2, mark?.expiry.microseconds ?? .min)
            .bind(3, mark?.action.rawValue ?? 0).bind(4, Self.sweepBatchSize).all(ExpiredRow.init)
    }
}
