internal import SluiceSQLite

/// Which processes run the queues: their rows, their leases, and what those that died left behind.
///
/// A queue is a process's own while one of its actions is claimed: the claim's row stands for the queue, and
/// the epoch in its number for the process. Settling and the next claim are one transaction, so that a
/// process keeps a queue while it has work for it, and a queue that waits is nobody's. What a process has to
/// renew is its own row alone.
extension Store {
    /// Becomes one of the processes that run the queues, and makes suspects of what dead ones left running.
    package func startRunning() async throws(SluiceError) {
        try await write(sync: .owed) {
            // Nothing runs: what an earlier run could not write is given up.
            $0.core.routeUse = RouteUse()
            try $0.registry.startRunning()
        }
    }

    /// Renews the right to run the queues, and takes those off that have lost it.
    ///
    /// One that was taken off itself, because it gave no sign of life for too long, begins anew.
    package func renewLease() async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.renewLease() }
    }

    /// The queues of actions that ran when their process died, with what speaks against them.
    func suspects() async throws(SluiceError) -> [(queue: QueueID, level: Int, crashes: Int)] {
        try await read { connection in
            try connection.cached(
                """
                SELECT a.queue_id, s.suspicion, s.crashes
                FROM sluice_state_rows AS s JOIN sluice_action_rows AS a ON a.id = s.action_id
                WHERE s.is_suspect = 1
                AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = a.queue_id)
                """
            )
            .all { (queue: QueueID(rawValue: $0.int64(0)), level: $0.int(1), crashes: $0.int(2)) }
        }
    }

    /// Writes that runs which were tried have not killed their process.
    func survived(_ claims: [Int64]) async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.survived(claims) }
    }

    /// Gives the right up, and leaves the queues to the others.
    package func stopRunning() async throws(SluiceError) {
        try await write(sync: .later) { try $0.registry.stopRunning() }
    }

    /// Has the others look for work, before this one stops.
    package func askOthersToLook() async throws(SluiceError) {
        try await write(sync: .later) { try $0.core.tellRunners("look") }
    }

    /// Takes off the processes that have died, and makes suspects of what they left running.
    ///
    /// While all live it writes nothing, and takes no lock.
    package func takeOffDead() async throws(SluiceError) {
        let (epoch, me, now) = (runners.epoch, identity, clock.now)
        let hasAnyGone = try await read { connection in
            try RunnerRow.all(connection).contains { $0.epoch != epoch && $0.hasGone(seenFrom: me, at: now) }
        }
        if hasAnyGone { try await write(sync: .later) { try $0.registry.takeOffDead() } }
    }
}

final class RunnerRegistry: TransactionSubject {
    let core: TransactionCore
    let settlements: Settlements
    let blocks: QueueBlocks
    let gatesAndHolds: GatesAndHolds
    let waits: Waits
    let batches: Batches
    let schedule: Schedule
    /// It has begun to run the queues and not stopped: without an epoch it was taken for dead.
    private(set) var isToRun = false
    /// Whether others are taken off when their leases are over.
    private(set) var silence = SilenceJudge()
    private var before: (isToRun: Bool, silence: SilenceJudge)?

    init(
        _ core: TransactionCore,
        _ settlements: Settlements,
        _ blocks: QueueBlocks,
        _ gatesAndHolds: GatesAndHolds,
        _ waits: Waits,
        _ batches: Batches,
        _ schedule: Schedule
    ) {
        self.core = core
        self.settlements = settlements
        self.blocks = blocks
        self.gatesAndHolds = gatesAndHolds
        self.waits = waits
        self.batches = batches
        self.schedule = schedule
    }

    func begin() { before = (isToRun, silence) }

    func committed() { before = nil }

    func rolledBack() {
        if let before { (isToRun, silence) = before }
        before = nil
    }

    /// Goes on where another has stopped.
    func resume(_ other: RunnerRegistry) { (isToRun, silence) = (other.isToRun, other.silence) }

    func startRunning() throws {
        // What an earlier run could not settle is a suspect now.
        if let epoch = core.epoch { try removeRunner(epoch) }
        core.epoch = nil
        try register()
        try gatesAndHolds.removeEndedHolds()
        try waits.liftUndecodable()
        try waits.endReleases()
        try waits.shortenWaits()
        // What the wall clock has lost since the last run is seen to.
        schedule.lastAdmission = nil
        if core.others.isEmpty { try batches.forgetGathering() }
    }

    /// Enters this store among those that run the queues.
    private func register() throws {
        let next = try connection.cached(
            "UPDATE sluice_counters SET value = value + 1 WHERE name = 'epoch' RETURNING value"
        )
        .all { $0.int64(0) }.first
        guard let next else {
            throw SluiceError(.corrupt, "the counter 'epoch' is missing from sluice_counters")
        }
        let lease = LeaseEnd(after: core.leases.length, from: now)
        try connection.cached(
            """
            INSERT INTO sluice_runner_rows (epoch, pid, process, nonce, lease_until_us, lease_until_boot_us)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """
        )
        .bind(1, next).bind(2, core.identity.pid).bind(
            3,
            RunnerRow.text(core.identity, keptBy: core.leases.keeper)
        )
        .bind(4, core.nonce)
        .bind(5, lease.wall.microseconds).bind(6, lease.onMachine).run()
        core.epoch = next
        core.life.wrote(lease: lease.wall)
        isToRun = true
        core.claimCount = 0
        try takeOffDead()
        silence.renewed(at: core.clock.uptime, core.leases)
        // Whatever process has left changes that nobody will take in.
        try connection.cached(
            "DELETE FROM sluice_changes WHERE epoch NOT IN (SELECT epoch FROM sluice_runner_rows)"
        )
        .run()
        try suspectOrphans(of: [])
        try gatesAndHolds.forgetGates()
        try core.tellRunners("runner")
        core.followOrder()
    }

    func renewLease() throws {
        // A renewal that comes behind the stop.
        guard isToRun else { return }
        if let epoch = core.epoch {
            if try lengthenLease(of: epoch) {
                try takeOffDead()
                return silence.renewed(at: core.clock.uptime, core.leases)
            }
            core.epoch = nil
        }
        try register()
        core.noteRunners(.look)
    }

    /// - Returns: Whether this is one of the processes that run the queues.
    private func lengthenLease(of epoch: Int64) throws(SQLiteError) -> Bool {
        noteLateness(try RunnerRow.all(connection))
        // The application's part of the transaction may have taken its time.
        let lease = LeaseEnd(after: core.leases.length, from: core.clock.now)
        core.life.wrote(lease: lease.wall)
        return try connection.cached(
            "UPDATE sluice_runner_rows SET lease_until_us = ?2, lease_until_boot_us = ?3 WHERE epoch = ?1"
        )
        .bind(1, epoch).bind(2, lease.wall.microseconds).bind(3, lease.onMachine).run() == 1
    }

    /// Renews the lease with whatever is about to be committed.
    ///
    /// So who commits lives, however long its renewals have to wait. Not only others that run queues judge by
    /// it, but any process that takes actions out of one, and of those nothing is known here.
    func renewWithCommit() throws(SQLiteError) {
        guard let epoch = core.epoch, let renewedAt = silence.renewedAt else { return }
        // What changes nothing must not fail for want of room.
        guard core.hasChanges else { return }
        let uptime = core.clock.uptime
        guard uptime - renewedAt >= core.leases.renewal / 2 else { return }
        if try lengthenLease(of: epoch) { silence.renewed(at: uptime, core.leases) }
    }

    func stopRunning() throws {
        isToRun = false
        silence = SilenceJudge()
        guard let epoch = core.epoch else { return }
        try order.removeLeftovers()
        try removeRunner(epoch)
        // What could not be settled: nobody would look for it, as its process has not died.
        try suspectOrphans(of: [])
        try core.tellRunners("runner")
        core.epoch = nil
        core.followOrder()
    }

    private func removeRunner(_ epoch: Int64) throws(SQLiteError) {
        try connection.cached("DELETE FROM sluice_runner_rows WHERE epoch = ?1").bind(1, epoch).run()
        try connection.cached("DELETE FROM sluice_changes WHERE epoch = ?1").bind(1, epoch).run()
    }

    /// Takes off the other processes that have died or lost their right.
    ///
    /// What they ran is suspect; what they would have run is found by a look at all queues.
    func takeOffDead() throws {
        guard let epoch = core.epoch else { return }
        let (me, now) = (core.identity, now)
        let all = try RunnerRow.all(connection)
        noteLateness(all)
        let judges = silence.judges(at: core.clock.uptime, behind: core.waited, core.leases)
        let runners = all.filter { $0.epoch != epoch }
        let ended = runners.filter { $0.hasEnded(seenFrom: me) }
        let gone = judges ? runners.filter { $0.hasGone(seenFrom: me, at: now) } : ended
        core.others = runners.map(\.epoch).filter { epoch in !gone.contains { $0.epoch == epoch } }
        guard !gone.isEmpty else { return }
        for runner in gone { try removeRunner(runner.epoch) }
        try suspectOrphans(of: Set(ended.map(\.epoch)))
        try gatesAndHolds.forgetGates()
        try core.tellRunners("runner")
        core.noteRunners(.look)
    }

    /// Notes whether this process itself has given no sign of life for half its lease, as the file has it.
    ///
    /// What the machine has slept counts for leases, whatever the clock's uptime says; and so does a jump of
    /// the wall clock, where they go by that.
    private func noteLateness(_ runners: [RunnerRow]) {
        guard let own = runners.first(where: { $0.epoch == core.epoch }),
            own.lease.timeLeft(of: own.process, at: now) < core.leases.length / 2
        else { return }
        silence.wasLate(at: core.clock.uptime, core.leases)
    }

    /// Leaves this epoch, whose claims cannot be numbered any more, as if another process had taken it off.
    func leaveEpoch() throws {
        guard let epoch = core.epoch else { return }
        try removeRunner(epoch)
        try suspectOrphans(of: [])
        core.epoch = nil
        core.followOrder()
        core.noteRunners(.takenOff)
    }
}

extension TransactionCore {
    /// Tells the others that those who run the queues have changed, or that they are to look for work.
    func tellRunners(_ change: String) throws(SQLiteError) {
        guard !others.isEmpty else { return }
        try connection.cached(
            """
            INSERT INTO sluice_changes (epoch, change)
            SELECT epoch, ?1 FROM sluice_runner_rows WHERE epoch <> ?2
            """
        )
        .bind(1, change).bind(2, epoch ?? 0).run()
    }

    /// Keeps the order in memory while this process runs the queues, and not otherwise.
    func followOrder() {
        if epoch != nil { order.follow() } else { order.unfollow() }
    }
}

// MARK: - Orphans

extension RunnerRegistry {
    /// Makes suspects of the actions that ran when their process died (G7).
    ///
    /// A death while an action ran alone in its trial is an attempt, and counts against it. One among several
    /// gets its attempt back: nobody knows which of them it was. So does what a process ran that has not
    /// certainly ended. Those that were suspects already are more suspect.
    ///
    /// - Parameter ended: The epochs of those that have.
    private func suspectOrphans(of ended: Set<Int64>) throws {
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
    fileprivate func survived(_ claims: [Int64]) throws(SQLiteError) {
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
