internal import SluiceSQLite

/// Owns the operations of a queue handle: taking actions out, putting them back, clearing and stopping.
final class HandleOperations: TransactionSubject {
    static let clearBatchSize = 500
    let core: TransactionCore
    let queueRows: QueueRows
    let schedule: Schedule
    let fronts: QueueFronts
    let enqueues: Enqueues
    let blocks: QueueBlocks
    let keys: DeduplicationKeys
    let failures: Failures
    let cancellations: Cancellations
    let gatesAndHolds: GatesAndHolds
    let removals: Removals

    init(
        _ core: TransactionCore,
        _ queueRows: QueueRows,
        _ schedule: Schedule,
        _ fronts: QueueFronts,
        _ enqueues: Enqueues,
        _ blocks: QueueBlocks,
        _ keys: DeduplicationKeys,
        _ failures: Failures,
        _ cancellations: Cancellations,
        _ gatesAndHolds: GatesAndHolds,
        _ removals: Removals
    ) {
        (self.core, self.queueRows, self.schedule, self.fronts) = (core, queueRows, schedule, fronts)
        (self.enqueues, self.blocks, self.keys) = (enqueues, blocks, keys)
        (self.failures, self.cancellations) = (failures, cancellations)
        (self.gatesAndHolds, self.removals) = (gatesAndHolds, removals)
    }

    /// The most places read beyond those taken: of actions that are deleted, run elsewhere or have expired.
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
            SELECT f.id FROM sluice_action_facts AS f WHERE f.queue_id = ?1 AND f.id <= ?2
              AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                              WHERE c.queue_id = ?1 AND c.action_id = f.id
                                AND c.claim >> 32 IN (SELECT value FROM json_each(?4))) LIMIT ?3
            """
        ).bind(1, queue.rawValue).bind(2, last.rawValue).bind(3, Self.clearBatchSize)
            .bind(4, try fronts.livingClaims()).all { ActionID(rawValue: $0.int64(0)) }
        for action in found { try takeOut(action, of: queue) }
        return found.count
    }

    func cancelInQueue(_ action: ActionID, in name: QueueName) throws(SQLiteError) -> ActionChange {
        guard let queue = try core.knownQueue(named: name)?.id else { return .missing }
        let query = try connection.cached("SELECT 1 FROM sluice_action_rows WHERE id = ?1 AND queue_id = ?2")
        let isThere = try query.bind(1, action.rawValue).bind(2, queue.rawValue).hasRow()
        return try isThere ? cancellations.cancel(action) : .missing
    }

    func stop(_ name: QueueName, by holder: String, reason: String) throws(SQLiteError) {
        let isStopped = try connection.cached(
            "SELECT 1 FROM sluice_hold_rows WHERE scope = ?1 AND holder = ?2 AND until_us IS NULL"
        ).bind(1, name.rawValue).bind(2, holder).hasRow()
        if !isStopped && !mutant("stop of a handle") {
            _ = try gatesAndHolds.hold(QueuePattern(name.rawValue), by: holder, reason: reason, for: nil)
        }
    }

    /// Deletes an action that does not run, and reports it as taken.
    private func takeOut(_ action: ActionID, of queue: QueueID) throws(SQLiteError) {
        core.touch(queue)
        try core.events.record(.taken, action, in: queue)
        try removals.discard(action, of: queue, as: .removed)
        try blocks.liftBlock(of: action, in: queue)
    }

    func reinsert(
        _ actions: [StoredAction],
        to name: QueueName,
        by discipline: QueueDiscipline?
    ) throws -> [ActionID] {
        // The last one first, and each in front of the one before.
        try actions.reversed().map { try reinsert($0, to: name, by: discipline) }.reversed()
    }

    /// Stores an action in front of the waiting ones, with its old sequence if that is unused.
    private func reinsert(
        _ action: StoredAction,
        to name: QueueName,
        by said: QueueDiscipline?
    ) throws -> ActionID {
        let present = try connection.cached("SELECT nonce FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.id.rawValue).first { $0.int64(0) }
        if present == action.nonce { return action.id }
        let queue = try queueRows.queue(named: name, sorting: action.sortKind)
        // Whether the sequence was given by this file, and no dead letter has it.
        let isFree = try present == nil && action.id <= core.lastActionID() && !isDead(action.id)
        let id = isFree ? action.id : try core.nextActionID()
        _ = try schedule.admitInOrder(of: queue)
        let discipline = try fronts.discipline(of: queue, said: said)
        let key = try fronts.frontKey(of: Place(key: action.key, action: id), in: queue, by: discipline).get()
        var stored = action
        (stored.id, stored.key, stored.nonce) = (id, key, isFree ? action.nonce : core.nonce)
        try enqueues.insert(stored, into: queue)
        if isFree {
            order.count(1, in: queue)
            try blocks.noteArrival(id, to: queue)
            try core.restore(Place(key: key, action: id), in: queue)
        } else {
            order.added(id, key: key, to: queue, isPlaced: true)
            core.touchNew(queue)
        }
        try keys.endRetention(of: action.id, now: id)
        try core.events.record(.requeued, id, in: queue)
        return id
    }

    private func isDead(_ id: ActionID) throws(SQLiteError) -> Bool {
        try connection.cached("SELECT 1 FROM sluice_dead_rows WHERE id = ?1").bind(1, id.rawValue).hasRow()
    }
}
