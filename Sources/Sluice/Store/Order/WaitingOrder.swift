internal import SluiceSQLite

/// Owns the order of waiting actions in each queue, in memory and on disk, written in batches.
///
/// An index over many queues is costly: each insert and delete writes another page of it. So actions are only
/// appended to `sluice_action_rows`. Those after the counter `ordered` have their order in memory only
/// (``Lane``), rebuilt from the rows at the start. When they are many, the oldest get their places in
/// `sluice_order_rows`, thousands at a time and sorted; an action settled before never has one. The place of
/// an action settled later is left over. It is skipped, and deleted in a batch.
///
/// Each place is checked against the action's row, since it may be left over or occur twice. So a roll-back
/// only puts back removed places, and a row changed by another connection counts as it is.
///
/// Confined to the writer's leader, like the transaction that it belongs to.
final class WaitingOrder {
    let connection: Connection
    let limits: WriteBehindLimits

    /// Whether this process runs the queues, and so needs their heads.
    private(set) var isFollowed = false { didSet { forget() } }
    /// Whether the newest actions were read since memory was last forgotten.
    private(set) var isLoaded = false
    @exclusivity(unchecked) var lanes: [QueueID: Lane] = [:]
    /// Queues whose lanes are read in passes.
    var passQueues: Set<QueueID> = []
    @exclusivity(unchecked) var running: [ActionID: OrderedRun] = [:]
    var leftovers: [(queue: QueueID, place: Place)] = []
    /// Exact depths of queues whose depth was asked for.
    private var depths: [QueueID: Int] = [:]

    /// The counter `ordered`; `nil` until it is read.
    private(set) var ordered: Int64?
    private(set) var newest: Int64 = 0
    private var newestBefore: Int64 = 0
    /// Whether memory was read in this transaction, and so may hold rows that a roll-back undoes.
    private var isOfTransaction = false
    /// Whether others' actions were read without reporting their queues.
    private var hasMissedNewcomers = false
    @exclusivity(unchecked) var undo: [OrderUndo] = []
    var orderedNext: Int64?
    var leftoversCleared = 0
    /// After a failure: the leftovers and the sequence that must be reached before the next try.
    var dueAgain: (leftovers: Int, action: Int64) = (0, 0)

    init(connection: Connection, limits: WriteBehindLimits) {
        (self.connection, self.limits) = (connection, limits)
    }

    func begin() { (newestBefore, isOfTransaction) = (newest, false) }

    func committed() {
        undo.removeAll(keepingCapacity: true)
        if leftoversCleared > 0 { leftovers.removeFirst(leftoversCleared) }
        leftoversCleared = 0
        guard let through = orderedNext else { return }
        (ordered, orderedNext) = (through, nil)
        forgetLanes(through: ActionID(rawValue: through))
    }

    func rolledBack() {
        (orderedNext, leftoversCleared) = (nil, 0)
        depths.removeAll()
        let hadNewcomers = newest > newestBefore
        // Places added stay: they name missing rows. Their sequences may be given again.
        newest = newestBefore
        while let step = undo.popLast() {
            switch step {
            case .untake(let queue, let place):
                running[place.action] = nil
                lane(of: queue).add(place)
            case .unpass(let queue, let place): lane(of: queue).add(place)
            case .resume(let run): running[run.place.action] = run
            }
        }
        if isOfTransaction {
            // The steps above have restored the running actions.
            reread()
            // Actions read again are not reported as new.
            if hadNewcomers { hasMissedNewcomers = true }
            return
        }
        forgetPasses()
        // A stretch may contain changes that are undone.
        for lane in lanes.values { lane.forget(through: ActionID(rawValue: ordered ?? 0)) }
    }

    private func forgetLanes(through last: ActionID) {
        for queue in Array(lanes.keys) {
            guard let lane = lanes[queue] else { continue }
            lane.forget(through: last)
            if lane.isForgettable { lanes[queue] = nil }
        }
    }

    func lane(of queue: QueueID) -> Lane {
        if let lane = lanes[queue] { return lane }
        let lane = Lane()
        lanes[queue] = lane
        return lane
    }

    func follow() { isFollowed = true }
    func unfollow() { isFollowed = false }
    var claims: Set<Int64> { Set(running.values.map(\.claim)) }

    /// Goes on with the runs of another order, whose connection was closed: their handlers run on.
    func continueRuns(of other: WaitingOrder) { running = other.running }

    /// Forgets the waiting actions, to be read again when they are needed.
    func reread() {
        let running = running
        forget()
        self.running = running
    }

    private func forget() {
        (isLoaded, lanes, passQueues, running) = (false, [:], [], [:])
        (undo, depths, ordered) = ([], [:], nil)
    }

    /// The queues of actions that others have added, and whether one of these is scheduled or expires.
    typealias Newcomers = (queues: [QueueID], actions: [ActionID], haveTimes: Bool)

    /// Reads the commits of another connection: the newest actions, and recorded changes of others.
    func takeIn(_ changes: [ForeignChange], isOfTransaction: Bool) throws(SQLiteError) -> Newcomers {
        if isOfTransaction { self.isOfTransaction = true }
        depths.removeAll()
        let known = ordered
        ordered = nil
        guard isFollowed else { return ([], [], false) }
        guard isLoaded else {
            // Of several new actions, only one is recorded.
            if !changes.isEmpty { hasMissedNewcomers = true }
            return ([], [], false)
        }
        outdatePasses(changes)
        for change in changes where !change.endsRun {
            guard let action = change.action, action.rawValue <= newest,
                let (queue, place) = try waitingPlace(of: action)
            else { continue }
            // It may have got another place.
            lane(of: queue).add(place)
        }
        let newcomers = try readNewest()
        // If another engine has written the order, the stretch read before may lack some actions.
        let through = try readOrdered()
        if through != known { forgetLanes(through: ActionID(rawValue: through)) }
        return newcomers
    }

    /// Returns once whether all queues with work must be polled, since those of new actions are unknown.
    func takeMissedNewcomers() -> Bool {
        defer { hasMissedNewcomers = false }
        return hasMissedNewcomers
    }

    /// Reads the newest actions, perhaps tens of thousands, before the write lock is taken.
    ///
    /// Commits after this snapshot are recorded for this process, and read when the transaction begins.
    func loadAhead() throws {
        guard isFollowed, !isLoaded else { return }
        try connection.snapshot { try load() }
    }

    func load() throws(SQLiteError) {
        guard !isLoaded else { return }
        isOfTransaction = true
        (lanes, passQueues, newest) = ([:], [], try readOrdered())
        // Sequences begin with 1. Lower ones, which no engine gives, are in no order.
        _ = try readNewest(from: .min, to: 0)
        _ = try readNewest()
        isLoaded = true
    }

    /// In a damaged file, an action with an invalid key has no place; the others of its queue continue.
    private func readNewest(from first: Int64? = nil, to end: Int64 = .max) throws(SQLiteError) -> Newcomers {
        guard let first = first ?? (newest < .max ? newest + 1 : nil) else { return ([], [], false) }
        let found = try connection.cached(
            """
            SELECT id, queue_id, sort_key, not_before_us IS NULL,
                   coalesce(not_before_us, expires_at_us) IS NOT NULL FROM sluice_action_rows
            WHERE id BETWEEN ?1 AND ?2 AND typeof(sort_key) NOT IN ('blob', 'null') ORDER BY id
            """
        ).bind(1, first).bind(2, end).all {
            (QueueID(rawValue: $0.int64(1)), Place($0, key: 2, action: 0), $0.bool(3), $0.bool(4))
        }
        for (queue, place, isPlaced, _) in found where isPlaced { lane(of: queue).add(place) }
        if let last = found.last { newest = max(newest, last.1.action.rawValue) }
        return (found.map(\.0), found.map(\.1.action), found.contains(where: \.3))
    }

    func readOrdered() throws(SQLiteError) -> Int64 {
        if let ordered { return ordered }
        // A value above the last sequence was not written by the engine: then no place on disk counts.
        let value = try connection.cached(
            """
            SELECT o.value FROM sluice_counters AS o JOIN sluice_counters AS n
            WHERE o.name = 'ordered' AND n.name = 'action' AND o.value BETWEEN 0 AND n.value
            """
        ).first { $0.int64(0) }
        ordered = value ?? 0
        return value ?? 0
    }

    /// Returns `nil` if the action is deleted or scheduled.
    func waitingPlace(of action: ActionID) throws(SQLiteError) -> (QueueID, Place)? {
        try connection.cached(
            "SELECT queue_id, sort_key FROM sluice_action_rows WHERE id = ?1 AND not_before_us IS NULL"
        ).bind(1, action.rawValue).first {
            (QueueID(rawValue: $0.int64(0)), Place(key: PlaceKey($0, 1), action: action))
        }
    }

    /// Adds the newest action of all, with its place or scheduled.
    func added(_ action: ActionID, key: PlaceKey, to queue: QueueID, isPlaced: Bool) {
        count(1, in: queue)
        guard isFollowed, isLoaded else { return }
        newest = action.rawValue
        if isPlaced { lane(of: queue).add(Place(key: key, action: action)) }
    }

    /// Places an action in a queue that was scheduled, in another queue or a dead letter.
    func placed(_ place: Place, in queue: QueueID) throws(SQLiteError) {
        if place.action.rawValue <= (try readOrdered()) {
            try connection.cached(
                "INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id) VALUES (?1, ?2, ?3)"
            ).bind(1, queue.rawValue).bind(2, place.key).bind(3, place.action.rawValue).run()
        }
        if isFollowed, isLoaded { lane(of: queue).add(place) }
    }

    /// Puts an action that ran back at its place, and returns the place; `nil` if it is deleted.
    @discardableResult
    func ended(_ action: ActionID) throws(SQLiteError) -> Place? {
        guard try end(action) != nil else { return nil }
        // A shell may have changed its place while it ran.
        guard let (queue, place) = try waitingPlace(of: action) else { return nil }
        if isFollowed, isLoaded { lane(of: queue).add(place) }
        return place
    }

    /// Ends a run whose claim was deleted from the file by any connection; its action may wait again.
    func lost(_ receipt: Receipt) throws(SQLiteError) {
        if running[receipt.action]?.claim == receipt.claim { try ended(receipt.action) }
    }

    /// Removes an action's place, before the action is deleted or moved, and returns it.
    @discardableResult
    func leaving(_ action: ActionID, of queue: QueueID) throws(SQLiteError) -> Place? {
        guard let (_, place) = try end(action) else { return nil }
        try leave(place, of: queue)
        return place
    }

    func count(_ change: Int, in queue: QueueID) { if !depths.isEmpty { depths[queue]? += change } }

    /// Returns the number of actions in a queue, running and scheduled ones included.
    func depth(of queue: QueueID) throws(SQLiteError) -> Int {
        if let depth = depths[queue] { return depth }
        let depth =
            try connection.cached("SELECT count(*) FROM sluice_action_facts WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { $0.int(0) } ?? 0
        if depths.count >= Self.depthLimit { depths.removeAll() }
        depths[queue] = depth
        return depth
    }

    private static let depthLimit = 65_536

    private func end(_ action: ActionID) throws(SQLiteError) -> (QueueID, Place)? {
        if let run = running.removeValue(forKey: action) {
            undo.append(.resume(run))
            return (run.queue, run.place)
        }
        return try waitingPlace(of: action)
    }

    func leave(_ place: Place, of queue: QueueID) throws(SQLiteError) {
        if place.action.rawValue <= (try readOrdered()) { leftovers.append((queue, place)) }
    }
}
