internal import SluiceSQLite

/// The write transaction, one for the writer's life: its subjects, each of which uses those before it.
package final class WriteTransaction {
    let core: TransactionCore
    let blocks: QueueBlocks
    let keys: DeduplicationKeys
    let groups: Groups
    let batches: Batches
    let schedule: Schedule
    let closings: Closings
    let failures: Failures
    let removals: Removals
    let queueRows: QueueRows
    let fronts: QueueFronts
    let gatesAndHolds: GatesAndHolds
    let auditTrail: AuditTrail
    let expiry: Expiry
    let edits: Edits
    let enqueues: Enqueues
    let history: AttemptHistory
    let settlements: Settlements
    let waits: Waits
    let rates: Rates
    let registry: RunnerRegistry
    let claims: Claims
    let deadLetters: DeadLetters
    let cancellations: Cancellations
    let skips: Skips
    let handles: HandleOperations
    let transfers: Transfers
    /// The subjects with memory across transactions.
    private let remembering: [any TransactionSubject]
    /// Identifies the file while the connection is closed; without it, device and inode do so alone.
    var fileMark: FileMark?

    init(_ core: TransactionCore) {
        self.core = core
        (blocks, keys) = (QueueBlocks(core), DeduplicationKeys(core))
        groups = Groups(core)
        batches = Batches(core)
        schedule = Schedule(core, blocks, groups)
        closings = Closings(core, schedule)
        failures = Failures(core, blocks, keys, groups)
        removals = Removals(core, blocks, keys, groups)
        queueRows = QueueRows(core, failures, blocks)
        fronts = QueueFronts(core, schedule)
        gatesAndHolds = GatesAndHolds(core, closings)
        auditTrail = AuditTrail(core)
        expiry = Expiry(core, keys, removals, groups, failures, blocks, schedule)
        edits = Edits(core, queueRows, schedule, groups, keys, blocks, fronts, expiry)
        enqueues = Enqueues(core, keys, queueRows, edits, expiry, groups, schedule)
        history = AttemptHistory(core)
        settlements = Settlements(
            core,
            removals,
            schedule,
            closings,
            groups,
            failures,
            edits,
            enqueues,
            history
        )
        (waits, rates) = (Waits(core, schedule), Rates(core))
        registry = RunnerRegistry(
            core,
            settlements,
            history,
            blocks,
            gatesAndHolds,
            waits,
            batches,
            schedule,
            rates
        )
        claims = Claims(core, batches, groups, schedule, registry, failures, removals, blocks, rates)
        deadLetters = DeadLetters(core, blocks, queueRows, groups, keys)
        cancellations = Cancellations(core, removals)
        skips = Skips(core, blocks, fronts, failures)
        handles = HandleOperations(
            core,
            queueRows,
            schedule,
            fronts,
            enqueues,
            blocks,
            keys,
            failures,
            cancellations,
            gatesAndHolds,
            removals
        )
        transfers = Transfers(core, keys, queueRows, enqueues, schedule)
        remembering = [keys, groups, schedule, expiry, rates, registry, claims]
    }

    /// Continues another transaction on a newly opened connection, without its memory of the file.
    convenience init(continuing other: WriteTransaction, on connection: Connection) {
        let old = other.core
        let core = TransactionCore(
            connection: connection,
            nonce: old.nonce,
            identity: old.identity,
            leases: old.leases,
            clock: old.clock,
            writeBehind: old.order.limits,
            runners: old.runners,
            events: EventJournal(continuing: old.events, on: connection),
            settledActions: old.settledActions,
            ownSettlements: old.ownSettlements
        )
        self.init(core)
        (core.epoch, core.claimCount, core.others) = (old.epoch, old.claimCount, old.others)
        (core.seenOpening, core.life, core.deaths) = (old.seenOpening, old.life, old.deaths)
        core.routeUse = old.routeUse
        core.followOrder()
        core.order.continueRuns(of: old.order)
        registry.resume(other.registry)
        schedule.resume(other.schedule)
    }

    var connection: Connection { core.connection }

    func begin(now: Timestamp? = nil) throws {
        let isStale = try core.begin(now: now)
        for subject in remembering { subject.begin() }
        guard isStale else { return }
        for subject in remembering { subject.forget() }
        try core.takeIn()
        try schedule.readChanges()
        try registry.compareClaimsIfUncertain()
        try core.findSettled()
    }

    func commit() throws(SQLiteError) {
        try core.writeDown()
        try registry.renewWithCommit()
        try core.events.keepControls(core.controls)
        try connection.commit()
        core.committed()
        for subject in remembering { subject.committed() }
    }

    func rollback() {
        core.rollback()
        for subject in remembering {
            subject.rolledBack()
            subject.forget()
        }
    }

    /// Notes, after the roll-back, that the commit may be found in the file later.
    func resultIsUnknown() { registry.isUncertain = true }
}
