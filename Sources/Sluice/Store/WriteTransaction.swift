internal import SQLite

/// The open write transaction, with what the writer knows of the file so that it need not look it up.
///
/// One object for the life of the writer. What it knows holds until another connection commits, which `PRAGMA
/// data_version` tells (<https://www.sqlite.org/pragma.html#pragma_data_version>), and is forgotten when a
/// transaction is rolled back.
package final class WriteTransaction {
    let connection: Connection
    /// A random number of this opening, the part of idempotency keys that no other file has.
    let nonce: Int64
    /// Whether the transaction is somebody else's, on a connection of theirs: see ``join(now:)``.
    let isJoined: Bool
    /// The wall clock when the transaction began, or was joined.
    var now = Timestamp(microseconds: 0)

    /// The epoch under which this store runs the queues; `nil` while it does not.
    ///
    /// Set by `Store+Runner`.
    var epoch: Int64?
    /// Claims made in this epoch.
    ///
    /// It only goes up, so that a number of a transaction that was rolled back is never used again.
    var claimCount: Int64 = 0

    /// Queues that this transaction may have made ready.
    private(set) var touchedQueues: Set<QueueID> = []
    /// Changes that others made, to single actions or to queues.
    private(set) var foreignChanges: [ForeignChange] = []

    /// What stood here when the transaction began: a start or a stop that is rolled back has not happened.
    private var before: (epoch: Int64?, claimCount: Int64) = (nil, 0)
    private var changesBefore = 0
    private var dataVersion: Int64?
    private var actionCounter: Int64?
    private var savedActionCounter: Int64?
    private var directory = QueueDirectory()
    /// What waits in each queue, in order.
    let order: WaitingOrder
    /// What the engine of another process is to be told of single actions.
    private var loggedChanges: [ForeignChange] = []
    /// Another process runs the queues: its engine is told of what this one enqueues.
    ///
    /// Cleared by the start of this one.
    var isRunElsewhere = false
    /// Gates and holds; `nil` until they are asked for.
    private var knownControls: Controls?
    /// What this transaction has changed of them.
    private var controlChanges: ControlChanges = []
    private var openings: [GateOpening] = []
    /// The counter `opening` as it was when others' openings were last looked for.
    private var seenOpening: Int64 = 0
    /// What has happened, while somebody observes.
    var journal: EventJournal
    /// Whether the file has any deduplication keys; `nil` until it is asked.
    var hasKeys: Bool?
    /// How far the sweep of what expires has come; `nil`: it begins anew.
    var swept: SweepMark?
    /// What belongs to rows of the application's.
    var links = LinkMemory()
    let settledActions: SettledActions
    /// Attempts that the application has settled in transactions of its own.
    let ownSettlements: OwnSettlements

    init(
        connection: Connection,
        nonce: Int64,
        writeBehind: WriteBehindLimits,
        interest: Interest = Interest(),
        waiters: SettlementWaiters = SettlementWaiters(),
        ownSettlements: OwnSettlements = OwnSettlements(),
        isJoined: Bool = false
    ) {
        self.ownSettlements = ownSettlements
        self.isJoined = isJoined
        settledActions = SettledActions(waiters: waiters)
        self.connection = connection
        self.nonce = nonce
        order = WaitingOrder(connection: connection, limits: writeBehind)
        journal = EventJournal(interest)
    }
}

// MARK: - Life

extension WriteTransaction {
    func begin(now: Timestamp) throws(SQLiteError) {
        before = (epoch, claimCount)
        try connection.beginImmediate()
        order.begin()
        journal.begin()
        self.now = now
        let version = try connection.cached("PRAGMA data_version").first { $0.int64(0) }
        guard version != dataVersion else { return }
        forget()
        dataVersion = version
        try takeIn()
        try lookForSettled()
    }

    func commit() throws(SQLiteError) {
        try writeDown()
        try keepToldControls()
        try connection.commit()
        settledActions.committed()
        savedActionCounter = actionCounter
        loggedChanges.removeAll()
        order.committed()
    }

    /// Writes what is kept for the end of the transaction: the last number given, and what others are told.
    func writeDown() throws(SQLiteError) {
        if let actionCounter, actionCounter != savedActionCounter {
            try connection.cached("UPDATE sluice_counters SET value = ?1 WHERE name = 'action'")
                .bind(1, actionCounter).run()
        }
        if isRunElsewhere {
            for queue in touchedQueues { try tellRunner("wake", queue, nil) }
            for change in loggedChanges { try tellRunner(change.change, change.queue, change.action) }
            for (change, name) in ControlChanges.names where controlChanges.contains(change) {
                try tellRunner(name, nil, nil)
            }
        }
    }

    /// The one place where the engine logs a change for another that runs the queues.
    private func tellRunner(_ change: String, _ queue: QueueID?, _ action: ActionID?) throws(SQLiteError) {
        try connection.cached("INSERT INTO sluice_changes (queue_id, action_id, change) VALUES (?1, ?2, ?3)")
            .bind(1, queue?.rawValue).bind(2, action?.rawValue).bind(3, change).run()
    }

    func rollback() {
        connection.rollback()
        journal.rollBack()
        epoch = before.epoch
        claimCount = max(claimCount, before.claimCount)
        forget()
        settledActions.rolledBack()
        order.rolledBack()
        if (epoch != nil) != order.isFollowed { followOrder() }
        // Read the changes of others again: what was taken in has been rolled back too.
        dataVersion = nil
    }

    /// What is to be told after the commit; empties it.
    func takeReport(isSynced: Bool) -> CommitReport {
        let changes = connection.totalChanges
        defer {
            touchedQueues.removeAll(keepingCapacity: true)
            foreignChanges.removeAll()
            openings.removeAll()
            controlChanges = []
            changesBefore = changes
        }
        return CommitReport(
            queues: queuesInOrder,
            foreignChanges: foreignChanges,
            openings: openings,
            changesHolds: controlChanges.contains(.holds),
            events: journal.takeEvents(),
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
        links = LinkMemory()
        actionCounter = nil
        savedActionCounter = nil
        directory.removeAll()
        touchedQueues.removeAll(keepingCapacity: true)
        foreignChanges.removeAll()
        loggedChanges.removeAll()
        knownControls = nil
        openings.removeAll()
        controlChanges = []
        hasKeys = nil
        swept = nil
    }

    /// Keeps the order in memory while this process runs the queues, and not otherwise.
    func followOrder() {
        if epoch != nil { order.follow() } else { order.unfollow() }
    }

    /// Reads what other connections have logged since the last transaction, and who runs the queues.
    private func takeIn() throws(SQLiteError) {
        let runner = try connection.cached("SELECT epoch FROM sluice_runner").first { $0.int64(0) }
        isRunElsewhere = runner != nil && runner != epoch
        if epoch != nil && runner != epoch {
            epoch = nil
            followOrder()
        }
        guard epoch != nil else {
            _ = try order.takeIn([])
            return
        }
        try takeInChanges()
        try takeInControls()
        guard !foreignChanges.isEmpty || !controlChanges.isEmpty || !openings.isEmpty else { return }
        try connection.cached("DELETE FROM sluice_changes").run()
    }

    /// Takes in what triggers have logged in this very transaction, as if another connection had written it.
    func takeInOwnChanges() throws(SQLiteError) {
        guard epoch != nil else {
            _ = try order.takeIn([])
            return
        }
        guard try takeInChanges() else { return }
        try connection.cached("DELETE FROM sluice_changes").run()
    }

    /// - Returns: Whether any stood there.
    @discardableResult
    private func takeInChanges() throws(SQLiteError) -> Bool {
        let changes = try connection.cached(
            "SELECT queue_id, action_id, change FROM sluice_changes WHERE queue_id IS NOT NULL ORDER BY id"
        ).all {
            ForeignChange(
                queue: QueueID(rawValue: $0.int64(0)),
                action: $0.optionalInt64(1).map(ActionID.init(rawValue:)),
                change: $0.text(2)
            )
        }
        touchedQueues.formUnion(try order.takeIn(changes.compactMap { $0.endsRun ? nil : $0.action }))
        for change in changes {
            touchedQueues.insert(change.queue)
            foreignChanges.append(change)
            try tell(change)
            if change.isDeletion, let action = change.action { settledActions.note(action, .removed) }
        }
        return !changes.isEmpty
    }
}

// MARK: - Gates and holds

extension WriteTransaction {
    /// Gates and holds as the file has them.
    func controls() throws(SQLiteError) -> Controls {
        if let knownControls { return knownControls }
        let controls = try Self.readControls(connection)
        knownControls = controls
        return controls
    }

    func changedControls(_ change: ControlChanges) {
        controlChanges.insert(change)
        knownControls = nil
        journal.toldControls = nil
    }

    func opened(_ opening: GateOpening) {
        openings.append(opening)
    }

    /// Finds out which gates others have opened, and whether they have touched a hold.
    private func takeInControls() throws(SQLiteError) {
        let changes = try connection.cached(
            "SELECT DISTINCT change FROM sluice_changes WHERE queue_id IS NULL"
        )
        .all { $0.text(0) }
        if changes.contains("hold") { controlChanges.insert(.holds) }
        let controls = try controls()
        for (name, gate) in controls.gates where gate.isOpen && gate.opening > seenOpening {
            opened(GateOpening(gate: name, spread: .zero))
        }
        seenOpening = controls.opening
        if !changes.isEmpty { tellControls(controls) }
    }
}

/// What may have changed besides actions.
struct ControlChanges: OptionSet {
    let rawValue: Int

    static let holds = ControlChanges(rawValue: 1)
    static let gates = ControlChanges(rawValue: 2)

    /// As `sluice_changes` names them.
    static let names = [(holds, "hold"), (gates, "gate")]
}

// MARK: - What it knows

extension WriteTransaction {
    /// The next action's sequence.
    func nextActionID() throws(SQLiteError) -> ActionID {
        let next = ActionID(rawValue: try lastActionID().rawValue + 1)
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

    /// Notes that a queue may have become ready.
    func touch(_ queue: QueueID) {
        touchedQueues.insert(queue)
    }

    /// Gives an action that was stored before its place in a queue: it was scheduled, elsewhere or dead.
    func restore(_ place: Place, in queue: QueueID) throws(SQLiteError) {
        try order.placed(place, in: queue)
        log(ForeignChange(queue: queue, action: place.action, change: "update"))
        touch(queue)
    }

    /// Tells the engine that runs the queues, if that is another process's, what has become of an action.
    func log(_ change: ForeignChange) {
        if isRunElsewhere { loggedChanges.append(change) }
    }

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

    /// The queue of a name for an action with such a sort key.
    ///
    /// A new queue, and one without actions, takes the type of the key.
    func queue(named name: QueueName, sorting kind: SortKey.Kind) throws -> QueueID {
        guard let entry = try knownQueue(named: name) else {
            // Not by RETURNING, which makes a table for its answer.
            try connection.cached("INSERT INTO sluice_queue_rows (name, sort_type) VALUES (?1, ?2)")
                .bind(1, name.rawValue).bind(2, kind.rawValue).run()
            let id = QueueID(rawValue: connection.lastInsertedRowID)
            directory[name] = QueueDirectory.Entry(id: id, sortKind: kind)
            return id
        }
        guard entry.sortKind != kind else { return entry.id }
        // An action that moves here when its attempt ends counts: its key has the queue's type already.
        let hasActions = try connection.cached(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM sluice_action_facts WHERE queue_id = ?1)
                        OR EXISTS (SELECT 1 FROM sluice_state_rows WHERE moves_to_queue_id = ?1)
            """
        )
        .bind(1, entry.id.rawValue).hasRow()
        guard !hasActions else {
            throw SluiceError(
                .sortKeyMismatch,
                "the queue '\(name)' is ordered by \(entry.sortKind); the action's key is \(kind): "
                    + "give it one of \(entry.sortKind), or wait until the queue is empty"
            )
        }
        try connection.cached("UPDATE sluice_queue_rows SET sort_type = ?2 WHERE queue_id = ?1")
            .bind(1, entry.id.rawValue).bind(2, kind.rawValue).run()
        directory[name] = QueueDirectory.Entry(id: entry.id, sortKind: kind)
        return entry.id
    }
}
