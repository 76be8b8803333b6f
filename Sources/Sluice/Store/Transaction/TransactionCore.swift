internal import SluiceSQLite

/// The connection, the time and the memory that all subjects of a write transaction share.
///
/// One object for the life of the writer. Its memory of the file holds until another connection commits,
/// which `PRAGMA data_version` shows (<https://www.sqlite.org/pragma.html>), and is forgotten in a roll-back.
final class TransactionCore {
    let connection: Connection
    /// A random number of this opening, the part of idempotency keys that no other file has.
    let nonce: Int64
    /// Whether the transaction is somebody else's, on a connection of theirs: see ``join(now:)``.
    let isJoined: Bool
    /// The wall clock when the transaction began, or was joined.
    var now = Timestamp(microseconds: 0)
    /// The clock for waiting, at that moment.
    var uptime = Duration.zero
    /// How long it has waited for the write lock, if not only briefly.
    var waited = Duration.zero
    let clock: any BrokerClock
    /// The process that this store stands for.
    let identity: ProcessIdentity
    let leases: LeaseTimes
    let runners: RunnerState

    /// The epoch under which this store runs the queues; `nil` while it does not.
    ///
    /// Set by ``RunnerRegistry``.
    var epoch: Int64? { didSet { runners.setEpoch(epoch) } }
    /// Claims made in this epoch.
    ///
    /// It only goes up, so that a number of a transaction that was rolled back is never used again.
    var claimCount: Int64 = 0

    /// Queues that may have become ready, by this transaction or by what it has taken in.
    var touchedQueues: Set<QueueID> = []
    /// Changes that others made, to single actions or to queues.
    private(set) var foreignChanges: [ForeignChange] = []
    /// Others have added actions that are scheduled or end.
    private var hasForeignTimes = false

    /// What stood here when the transaction began: a start or a stop that is rolled back has not happened.
    private var before: Before?
    private var changesBefore = 0
    /// Whether the open transaction has changed anything.
    var hasChanges: Bool { connection.totalChanges != changesBefore }
    private var dataVersion: Int64?
    /// At the last commit of others that observers were told of: a roll-back is none.
    private var toldDataVersion: Int64?
    /// Whether this transaction has taken in what other connections have committed since the last one.
    private(set) var hasTakenIn = false
    private var actionCounter: Int64?
    private var savedActionCounter: Int64?
    /// The queues whose names have been asked for.
    var directory = QueueDirectory()
    /// What waits in each queue, in order.
    let order: WaitingOrder
    /// The epochs of the other processes that run the queues: they are told of what this one commits.
    var others: [Int64] = [] { didSet { runners.setOtherCount(others.count) } }
    /// Those of processes that had died when it was looked last, and when that was.
    private var deadRunners: Set<Int64> = []
    private var lookedForDead = Timestamp(microseconds: 0)
    private var runnerChanges: RunnerChanges = []
    /// What the others are to be told; empty while there are none.
    var news = News()
    /// Gates and holds; `nil` until they are asked for.
    private var knownControls: Controls?
    /// What this transaction has changed of them.
    private var controlChanges: ControlChanges = []
    private(set) var openings: [GateOpening] = []
    /// The counter `opening` as it was when others' openings were last looked for.
    var seenOpening: Int64 = 0
    private var schema = SchemaCheck()
    var life = FileLife()
    /// What has happened, while somebody observes.
    let events: EventJournal
    var routeUse = RouteUse()
    let settledActions: SettledActions
    /// Attempts that the application has settled in transactions of its own.
    let ownSettlements: OwnSettlements

    init(
        connection: Connection,
        nonce: Int64,
        identity: ProcessIdentity,
        leases: LeaseTimes,
        clock: any BrokerClock,
        writeBehind: WriteBehindLimits,
        runners: RunnerState,
        events: EventJournal,
        settledActions: SettledActions,
        ownSettlements: OwnSettlements,
        isJoined: Bool
    ) {
        self.ownSettlements = ownSettlements
        self.isJoined = isJoined
        self.settledActions = settledActions
        self.connection = connection
        self.nonce = nonce
        self.identity = identity
        self.runners = runners
        self.leases = leases
        self.clock = clock
        order = WaitingOrder(connection: connection, limits: writeBehind)
        self.events = events
        // What stands in the file already is no change. Where it cannot be read, the first write says why.
        toldDataVersion = isJoined ? nil : try? connection.cached("PRAGMA data_version").first { $0.int64(0) }
    }
}

// MARK: - Life

extension TransactionCore {
    /// Begins the transaction.
    ///
    /// - Returns: Whether other connections have committed since the last one: all memory is stale.
    func begin(now: Timestamp?) throws -> Bool {
        // Whoever needs the order reads it again, and reports what ails the file; others go on without.
        try? order.loadAhead()
        try connection.beginImmediate()
        before = Before(self)
        order.begin()
        (self.now, uptime, waited) = (now ?? clock.now, clock.uptime, .zero)
        events.begin(now: self.now)
        let version = try connection.cached("PRAGMA data_version").first { $0.int64(0) }
        hasTakenIn = version != dataVersion && !(mutant("commits of others") && dataVersion != nil)
        guard hasTakenIn else { return false }
        if version != toldDataVersion { events.interest.noteCommitOfOthers() }
        toldDataVersion = version
        let mayBeCopy = try schema.ensure(connection)
        if mayBeCopy { try beginAnewWithFile() }
        forget()
        if mayBeCopy { runnerChanges.insert(.look) }
        // What others make of gates and holds is told to those who run the queues.
        if epoch == nil { knownControls = nil }
        dataVersion = version
        return true
    }

    /// Reads what other connections have logged since the last transaction, and who runs the queues.
    func takeIn() throws(SQLiteError) {
        try life.look(connection)
        try takeInRunners()
        try takeInChanges(isOfTransaction: false)
    }

    func committed() {
        before = nil
        life.committed(lastAction: actionCounter)
        settledActions.committed()
        routeUse.committed()
        savedActionCounter = actionCounter
        if !news.isEmpty { news = News() }
        order.committed()
    }

    /// Writes what is kept for the end of the transaction: the last number given, and what others are told.
    func writeDown() throws(SQLiteError) {
        if let actionCounter, actionCounter != savedActionCounter {
            try connection.cached("UPDATE sluice_counters SET value = ?1 WHERE name = 'action'")
                .bind(1, actionCounter).run()
        }
        if !others.isEmpty { try tellOthers(news) }
    }

    func rollback() {
        connection.rollback()
        events.rollBack()
        before?.restore(self)
        before = nil
        forget()
        knownControls = nil
        life.rolledBack()
        routeUse.rolledBack()
        settledActions.rolledBack()
        order.rolledBack()
        if (epoch != nil) != order.isFollowed { followOrder() }
        // Read the changes of others again: what was taken in has been rolled back too.
        dataVersion = nil
    }

    /// What is to be told after the commit; empties it.
    func takeReport(isSynced: Bool, dueAt: Timestamp?) -> CommitReport {
        let changes = connection.totalChanges
        if order.takeMissedNewcomers() { runnerChanges.insert(.look) }
        defer {
            touchedQueues.removeAll(keepingCapacity: true)
            foreignChanges.removeAll()
            openings.removeAll()
            controlChanges = []
            runnerChanges = []
            hasForeignTimes = false
            changesBefore = changes
        }
        return CommitReport(
            queues: queuesInOrder,
            foreignChanges: foreignChanges,
            hasForeignTimes: hasForeignTimes,
            runnerChanges: runnerChanges,
            openings: openings,
            changesHolds: controlChanges.contains(.holds),
            events: events.takeEvents(),
            isObserved: events.isOn,
            contents: events.takeContents(),
            dueAt: dueAt,
            awaitsSync: !isSynced && changes != changesBefore
        )
    }

    /// Queues that may have become ready: first those that others have made so, in the order of their
    /// commits.
    private var queuesInOrder: [QueueID] {
        guard !foreignChanges.isEmpty else { return touchedQueues.sorted() }
        var seen: Set<QueueID> = []
        let told = foreignChanges.map(\.queue).filter { seen.insert($0).inserted }
        return told + touchedQueues.subtracting(seen).sorted()
    }

    private func forget() {
        actionCounter = nil
        savedActionCounter = nil
        directory.removeAll()
        touchedQueues.removeAll(keepingCapacity: true)
        foreignChanges.removeAll()
        hasForeignTimes = false
        runnerChanges = []
        news = News()
        openings.removeAll()
        controlChanges = []
    }

    /// Takes in what others have logged for this process; in the middle of a transaction, what triggers have
    /// logged in it, as if another connection had written it.
    func takeInChanges(isOfTransaction: Bool) throws(SQLiteError) {
        guard let epoch else {
            // Nothing is logged for who does not run the queues: what memory knows of the order is over.
            return order.unfollow()
        }
        let changes = try connection.cached(
            "SELECT queue_id, action_id, change FROM sluice_changes WHERE epoch = ?1 ORDER BY id"
        )
        .bind(1, epoch).all {
            (
                queue: $0.optionalInt64(0).map(QueueID.init(rawValue:)),
                action: $0.optionalInt64(1).map(ActionID.init(rawValue:)), change: $0.text(2)
            )
        }
        let ofQueues = changes.compactMap { change in
            change.queue.map { ForeignChange(queue: $0, action: change.action, change: change.change) }
        }
        let newcomers = try order.takeIn(
            ofQueues,
            isOfTransaction: isOfTransaction
        )
        touchedQueues.formUnion(newcomers.queues)
        if newcomers.haveTimes { hasForeignTimes = true }
        for change in ofQueues {
            touchedQueues.insert(change.queue)
            foreignChanges.append(change)
            try events.record(change)
            guard change.isDeletion, let action = change.action else { continue }
            ownSettlements.deleted(action)
            settledActions.note(action, .removed)
        }
        if changes.contains(where: { $0.change == "look" }) { runnerChanges.insert(.look) }
        try takeInControls(Set(changes.lazy.filter { $0.queue == nil }.map(\.change)))
        guard !changes.isEmpty else { return }
        try connection.cached("DELETE FROM sluice_changes WHERE epoch = ?1").bind(1, epoch).run()
    }

    /// Finds out which other processes run the queues, and whether this one still does.
    private func takeInRunners() throws(SQLiteError) {
        let epochs = try connection.cached("SELECT epoch FROM sluice_runner_rows").all { $0.int64(0) }
        let known = others
        let found = epochs.filter { $0 != epoch }
        if found != known { others = found }
        guard let epoch else { return try forgetDeadRunners() }
        guard epochs.contains(epoch) || mutant("taken for dead") else {
            self.epoch = nil
            // What was logged for it has gone.
            knownControls = nil
            followOrder()
            return noteRunners(.takenOff)
        }
        guard found != known else { return }
        noteRunners(.others)
        if known.contains(where: { !found.contains($0) }) { noteRunners(.look) }
    }

    /// Tells nothing to those that have died: where nobody runs the queues their rows stay.
    ///
    /// It takes a look at the system, and so place at most once a second.
    private func forgetDeadRunners() throws(SQLiteError) {
        guard !others.isEmpty else { return }
        let age = now - lookedForDead
        guard age < .zero || age >= .seconds(1) else { return others.removeAll(where: deadRunners.contains) }
        lookedForDead = now
        deadRunners = Set(
            try RunnerRow.all(connection).filter { $0.hasEnded(seenFrom: identity) }.map(\.epoch)
        )
        others.removeAll(where: deadRunners.contains)
    }

    /// Notes what has become of those that run the queues, for the commit's report.
    func noteRunners(_ change: RunnerChanges) { runnerChanges.insert(change) }
}

// MARK: - Gates and holds

extension TransactionCore {
    /// Gates and holds as the file has them.
    func controls() throws(SQLiteError) -> Controls {
        if let knownControls { return knownControls }
        let controls = try Controls.read(connection)
        knownControls = controls
        return controls
    }

    func changedControls(_ change: ControlChanges) {
        controlChanges.insert(change)
        if !others.isEmpty { news.controls.insert(change) }
        knownControls = nil
        events.toldControls = nil
    }

    func opened(_ opening: GateOpening) { openings.append(opening) }

    /// Finds out which gates others have opened, and whether they have touched a hold.
    private func takeInControls(_ changes: Set<String>) throws(SQLiteError) {
        if changes.contains("hold") { controlChanges.insert(.holds) }
        if changes.contains("hold") || changes.contains("gate") { knownControls = nil }
        let controls = try controls()
        for (name, gate) in controls.gates where gate.isOpen && gate.opening > seenOpening {
            opened(GateOpening(gate: name, spread: .zero))
        }
        seenOpening = controls.opening
        if changes.contains("hold") || changes.contains("gate") { events.recordControls(controls) }
    }
}

// MARK: - What it knows

extension TransactionCore {
    /// The next action's sequence.
    func nextActionID() throws(SQLiteError) -> ActionID {
        let last = try lastActionID().rawValue
        guard last < .max else { throw SQLiteError(code: .corrupt, message: "no number is left") }
        let next = ActionID(rawValue: last + 1)
        actionCounter = next.rawValue
        return next
    }

    /// The last sequence that was given.
    func lastActionID() throws(SQLiteError) -> ActionID {
        if let actionCounter { return ActionID(rawValue: actionCounter) }
        let value = try connection.cached("SELECT value FROM sluice_counters WHERE name = 'action'")
            .first { $0.int64(0) }
        actionCounter = value ?? 0
        savedActionCounter = value
        _ = try order.readOrdered()
        return ActionID(rawValue: value ?? 0)
    }

    /// Whether the order of what waits is to be written behind.
    var isWriteBehindDue: Bool { order.isWriteBehindDue(lastAction: actionCounter) }

    /// Gives actions their places in the file's order, and removes those of actions that are gone.
    func writeBehind() throws(SQLiteError) {
        try order.writeBehind(lastAction: try lastActionID().rawValue)
    }

    /// Leaves the order as it is until as much again has come together.
    func postponeWriteBehind() {
        order.postponeWriteBehind(lastAction: actionCounter)
    }
}

extension TransactionCore {
    /// The queue of a name, if the file knows it.
    func knownQueue(named name: QueueName) throws(SQLiteError) -> QueueDirectory.Entry? {
        if let entry = directory[name] { return entry }
        let found = try connection.cached("SELECT queue_id, sort_type FROM sluice_queue_rows WHERE name = ?1")
            .bind(1, name.rawValue)
            .first { ($0.int64(0), SortKey.Kind(rawValue: $0.text(1))) }
        guard let (id, kind) = found, let kind else { return nil }
        let entry = QueueDirectory.Entry(id: QueueID(rawValue: id), sortKind: kind)
        directory[name] = entry
        return entry
    }
}

extension TransactionCore {
    func exists(_ action: ActionID) throws(SQLiteError) -> Bool {
        try connection.cached("SELECT 1 FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).hasRow()
    }
}
