internal import SluiceSQLite

/// Actions that ran when their process died.
extension RunnerRegistry {
    /// Makes suspects of the actions that ran when their process died (G7), and deletes their claims.
    ///
    /// A death while an action ran alone in its trial is an attempt, and counts against the action. If
    /// several ran, or the epoch is not among those that have certainly `ended`, each gets its attempt back,
    /// since the cause is unknown. An action that was a suspect already gets a higher suspicion.
    ///
    /// - Parameter ended: Their claims are orphans even if they have rows.
    func suspectOrphans(of ended: Set<Int64>) throws {
        let others = try RunnerRow.all(connection).filter { !ended.contains($0.epoch) }
        let epochs = RunnerRow.epochs(others)
        let orphans = try connection.cached(
            """
            SELECT queue_id, slot, action_id, claim, started_at_us, trial_size FROM sluice_claim_rows
            WHERE ifnull(claim, 0) >> 32 NOT IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, epochs).all {
            (run: Receipt($0), startedAt: Timestamp(microseconds: $0.int64(4)), trialSize: $0.int(5))
        }
        guard !orphans.isEmpty else { return }
        if !mutant("suspect") { try suspectClaims(butOf: others) }
        for orphan in orphans {
            guard orphan.trialSize == 1 else { continue }
            guard ended.contains(orphan.run.claim >> 32) || mutant("certain death") else { continue }
            let number = try connection.cached(
                """
                UPDATE sluice_state_rows SET attempts = attempts + 1, crashes = crashes + 1
                WHERE action_id = ?1 RETURNING attempts
                """
            ).bind(1, orphan.run.action.rawValue).all { $0.int(0) }.first
            guard let number else { continue }
            let run = FailedRun(receipt: orphan.run, startedAt: orphan.startedAt, number: number)
            let error = "the process died while the action ran alone"
            try history.record(run, "crashed", error: error)
            try core.events.record(.crashed, orphan.run.action, in: orphan.run.queue) {
                ($0.attempt, $0.error) = (number, error)
            }
        }
        // Their slots are free; changes requested while they ran can be carried out.
        try connection.cached(
            """
            DELETE FROM sluice_claim_rows
            WHERE ifnull(claim, 0) >> 32 NOT IN (SELECT value FROM json_each(?1))
            """
        ).bind(1, epochs).run()
        for orphan in orphans { try putBack(orphan.run) }
    }

    /// Lets an action whose claim was deleted wait again, and carries out a cancellation or a move.
    private func putBack(_ run: Receipt) throws {
        try settlements.endOrphan(run)
        // A process that has seen it run may have forgotten its place.
        guard let (queue, place) = try order.waitingPlace(of: run.action) else { return }
        try blocks.noteArrival(place.action, to: queue)
        try core.restore(place, in: queue)
    }

    /// Deletes the claims of processes that have certainly ended, while no process runs the queues.
    ///
    /// Their rows stay: `doctor` reports deaths by them.
    func deleteClaimsOfEnded() throws {
        let ended = try RunnerRow.ended(connection, own: core.nonce, seenFrom: core.identity)
        try suspectOrphans(of: Set(ended.map(\.epoch)))
        try core.notifyRunners(.runner)
    }

    func compareClaimsIfUncertain() throws {
        guard isUncertain else { return }
        try compareClaims()
        isUncertain = false
    }

    /// Gives back the claims of this process in the file that it has no runs for (G8, G11).
    ///
    /// Such a claim was in a commit whose sync failed, and which the recovery of the WAL has found: the claim
    /// was reported as failed, so no handler was started. Its attempt is not spent.
    ///
    /// - Returns: Whether there were such claims.
    @discardableResult
    func compareClaims() throws -> Bool {
        guard let epoch = core.epoch, !mutant("claims without a run") else { return false }
        let known = order.claims
        let standing = try connection.cached(
            "SELECT queue_id, slot, action_id, claim FROM sluice_claim_rows WHERE claim >> 32 = ?1"
        ).bind(1, epoch).all { Receipt($0) }
        let vain = standing.filter { !known.contains($0.claim) }
        for run in vain {
            try connection.cached("DELETE FROM sluice_claim_rows WHERE claim = ?1").bind(1, run.claim).run()
            try putBack(run)
            core.touch(run.queue)
        }
        return !vain.isEmpty
    }

    /// Clears the suspicion of tried actions that have not killed their process.
    func survived(_ claims: [Int64]) throws(SQLiteError) {
        let list = "[" + claims.map(String.init).joined(separator: ",") + "]"
        try connection.cached(
            """
            UPDATE sluice_state_rows SET is_suspect = 0, crashes = 0, suspicion = suspicion - 1
            WHERE action_id IN (
                SELECT action_id FROM sluice_claim_rows WHERE claim IN (SELECT value FROM json_each(?1))
            )
            """
        ).bind(1, list).run()
        try connection.cached(
            "UPDATE sluice_claim_rows SET trial_size = 0 WHERE claim IN (SELECT value FROM json_each(?1))"
        ).bind(1, list).run()
    }

    /// Makes suspects of the actions claimed by other processes than these.
    func suspectClaims(butOf living: [RunnerRow]) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_state_rows (action_id, is_suspect)
            SELECT a.id, 1 FROM sluice_claim_rows AS c JOIN sluice_action_rows AS a ON a.id = c.action_id
            WHERE ifnull(c.claim, 0) >> 32 NOT IN (SELECT value FROM json_each(?1))
            ON CONFLICT (action_id) DO UPDATE SET is_suspect = 1, suspicion = suspicion + is_suspect
            """
        ).bind(1, RunnerRow.epochs(living)).run()
    }
}

extension Receipt {
    /// Reads queue, slot, action and claim from the first columns.
    init(_ row: Row) {
        let (queue, action) = (QueueID(rawValue: row.int64(0)), ActionID(rawValue: row.int64(2)))
        self.init(action: action, claim: row.int64(3), queue: queue, slot: row.int(1))
    }
}
