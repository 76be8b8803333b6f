internal import SluiceSQLite

// MARK: - Orphans

extension RunnerRegistry {
    /// Makes suspects of the actions that ran when their process died (G7).
    ///
    /// A death while an action ran alone in its trial is an attempt, and counts against it. One among several
    /// gets its attempt back: nobody knows which of them it was. So does what a process ran that has not
    /// certainly ended. Those that were suspects already are more suspect.
    ///
    /// - Parameter ended: The epochs of those that have.
    func suspectOrphans(of ended: Set<Int64>) throws {
        let orphans = try connection.cached(
            """
            SELECT queue_id, slot, action_id, claim, started_at_us, trial_size FROM sluice_claim_rows
            WHERE ifnull(claim, 0) >> 32 NOT IN (SELECT epoch FROM sluice_runner_rows)
            """
        )
        .all {
            (
                run: Receipt(
                    action: ActionID(rawValue: $0.int64(2)),
                    claim: $0.int64(3),
                    queue: QueueID(rawValue: $0.int64(0)),
                    slot: $0.int(1)
                ), startedAt: Timestamp(microseconds: $0.int64(4)), trialSize: $0.int(5)
            )
        }
        guard !orphans.isEmpty else { return }
        if !mutant("suspect") { try suspectClaims(butOf: try RunnerRow.all(connection)) }
        for orphan in orphans {
            guard orphan.trialSize == 1, ended.contains(orphan.run.claim >> 32) else { continue }
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
            let error = "the process died while the action ran alone"
            try settlements.record(run, "crashed", error: error)
            try core.events.record(.crashed, orphan.run.action, in: orphan.run.queue) {
                ($0.attempt, $0.error) = (number, error)
            }
        }
        // Their slots are free; what was asked for while they were taken can be done.
        try connection.cached(
            """
            DELETE FROM sluice_claim_rows
            WHERE ifnull(claim, 0) >> 32 NOT IN (SELECT epoch FROM sluice_runner_rows)
            """
        )
        .run()
        for orphan in orphans {
            try settlements.endOrphan(orphan.run)
            // Who has seen it run may have forgotten its place.
            guard let (queue, place) = try order.waitingPlace(of: orphan.run.action) else { continue }
            try blocks.came(place.action, to: queue)
            try core.restore(place, in: queue)
        }
    }

    /// Runs that were tried have not killed their process: a later death is not theirs.
    func survived(_ claims: [Int64]) throws(SQLiteError) {
        let list = "[" + claims.map(String.init).joined(separator: ",") + "]"
        try connection.cached(
            """
            UPDATE sluice_state_rows SET is_suspect = 0, crashes = 0, suspicion = suspicion - 1
            WHERE action_id IN (
                SELECT action_id FROM sluice_claim_rows WHERE claim IN (SELECT value FROM json_each(?1))
            )
            """
        )
        .bind(1, list).run()
        try connection.cached(
            "UPDATE sluice_claim_rows SET trial_size = 0 WHERE claim IN (SELECT value FROM json_each(?1))"
        )
        .bind(1, list).run()
    }

    /// Makes suspects of what others than these have claimed.
    func suspectClaims(butOf living: [RunnerRow]) throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_state_rows (action_id, is_suspect)
            SELECT a.id, 1 FROM sluice_claim_rows AS c JOIN sluice_action_rows AS a ON a.id = c.action_id
            WHERE ifnull(c.claim, 0) >> 32 NOT IN (SELECT value FROM json_each(?1))
            ON CONFLICT (action_id) DO UPDATE SET is_suspect = 1, suspicion = suspicion + is_suspect
            """
        )
        .bind(1, RunnerRow.epochs(living)).run()
    }
}
