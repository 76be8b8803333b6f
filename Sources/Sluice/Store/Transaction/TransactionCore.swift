internal import SluiceSQLite

/// Owns the connection, the time and the memory that all subjects of a write transaction share.
///
/// One object lives as long as the writer. Its memory of the file is valid until another connection commits,
/// which `PRAGMA data_version` shows (<https://www.sqlite.org/pragma.html>), or a roll-back.
///
/// Here and in the objects that it owns, what each action changes has `@exclusivity(unchecked)`: the writer's
/// leader alone calls them, and checks at run time were a tenth of the engine's own work for an action.
final class TransactionCore {
    let connection: Connection
    /// A random number of this opening: the part of idempotency keys that no other file has.
    let nonce: Int64
    /// Whether the transaction belongs to the application, on its own connection (`Store.join`).
    let isJoined: Bool
    /// The wall clock when the transaction began or was joined, and the clock's uptime.
    var now = Timestamp(microseconds: 0)
    var uptime = Duration.zero
    /// How long the transaction has waited for the write lock; zero for short waits.
    var waited = Duration.zero
    let clock: any BrokerClock
    let identity: ProcessIdentity
    let leases: LeaseTimes
    let runners: RunnerState
    /// The epoch under which this store runs the queues, set by ``RunnerRegistry``; `nil` while it does not.
    var epoch: Int64? { didSet { runners.setEpoch(epoch) } }
    /// The number of claims made in this epoch; never lowered, so that no claim's number is used again.
    var claimCount: Int64 = 0
    @exclusivity(unchecked) var touchedQueues: Set<QueueID> = []
    @exclusivity(unchecked) private(set) var foreignChanges: [ForeignChange] = []
    private var hasForeignTimes = false
    /// The values when the transaction began, restored in a roll-back.
    private var before: (epoch: Int64?, claimCount: Int64, others: [Int64], seenOpening: Int64)?
    private var changesBefore = 0
    var hasChanges: Bool { connection.totalChanges != changesBefore }
    /// Whether it answers with an action that was stored before, perhaps by a commit that is not synced.
    var hasFoundStored = false
    private var dataVersion: Int64?
    /// `PRAGMA data_version` at the last foreign commit that observers were notified of; kept in a roll-back.
    private var reportedDataVersion: Int64?
    /// Whether others have committed since the last transaction, so that this one reads their changes.
    private(set) var hasReadForeignCommits = false
    private var actionCounter: Int64?
    private var savedActionCounter: Int64?
    @exclusivity(unchecked) var directory = QueueDirectory()
    let order: WaitingOrder
    /// The epochs of the other processes that run the queues and are notified of this one's commits.
    var others: [Int64] = [] { didSet { runners.setOtherCount(others.count) } }
    /// The processes that were dead at the last check, and the time of that check.
    private var deadRunners: Set<Int64> = []
    private var lookedForDead = Timestamp(microseconds: 0)
    private var runnerChanges: RunnerChanges = []
    /// Commits that have reported the end of a process.
    var deaths = 0
    @exclusivity(unchecked) var outgoing = OutgoingChanges()
    private var knownControls: Controls?
    private var controlChanges: ControlChanges = []
    @exclusivity(unchecked) private(set) var openings: [GateOpening] = []
    @exclusivity(unchecked) var deferrals: Set<GateName> = []
    /// The earliest end of a closed gate or a hold that this transaction has read or written.
    private var nextEnd: Timestamp?
    /// The counter `opening` at the last check for gates that other connections have opened.
    var seenOpening: Int64 = 0
    private var schema = SchemaCheck()
    @exclusivity(unchecked) var life = FileLife()
    let events: EventJournal
    @exclusivity(unchecked) var routeUse = RouteUse()
    let settledActions: SettledActions
    let ownSettlements: OwnSettlements

    init(
        connection: Connection,
        nonce: Int64,
        identity: ProcessIdentity,
        leases: LeaseTimes,
        clock: any BrokerClock,
        writeBehind: WriteBehindLimits,
        runners: RunnerState = RunnerState(),
        events: EventJournal? = nil,
        settledActions: SettledActions = SettledActions(waiters: SettlementWaiters()),
        ownSettlements: OwnSettlements = OwnSettlements(),
        isJoined: Bool = false
    ) {
        (self.connection, self.nonce, self.identity, self.isJoined) = (connection, nonce, identity, isJoined)
        (self.runners, self.leases, self.clock) = (runners, leases, clock)
        self.events = events ?? EventJournal(connection, Interest())
        (self.settledActions, self.ownSettlements) = (settledActions, ownSettlements)
        order = WaitingOrder(connection: connection, limits: writeBehind)
        // The existing contents are no change. If they cannot be read, the first write reports why.
        reportedDataVersion =
            isJoined ? nil : try? connection.cached("PRAGMA data_version").first { $0.int64(0) }
    }

    /// Begins; returns whether others have committed since, so that all memory of the file must be forgotten.
    func begin(now: Timestamp?) throws -> Bool {
        // An error here is ignored: a later read of the order repeats it and reports the error.
        try? order.loadAhead()
        try connection.beginImmediate()
        before = (epoch, claimCount, others, seenOpening)
        hasFoundStored = false
        order.begin()
        (self.now, uptime, waited) = (now ?? clock.now, clock.uptime, .zero)
        events.begin(now: self.now)
        let version = try connection.cached("PRAGMA data_version").first { $0.int64(0) }
        hasReadForeignCommits = version != dataVersion && !(mutant("commits of others") && dataVersion != nil)
        guard hasReadForeignCommits else { return false }
        if version != reportedDataVersion {
            events.interest.noteCommitOfOthers()
            // Nothing is recorded for a process that does not run the queues, and not what other runners do.
            if epoch == nil || !others.isEmpty { events.interest.noteUntoldChange() }
        }
        reportedDataVersion = version
        let mayBeCopy = try schema.ensure(connection)
        if mayBeCopy {
            // Perhaps one that looks the same: the order is read again too.
            try life.ensure(connection, epoch: epoch, claims: order.claims)
            order.reread()
        }
        forget()
        if mayBeCopy { runnerChanges.insert(.look) }
        // Changes of gates and holds are recorded only for processes that run the queues.
        if epoch == nil { knownControls = nil }
        dataVersion = version
        return true
    }

    func takeIn() throws(SQLiteError) {
        try life.look(connection)
        try readRunners()
        try readForeignChanges(isOfTransaction: false)
    }

    func committed() {
        before = nil
        life.committed(lastAction: actionCounter)
        settledActions.committed()
        routeUse.committed()
        savedActionCounter = actionCounter
        if !outgoing.isEmpty { outgoing = OutgoingChanges() }
        order.committed()
    }

    func writeDown() throws(SQLiteError) {
        if let actionCounter, actionCounter != savedActionCounter {
            try connection.cached("UPDATE sluice_counters SET value = ?1 WHERE name = 'action'")
                .bind(1, actionCounter).run()
        }
        if !others.isEmpty { try notifyOthers(outgoing) }
    }

    func rollback() {
        connection.rollback()
        events.rollBack()
        if let before {
            (epoch, others, seenOpening) = (before.epoch, before.others, before.seenOpening)
            claimCount = max(claimCount, before.claimCount)
        }
        before = nil
        forget()
        knownControls = nil
        life.rolledBack()
        routeUse.rolledBack()
        settledActions.rolledBack()
        order.rolledBack()
        if (epoch != nil) != order.isFollowed { followOrder() }
        // Read the changes of other connections again: reading them was rolled back too.
        dataVersion = nil
    }

    /// Returns the report of the commit, and empties it.
    func takeReport(isSynced: Bool, dueAt: Timestamp?) -> CommitReport {
        let changes = connection.totalChanges
        if order.takeMissedNewcomers() { runnerChanges.insert(.look) }
        if runnerChanges.contains(.look) { deaths += 1 }
        defer {
            clearReport()
            changesBefore = changes
        }
        return CommitReport(
            queues: queuesInOrder,
            foreignChanges: foreignChanges,
            hasForeignTimes: hasForeignTimes,
            runnerChanges: runnerChanges,
            deaths: deaths,
            openings: openings,
            deferrals: deferrals,
            changesHolds: controlChanges.contains(.holds),
            endsAt: nextEnd,
            events: events.takeEvents(),
            isObserved: events.isOn,
            missesObservers: !events.isOn && events.interest.isAny,
            contents: events.takeContents(),
            dueAt: dueAt,
            awaitsSync: !isSynced && changes != changesBefore
        )
    }

    private var queuesInOrder: [QueueID] {
        guard !foreignChanges.isEmpty else { return touchedQueues.isEmpty ? [] : touchedQueues.sorted() }
        var seen: Set<QueueID> = []
        let told = foreignChanges.map(\.queue).filter { seen.insert($0).inserted }
        return told + touchedQueues.subtracting(seen).sorted()
    }

    private func forget() {
        (actionCounter, savedActionCounter) = (nil, nil)
        directory.removeAll()
        clearReport()
        outgoing = OutgoingChanges()
    }

    private func clearReport() {
        touchedQueues.removeAll(keepingCapacity: true)
        foreignChanges.removeAll()
        openings.removeAll()
        if !deferrals.isEmpty { deferrals.removeAll() }
        nextEnd = nil
        (controlChanges, runnerChanges, hasForeignTimes) = ([], [], false)
    }

    /// Reads the changes recorded by other connections or, in the middle of a transaction, by its triggers.
    func readForeignChanges(isOfTransaction: Bool) throws(SQLiteError) {
        // Nothing is recorded for a process that does not run the queues: its order in memory is stale.
        guard let epoch else { return order.unfollow() }
        let changes = try connection.cached(
            "SELECT queue_id, action_id, change FROM sluice_changes WHERE epoch = ?1 ORDER BY id"
        ).bind(1, epoch).all {
            (
                queue: $0.optionalInt64(0).map(QueueID.init(rawValue:)),
                action: $0.optionalInt64(1).map(ActionID.init(rawValue:)),
                // A word that a damaged file has is looked at as any change.
                kind: ForeignChange.Kind(rawValue: $0.text(2)) ?? .wake
            )
        }
        let ofQueues = changes.compactMap { change in
            change.queue.map { ForeignChange(change.kind, of: change.action, in: $0) }
        }
        let newcomers = try order.takeIn(ofQueues, isOfTransaction: isOfTransaction)
        let told = Set(changes.compactMap(\.action))
        if changes.contains(where: { $0.action == nil }) || !told.isSuperset(of: newcomers.actions) {
            events.interest.noteUntoldChange()
        }
        touchedQueues.formUnion(newcomers.queues)
        if newcomers.haveTimes { hasForeignTimes = true }
        for change in ofQueues {
            touchedQueues.insert(change.queue)
            foreignChanges.append(change)
            try events.record(change)
            guard change.kind == .delete, let action = change.action else { continue }
            ownSettlements.deleted(action)
            settledActions.note(action, .removed)
        }
        if changes.contains(where: { $0.kind == .look }) { runnerChanges.insert(.look) }
        try readForeignControls(Set(changes.lazy.filter { $0.queue == nil }.map(\.kind)))
        guard !changes.isEmpty else { return }
        try connection.cached("DELETE FROM sluice_changes WHERE epoch = ?1").bind(1, epoch).run()
    }

    /// Reads which other processes run the queues, and whether this one still does.
    private func readRunners() throws(SQLiteError) {
        let epochs = try connection.cached("SELECT epoch FROM sluice_runner_rows").all { $0.int64(0) }
        let known = others
        let found = epochs.filter { $0 != epoch }
        if found != known { others = found }
        guard let epoch else { return try forgetDeadRunners() }
        guard epochs.contains(epoch) || mutant("taken for dead") else {
            self.epoch = nil
            // The changes recorded for this process are deleted.
            knownControls = nil
            followOrder()
            return noteRunners(.takenOff)
        }
        guard found != known else { return }
        noteRunners(.others)
        if known.contains(where: { !found.contains($0) }) { noteRunners(.look) }
    }

    /// Forgets dead runners, whose rows remain while no process runs; asks the system at most once a second.
    private func forgetDeadRunners() throws(SQLiteError) {
        guard !others.isEmpty else { return }
        let age = now - lookedForDead
        if age < .zero || age >= .seconds(1) {
            lookedForDead = now
            let ended = try RunnerRow.all(connection).filter { $0.hasEnded(seenFrom: identity) }
            deadRunners = Set(ended.map(\.epoch))
        }
        others.removeAll(where: deadRunners.contains)
    }

    /// Whether this transaction or an earlier one has found the end of a process, after this many of them.
    func hasNewDeath(since known: Int) -> Bool { deaths != known || runnerChanges.contains(.look) }

    func noteRunners(_ change: RunnerChanges) {
        runnerChanges.insert(change)
        events.interest.noteUntoldChange()
    }

    func controls() throws(SQLiteError) -> Controls {
        if let knownControls { return knownControls }
        let controls = try Controls.read(connection)
        knownControls = controls
        return controls
    }

    func changedControls(_ change: ControlChanges) {
        controlChanges.insert(change)
        if !others.isEmpty { outgoing.controls.insert(change) }
        knownControls = nil
        events.reportedControls = nil
    }

    /// Records that a gate has opened; queues that gather a batch count the actions that waited for it.
    func opened(_ opening: GateOpening) throws(SQLiteError) {
        openings.append(opening)
        let gathering = try connection.cached("SELECT queue_id FROM sluice_batch_rows WHERE is_open = 0")
            .all { QueueID(rawValue: $0.int64(0)) }
        touchedQueues.formUnion(gathering)
    }

    func expectEnd(at time: Timestamp) { nextEnd = min(nextEnd ?? time, time) }

    /// Reads which gates other connections have opened or closed for a time, and whether a hold has changed.
    private func readForeignControls(_ changes: Set<ForeignChange.Kind>) throws(SQLiteError) {
        let haveChanged = changes.contains(.hold) || changes.contains(.gate)
        if changes.contains(.hold) { controlChanges.insert(.holds) }
        if haveChanged { knownControls = nil }
        let controls = try controls()
        for (name, gate) in controls.gates {
            if gate.isOpen && gate.opening > seenOpening {
                try opened(GateOpening(of: name, closedFor: gate.closedFor))
            }
            if let end = gate.opensAt { expectEnd(at: end) }
        }
        seenOpening = controls.opening
        if haveChanged { events.recordControls(controls) }
    }

    func nextActionID() throws(SQLiteError) -> ActionID {
        let last = try lastActionID().rawValue
        guard last < .max else { throw SQLiteError(code: .corrupt, message: "no number is left") }
        let next = ActionID(rawValue: last + 1)
        actionCounter = next.rawValue
        return next
    }

    func lastActionID() throws(SQLiteError) -> ActionID {
        if let actionCounter { return ActionID(rawValue: actionCounter) }
        let value = try connection.cached("SELECT value FROM sluice_counters WHERE name = 'action'")
            .first { $0.int64(0) }
        (actionCounter, savedActionCounter) = (value ?? 0, value)
        _ = try order.readOrdered()
        return ActionID(rawValue: value ?? 0)
    }

    var isWriteBehindDue: Bool { order.isWriteBehindDue(lastAction: actionCounter) }
    /// Writes the places of actions to the order on disk, and deletes those of deleted actions.
    func writeBehind() throws(SQLiteError) { try order.writeBehind(lastAction: try lastActionID().rawValue) }
    /// Postpones the next write of the order until as many changes again have accumulated.
    func postponeWriteBehind() { order.postponeWriteBehind(lastAction: actionCounter) }

    func knownQueue(named name: QueueName) throws(SQLiteError) -> QueueDirectory.Entry? {
        if let entry = directory[name] { return entry }
        let found = try connection.cached("SELECT queue_id, sort_type FROM sluice_queue_rows WHERE name = ?1")
            .bind(1, name.rawValue).first { ($0.int64(0), SortKey.Kind(rawValue: $0.text(1))) }
        guard let (id, kind) = found, let kind else { return nil }
        let entry = QueueDirectory.Entry(id: QueueID(rawValue: id), sortKind: kind)
        directory[name] = entry
        return entry
    }

    func exists(_ action: ActionID) throws(SQLiteError) -> Bool {
        try connection.cached("SELECT 1 FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).hasRow()
    }

    /// Keeps the order in memory exactly while this process runs the queues.
    func followOrder() { if epoch != nil { order.follow() } else { order.unfollow() } }

    /// Writes a change of one row of many; a row that cannot be written stays and delays no other (G9).
    func writeIfPossible(_ body: () throws(SQLiteError) -> Void) throws(SQLiteError) {
        do { try body() } catch  where isOfRow(error) { return }
    }

    /// Returns whether one row refuses to be written, so that the transaction can continue without it.
    func isOfRow(_ error: SQLiteError) -> Bool {
        error.code.primary == .constraint && connection.isInTransaction
    }

    /// Writes a counter, so that the commit has something to sync: an update of no byte writes no page.
    func writeBarrier() throws(SQLiteError) {
        try connection.cached(
            """
            INSERT INTO sluice_counters (name, value) VALUES ('barrier', 1)
            ON CONFLICT (name) DO UPDATE SET value = value + 1
            """
        ).run()
    }
}
