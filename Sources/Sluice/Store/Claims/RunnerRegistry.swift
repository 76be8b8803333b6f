internal import SluiceSQLite

/// Owns this process's row among the runners: its epoch, its lease, and the removal of dead processes.
final class RunnerRegistry: TransactionSubject {
    let core: TransactionCore
    let settlements: Settlements
    let history: AttemptHistory
    let blocks: QueueBlocks
    let gatesAndHolds: GatesAndHolds
    let waits: Waits
    let batches: Batches
    let schedule: Schedule
    let rates: Rates
    /// Whether it has started to run the queues and not stopped; without an epoch it was declared dead.
    private(set) var isToRun = false
    /// Decides whether other processes are removed when their leases end.
    private(set) var silence = SilenceJudge()
    /// Whether the file may hold claims of this process that it does not know, or lack some that it knows:
    /// after a commit with an unknown result, and in a file that was opened again.
    var isUncertain = false
    /// The routes that others see in this process's row.
    var routes: Set<ShownRoute> = []
    /// The routes before this transaction, if it changes them; not in `before`, which each one copies.
    private var routesBefore: Set<ShownRoute>?
    private var before: (isToRun: Bool, silence: SilenceJudge, isUncertain: Bool)?

    init(
        _ core: TransactionCore,
        _ settlements: Settlements,
        _ history: AttemptHistory,
        _ blocks: QueueBlocks,
        _ gatesAndHolds: GatesAndHolds,
        _ waits: Waits,
        _ batches: Batches,
        _ schedule: Schedule,
        _ rates: Rates
    ) {
        (self.core, self.settlements, self.history, self.blocks) = (core, settlements, history, blocks)
        (self.gatesAndHolds, self.waits, self.batches) = (gatesAndHolds, waits, batches)
        (self.schedule, self.rates) = (schedule, rates)
    }

    func begin() { before = (isToRun, silence, isUncertain) }

    func committed() { (before, routesBefore) = (nil, nil) }

    func rolledBack() {
        if let before { (isToRun, silence, isUncertain) = before }
        if let routesBefore { routes = routesBefore }
        (before, routesBefore) = (nil, nil)
    }

    /// Goes on after the file was opened again, which may have restored a commit that was reported as failed.
    func resume(_ other: RunnerRegistry) {
        (isToRun, silence, isUncertain) = (other.isToRun, other.silence, true)
        routes = other.routes
    }

    func startRunning() throws {
        // Actions that an earlier run could not settle are suspects now.
        if let epoch = core.epoch { try removeRunner(epoch) }
        core.epoch = nil
        try register()
        try gatesAndHolds.removeEndedHolds()
        try gatesAndHolds.closings.openEnded()
        try rates.removeRecovered()
        try waits.liftUndecodable()
        try waits.endReleases()
        try waits.shortenWaits()
        // Time that the wall clock has lost since the last run is handled above.
        schedule.lastAdmission = nil
        if core.others.isEmpty { try batches.forgetGathering() }
    }

    private func register() throws {
        let next = try connection.cached(
            "UPDATE sluice_counters SET value = value + 1 WHERE name = 'epoch' RETURNING value"
        ).all { $0.int64(0) }.first
        guard let next else {
            throw SluiceError(.corrupt, "the counter 'epoch' is missing from sluice_counters")
        }
        let lease = LeaseEnd(after: core.leases.length, from: now, of: core.identity)
        let process = RunnerRow.text(core.identity, keptBy: core.leases.keeper)
        try connection.cached(
            """
            INSERT INTO sluice_runner_rows
                (epoch, pid, process, nonce, lease_until_us, lease_until_boot_us, routes)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """
        ).bind(1, next).bind(2, core.identity.pid).bind(3, process).bind(4, core.nonce)
            .bind(5, lease.wall.microseconds).bind(6, lease.onMachine).bind(7, ShownRoute.text(routes)).run()
        core.epoch = next
        core.life.wrote(lease: lease.wall)
        isToRun = true
        core.claimCount = 0
        try takeOffDead()
        silence.renewed(at: core.clock.uptime, core.leases)
        // Any process may have left changes that no process will read.
        try connection.cached(
            "DELETE FROM sluice_changes WHERE epoch NOT IN (SELECT epoch FROM sluice_runner_rows)"
        ).run()
        try suspectOrphans(of: [])
        try gatesAndHolds.forgetGates()
        try core.notifyRunners(.runner)
        core.followOrder()
    }

    func show(_ routes: Set<ShownRoute>) throws(SQLiteError) {
        guard routes != self.routes else { return }
        if routesBefore == nil { routesBefore = self.routes }
        self.routes = routes
        guard let epoch = core.epoch else { return }
        try connection.cached("UPDATE sluice_runner_rows SET routes = ?2 WHERE epoch = ?1")
            .bind(1, epoch).bind(2, ShownRoute.text(routes)).run()
    }

    func renewLease() throws {
        // The renewal may run after the stop.
        guard isToRun else { return }
        if let epoch = core.epoch {
            if try lengthenLease(of: epoch) {
                try takeOffDead()
                try compareClaims()
                return silence.renewed(at: core.clock.uptime, core.leases)
            }
            core.epoch = nil
        }
        try register()
        core.noteRunners(.look)
    }

    /// Returns whether this is still one of the processes that run the queues.
    private func lengthenLease(of epoch: Int64) throws(SQLiteError) -> Bool {
        noteLateness(try RunnerRow.all(connection))
        // The application's part of the transaction may have taken long.
        let lease = LeaseEnd(after: core.leases.length, from: core.clock.now, of: core.identity)
        core.life.wrote(lease: lease.wall)
        return try connection.cached(
            "UPDATE sluice_runner_rows SET lease_until_us = ?2, lease_until_boot_us = ?3 WHERE epoch = ?1"
        ).bind(1, epoch).bind(2, lease.wall.microseconds).bind(3, lease.onMachine).run() == 1
    }

    /// Renews the lease together with any other commit, however long its renewals have to wait.
    ///
    /// Not only runners read the lease, but any process that takes actions out of a queue.
    func renewWithCommit() throws(SQLiteError) {
        // A transaction that changes nothing must not fail for want of space.
        guard let epoch = core.epoch, let renewedAt = silence.renewedAt, core.hasChanges else { return }
        let uptime = core.clock.uptime
        guard uptime - renewedAt >= core.leases.renewal / 2 else { return }
        if try lengthenLease(of: epoch) { silence.renewed(at: uptime, core.leases) }
    }

    func stopRunning() throws {
        isToRun = false
        silence = SilenceJudge()
        guard let epoch = core.epoch else { return }
        try order.removeLeftovers()
        try leave(epoch)
        try core.notifyRunners(.runner)
    }

    private func leave(_ epoch: Int64) throws {
        try removeRunner(epoch)
        // Actions that could not be settled: their process has not died, so no other would find them.
        try suspectOrphans(of: [])
        core.epoch = nil
        core.followOrder()
    }

    private func removeRunner(_ epoch: Int64) throws(SQLiteError) {
        try connection.cached("DELETE FROM sluice_runner_rows WHERE epoch = ?1").bind(1, epoch).run()
        try connection.cached("DELETE FROM sluice_changes WHERE epoch = ?1").bind(1, epoch).run()
    }

    /// Removes the other processes that have died or whose lease has ended; their actions become suspects.
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
        try core.notifyRunners(.runner)
        core.noteRunners(.look)
    }

    /// Records if this process has not renewed its lease for half its length, by the file.
    ///
    /// Sleep of the machine counts, and a jump of the wall clock, if the lease depends on it.
    private func noteLateness(_ runners: [RunnerRow]) {
        guard let own = runners.first(where: { $0.epoch == core.epoch }),
            own.lease.timeLeft(of: own.process, seenFrom: core.identity, at: now) < core.leases.length / 2
        else { return }
        silence.wasLate(at: core.clock.uptime, core.leases)
    }

    /// Ends this epoch, whose claim numbers are used up, as if another process had removed this one.
    func leaveEpoch() throws {
        guard let epoch = core.epoch else { return }
        try leave(epoch)
        core.noteRunners(.takenOff)
    }
}
