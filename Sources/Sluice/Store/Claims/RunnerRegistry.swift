internal import SluiceSQLite

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
