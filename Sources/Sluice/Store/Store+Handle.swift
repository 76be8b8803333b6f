internal import SluiceSQLite

/// What the handle of a queue writes. See `Store+HandleReading` for what it reads.
///
/// To a handle the queue is what waits in its order, the next to start first: not what runs, and not what is
/// scheduled for later or stands aside.
extension Store {
    /// Takes the first actions out of a queue, durably when it returns.
    ///
    /// - Parameters:
    ///   - discipline: What code says of the queue's; `nil` is what the file tells.
    ///   - read: Makes something of an action, or says why it stays; called in the transaction, perhaps
    ///     more than once, so that what cannot be read is not lost.
    func takeNext<Output: Sendable>(
        of queue: QueueName,
        limit: Int,
        by discipline: QueueDiscipline? = nil,
        _ read: @escaping @Sendable (StoredAction) -> Result<Output, SluiceError>
    ) async throws(SluiceError) -> Taking<Output> {
        try await write(sync: .owed) {
            try $0.handles.takeNext(of: queue, limit: limit, by: discipline, read)
        }
    }

    /// Stores actions that were taken out again, in front of what waits, all or none.
    func putBack(
        _ actions: [StoredAction],
        to queue: QueueName,
        by discipline: QueueDiscipline? = nil
    ) async throws(SluiceError) -> [ActionID] {
        try await write(sync: .owed) { try $0.handles.reinsert(actions, to: queue, by: discipline) }
    }

    /// Removes a batch of what waits or is scheduled in a queue and is not newer than an action.
    ///
    /// - Returns: How many have gone; fewer than ``clearBatchSize`` when none is left.
    func clear(_ queue: QueueName, through last: ActionID) async throws(SluiceError) -> Int {
        try await write(sync: .owed) { try $0.handles.clear(queue, through: last) }
    }

    /// Cancels an action, if it stands in a queue.
    func cancel(_ action: ActionID, in queue: QueueName) async throws(SluiceError) -> CancelResult {
        try await write(sync: .owed) { try $0.handles.cancelInQueue(action, in: queue) }
    }

    /// Holds a queue, unless the holder has it held.
    func stop(_ queue: QueueName, by holder: String, reason: String) async throws(SluiceError) {
        try await write(sync: .owed) { try $0.handles.stop(queue, by: holder, reason: reason) }
    }

    /// Ends the holder's hold of a queue, its wait for a retry and its parking.
    func start(_ queue: QueueName, by holder: String) async throws(SluiceError) {
        try await write(sync: .owed) { transaction in
            _ = try transaction.gatesAndHolds.endHolds(matching: QueuePattern(queue.rawValue), by: holder)
            _ = try transaction.waits.retryNow(.exact(queue))
        }
    }

    /// The most actions that one transaction of ``clear(_:through:)`` removes.
    static let clearBatchSize = 500
}

/// What was taken out of a queue.
struct Taking<Output: Sendable>: Sendable {
    var outputs: [Output] = []
    /// Why the next action could not be read: it stays where it is.
    var refusal: SluiceError?
    /// There may be more: ask again.
    var isUnfinished = false
}

// MARK: - Taking out

final class HandleOperations: TransactionSubject {
    let core: TransactionCore
    let queueRows: QueueRows
    let schedule: Schedule
    let fronts: QueueFronts
    let groups: Groups
    let blocks: QueueBlocks
    let keys: DeduplicationKeys
    let expiry: Expiry
    let failures: Failures
    let cancellations: Cancellations
    let gatesAndHolds: GatesAndHolds
    let removals: Removals

    init(
        _ core: TransactionCore,
        _ queueRows: QueueRows,
        _ schedule: Schedule,
        _ fronts: QueueFronts,
        _ groups: Groups,
        _ blocks: QueueBlocks,
        _ keys: DeduplicationKeys,
        _ expiry: Expiry,
        _ failures: Failures,
        _ cancellations: Cancellations,
        _ gatesAndHolds: GatesAndHolds,
        _ removals: Removals
    ) {
        self.core = core
        self.queueRows = queueRows
        self.schedule = schedule
        self.fronts = fronts
        self.groups = groups
        self.blocks = blocks
        self.keys = keys
        self.expiry = expiry
        self.failures = failures
        self.cancellations = cancellations
        self.gatesAndHolds = gatesAndHolds
        self.removals = removals
    }

    /// The most places that one transaction looks at beyond those it takes: what is gone, runs elsewhere or
    /// has expired.
    private static let lookLimit = 1_000

    func takeNext<Output: Sendable>(
        of name: QueueName,
        limit: Int,
        by said: QueueDiscipline?,
        _ read: (StoredAction) -> Result<Output, SluiceError>
    ) throws(SQLiteError) -> Taking<Output> {
        var taking = Taking<Output>()
        guard let queue = try core.knownQueue(named: name)?.id else { return taking }
        var walk = QueueFronts.Walk(
            budget: limit + Self.lookLimit,
            living: try fronts.livingClaims(),
            discipline: try fronts.discipline(of: queue, said: said)
        )
        var admitted = try schedule.admitInOrder(of: queue)
        while taking.outputs.count < limit {
            guard let place = try fronts.firstWaiting(of: queue, &walk, &admitted),
                let action = try StoredAction.read(place.action, on: connection)
            else { break }
            if let end = action.expiresAt, end <= now {
                // It is no more handed out than started.
                try failures.fail(action.id, in: queue, .expired, .skip, error: Expiry.expiredError)
                try blocks.liftBlock(of: action.id, in: queue)
                core.touch(queue)
            } else {
                switch read(action) {
                case .failure(let refusal):
                    taking.refusal = refusal
                    try fronts.putDown(walk, in: queue)
                    return taking
                case .success(let output):
                    try takeOut(action.id, of: queue)
                    taking.outputs.append(output)
                }
            }
            try order.pass(place, of: queue, isLeftover: false)
        }
        taking.isUnfinished = walk.budget == 0
        try fronts.putDown(walk, in: queue)
        return taking
    }

    func clear(_ name: QueueName, through last: ActionID) throws(SQLiteError) -> Int {
        guard let queue = try core.knownQueue(named: name)?.id, !mutant("clear") else { return 0 }
        let found = try connection.cached(
            """
            SELECT f.id FROM sluice_action_facts AS f
            WHERE f.queue_id = ?1 AND f.id <= ?2
              AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                              WHERE c.queue_id = ?1 AND c.action_id = f.id
                                AND c.claim >> 32 IN (SELECT value FROM json_each(?4)))
            LIMIT ?3
            """
        )
        .bind(1, queue.rawValue).bind(2, last.rawValue).bind(3, Store.clearBatchSize)
        .bind(4, try fronts.livingClaims())
        .all { ActionID(rawValue: $0.int64(0)) }
        for action in found { try takeOut(action, of: queue) }
        return found.count
    }

    func cancelInQueue(_ action: ActionID, in name: QueueName) throws(SQLiteError) -> CancelResult {
        guard let queue = try core.knownQueue(named: name)?.id else { return .missing }
        let isThere = try connection.cached(
            "SELECT 1 FROM sluice_action_rows WHERE id = ?1 AND queue_id = ?2"
        )
        .bind(1, action.rawValue).bind(2, queue.rawValue).hasRow()
        return try isThere ? cancellations.cancel(action) : .missing
    }

    func stop(_ name: QueueName, by holder: String, reason: String) throws(SQLiteError) {
        let isStopped = try connection.cached(
            "SELECT 1 FROM sluice_hold_rows WHERE scope = ?1 AND holder = ?2 AND until_us IS NULL"
        )
        .bind(1, name.rawValue).bind(2, holder).hasRow()
        if !isStopped && !mutant("stop of a handle") {
            _ = try gatesAndHolds.hold(QueuePattern(name.rawValue), by: holder, reason: reason, for: nil)
        }
    }

    /// Removes an action that does not run, as one that somebody has taken.
    private func takeOut(_ action: ActionID, of queue: QueueID) throws(SQLiteError) {
        core.touch(queue)
        try core.events.record(.taken, action, in: queue)
        try removals.discard(action, of: queue, as: .removed)
        try blocks.liftBlock(of: action, in: queue)
    }
}

final class QueueFronts: TransactionSubject {
    let core: TransactionCore
    let schedule: Schedule

    init(_ core: TransactionCore, _ schedule: Schedule) {
        self.core = core
        self.schedule = schedule
    }

    /// The epochs whose claims stand: what a process has left that died runs no more.
    func livingClaims() throws(SQLiteError) -> String {
        RunnerRow.epochs(try RunnerRow.living(connection, own: core.nonce, seenFrom: core.identity, at: now))
    }
}

// MARK: - Finding the first

extension QueueFronts {
    /// A walk along the order of a queue, past what runs in other processes.
    struct Walk {
        /// How many places may be looked at yet.
        var budget: Int
        /// The epochs whose claims stand.
        let living: String
        let discipline: QueueDiscipline
        /// Places that were taken out of the order in memory, to be put back.
        var passed: [Place] = []
    }

    /// The first place in a queue whose action waits, of those that have one and those that are due.
    ///
    /// - Parameter admitted: Up to where those that are due have their place; `nil`: all have.
    func firstWaiting(
        of queue: QueueID,
        _ walk: inout Walk,
        _ admitted: inout Place?
    ) throws(SQLiteError) -> Place? {
        while true {
            let first = try firstWaiting(of: queue, &walk)
            guard let last = admitted, walk.budget > 0 else { return first }
            // Only in order does one that is due and behind the last that was placed not come before this.
            let isInOrder = walk.discipline.slots > 1 || walk.discipline == .firstInFirstOut
            if isInOrder, let first, first <= last { return first }
            admitted = try schedule.admitInOrder(of: queue)
        }
    }

    /// The place in a queue that comes first by its discipline, or in the next pass through it.
    private func head(of queue: QueueID, by discipline: QueueDiscipline) throws(SQLiteError) -> Place? {
        if let place = try order.head(of: queue, by: discipline) { return place }
        return try discipline == .passOver ? order.head(of: queue, by: .firstInFirstOut) : nil
    }

    /// The place in a queue whose action is the next to start, of those that wait in its order; it stays
    /// there.
    func nextPlace(of queue: QueueID, by discipline: QueueDiscipline) throws(SQLiteError) -> Place? {
        var walk = QueueFronts.Walk(budget: .max, living: try livingClaims(), discipline: discipline)
        let next = try firstWaiting(of: queue, &walk)
        try putDown(walk, in: queue)
        return next
    }

    /// The first place in a queue whose action waits; it stays in the order.
    ///
    /// - Returns: `nil` when there is none, or the walk's budget is used up.
    private func firstWaiting(of queue: QueueID, _ walk: inout Walk) throws(SQLiteError) -> Place? {
        // Until another connection commits, or a broker begins to run here, memory knows the order.
        if !order.isFollowed { order.follow() }
        while walk.budget > 0, let place = try head(of: queue, by: walk.discipline) {
            walk.budget -= 1
            let isRunning: Bool? =
                try connection.cached(
                    """
                    SELECT a.sort_key, EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                                               WHERE c.queue_id = ?2 AND c.action_id = ?1
                                                 AND c.claim >> 32 IN (SELECT value FROM json_each(?3)))
                    FROM sluice_action_rows AS a
                    WHERE a.id = ?1 AND a.queue_id = ?2 AND a.not_before_us IS NULL
                    """
                )
                .bind(1, place.action.rawValue).bind(2, queue.rawValue).bind(3, walk.living)
                .first { PlaceKey($0, 0) == place.key ? $0.bool(1) : nil } ?? nil
            guard let isRunning else {
                try order.pass(place, of: queue, isLeftover: true)
                continue
            }
            guard isRunning, !mutant("running is not taken") else { return place }
            try order.pass(place, of: queue, isLeftover: false)
            walk.passed.append(place)
        }
        if walk.passed.isEmpty && walk.budget > 0 { order.release(queue) }
        return nil
    }

    /// Ends a walk: what it has passed stands in the order again.
    func putDown(_ walk: Walk, in queue: QueueID) throws(SQLiteError) {
        for place in walk.passed { try order.placed(place, in: queue) }
    }
}

// MARK: - Putting back

extension HandleOperations {
    func reinsert(
        _ actions: [StoredAction],
        to name: QueueName,
        by discipline: QueueDiscipline?
    ) throws -> [ActionID] {
        // The last one first, and each in front of the one before.
        var ids: [ActionID] = []
        for action in actions.reversed() { ids.append(try reinsert(action, to: name, by: discipline)) }
        return ids.reversed()
    }

    /// Stores an action in front of what waits, under its own number, if that is free.
    private func reinsert(
        _ action: StoredAction,
        to name: QueueName,
        by said: QueueDiscipline?
    ) throws -> ActionID {
        let present = try connection.cached("SELECT nonce FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.id.rawValue).first { $0.int64(0) }
        if present == action.nonce { return action.id }
        let queue = try queueRows.queue(named: name, sorting: action.sortKind)
        let isFree = try present == nil && isUnused(action.id)
        let id = isFree ? action.id : try core.nextActionID()
        _ = try schedule.admitInOrder(of: queue)
        let discipline = try fronts.discipline(of: queue, said: said)
        let key = try fronts.frontKey(of: Place(key: action.key, action: id), in: queue, by: discipline).get()
        try connection.cached(
            """
            INSERT INTO sluice_action_rows
                (id, queue_id, sort_key, enqueued_at_us, nonce, kind, payload, version, tag, gate,
                 expires_at_us, trace)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            """
        )
        .bind(1, id.rawValue).bind(2, queue.rawValue).bind(3, key).bind(4, action.enqueuedAt.microseconds)
        .bind(5, isFree ? action.nonce : core.nonce).bind(6, action.kind).bind(7, action.payload)
        .bind(8, action.version).bind(9, action.tag).bind(10, action.gate?.rawValue)
        .bind(11, action.expiresAt?.microseconds).bind(12, action.trace).run()
        if !action.groups.isEmpty { try groups.setGroups(of: id, in: queue, action.groups) }
        if isFree {
            order.count(1, in: queue)
            try blocks.came(id, to: queue)
            try core.restore(Place(key: key, action: id), in: queue)
        } else {
            order.added(id, key: key, to: queue, isPlaced: true)
            core.touchNew(queue)
        }
        try keys.endRetention(of: action.id, now: id)
        if let end = action.expiresAt { expiry.expiryChanged(to: end) }
        try core.events.record(.requeued, id, in: queue)
        return id
    }

    /// Whether a number was given by this file and no dead letter has it.
    private func isUnused(_ id: ActionID) throws(SQLiteError) -> Bool {
        guard id <= (try core.lastActionID()) else { return false }
        return try !connection.cached("SELECT 1 FROM sluice_dead_rows WHERE id = ?1").bind(1, id.rawValue)
            .hasRow()
    }
}
