internal import SluiceSQLite

/// The order of what waits in each queue, written behind.
///
/// An index over all queues is what costs when there are many: each insert and each delete writes another
/// page of it. So actions are only appended to `sluice_action_rows`. Those after the counter `ordered` have
/// their order in memory alone (``Lane``), in the process that runs the queues, which rebuilds it from the
/// rows when it starts. When they have become many, the oldest get their places in `sluice_order_rows`,
/// thousands at a time and sorted; what was settled before has never been there. The places of what is
/// settled later are left over, pass as nothing, and are removed as many at a time.
///
/// Nothing here is believed without a look at the action's row: a place may be left over, or named twice.
/// So a transaction that is rolled back only gives back what it took away, and a row that another connection
/// has changed counts as it is.
///
/// Confined to the writer's leader, like the transaction that it belongs to.
final class WaitingOrder {
    let connection: Connection
    let limits: WriteBehindLimits

    /// Whether this process runs the queues, and so is asked for their heads.
    private(set) var isFollowed = false
    /// The newest actions have been read since memory was last forgotten.
    private(set) var isLoaded = false
    var lanes: [QueueID: Lane] = [:]
    /// Queues whose lanes are gone through in passes.
    var passQueues: Set<QueueID> = []
    /// The places of what runs, for when it ends.
    var running: [ActionID: Run] = [:]
    /// Places in the file whose actions are gone.
    var leftovers: [(queue: QueueID, place: Place)] = []
    /// Exact depths of queues that have been asked for one.
    private var depths: [QueueID: Int] = [:]

    /// The counter `ordered`; `nil` until it is read.
    private(set) var ordered: Int64?
    /// The newest action that memory has seen.
    private(set) var newest: Int64 = 0

    private var newestBefore: Int64 = 0
    /// Memory holds what a rollback undoes without a trace: it was read, or read anew, in this transaction.
    private var isOfTransaction = false
    /// Actions of others were read, or not, without their queues being told to who wakes them.
    private var hasMissedNewcomers = false
    var undo: [Undo] = []
    /// What `ordered` becomes with the commit.
    var orderedNext: Int64?
    /// How many of the leftovers go with the commit.
    var leftoversCleared = 0
    /// After a failure: what there must be until it is tried again.
    var dueAgain: (leftovers: Int, action: Int64) = (0, 0)

    struct Run {
        let queue: QueueID
        let place: Place
        let claim: Int64
        var discipline = QueueDiscipline.firstInFirstOut
    }

    /// What a rollback gives back.
    enum Undo {
        case untake(QueueID, Place)
        case unpass(QueueID, Place)
        case resume(Run)
    }

    init(connection: Connection, limits: WriteBehindLimits) {
        self.connection = connection
        self.limits = limits
    }
}

// MARK: - Transactions

extension WaitingOrder {
    func begin() {
        newestBefore = newest
        isOfTransaction = false
    }

    func committed() {
        undo.removeAll(keepingCapacity: true)
        if leftoversCleared > 0 {
            leftovers.removeFirst(leftoversCleared)
            leftoversCleared = 0
        }
        guard let through = orderedNext else { return }
        orderedNext = nil
        ordered = through
        forgetLanes(through: ActionID(rawValue: through))
    }

    func rolledBack() {
        orderedNext = nil
        leftoversCleared = 0
        depths.removeAll()
        let hadNewcomers = newest > newestBefore
        // What was added stays: it names rows that are not there. Their numbers may be given again.
        newest = newestBefore
        while let step = undo.popLast() {
            switch step {
            case .untake(let queue, let place):
                running[place.action] = nil
                lanes[queue, default: Lane()].add(place)
            case .unpass(let queue, let place):
                lanes[queue, default: Lane()].add(place)
            case .resume(let run):
                running[run.place.action] = run
            }
        }
        if isOfTransaction {
            // The steps above have put back what runs.
            reread()
            // What is read anew is nobody's news.
            if hadNewcomers { hasMissedNewcomers = true }
            return
        }
        forgetPasses()
        // A stretch may have been read from what is undone.
        for queue in Array(lanes.keys) { lanes[queue]?.forget(through: ActionID(rawValue: ordered ?? 0)) }
    }

    private func forgetLanes(through last: ActionID) {
        for queue in Array(lanes.keys) {
            guard let index = lanes.index(forKey: queue) else { continue }
            lanes.values[index].forget(through: last)
            if lanes.values[index].isForgettable { lanes.remove(at: index) }
        }
    }
}

// MARK: - Following the file

extension WaitingOrder {
    /// This process runs the queues from now on.
    func follow() {
        isFollowed = true
        forget()
    }

    /// It no longer does.
    func unfollow() {
        isFollowed = false
        forget()
    }

    /// The claims of what runs.
    var claims: Set<Int64> { Set(running.values.map(\.claim)) }

    /// What waits is read from the file when it is needed next.
    func reread() {
        let running = running
        forget()
        self.running = running
    }

    private func forget() {
        isLoaded = false
        lanes = [:]
        passQueues = []
        running = [:]
        undo = []
        depths = [:]
        ordered = nil
    }

    /// Takes in what another connection may have committed.
    ///
    /// - Parameters:
    ///   - changes: What was logged; the newest actions are read in any case.
    ///   - isOfTransaction: It was written in this very transaction.
    func takeIn(_ changes: [ForeignChange], isOfTransaction: Bool) throws(SQLiteError) -> Newcomers {
        if isOfTransaction { self.isOfTransaction = true }
        depths.removeAll()
        let known = ordered
        ordered = nil
        guard isFollowed else { return Newcomers() }
        guard isLoaded else {
            // Of several new actions one is told of.
            if !changes.isEmpty { hasMissedNewcomers = true }
            return Newcomers()
        }
        outdatePasses(changes)
        for change in changes where !change.endsRun {
            guard let action = change.action, action.rawValue <= newest,
                let (queue, place) = try waitingPlace(of: action)
            else { continue }
            // It may have got another place.
            lanes[queue, default: Lane()].add(place)
        }
        let newcomers = try readNewest()
        // Another engine has written order behind: those stand in the file now, and what was read of it
        // before may lack some.
        let through = try readOrdered()
        if through != known { forgetLanes(through: ActionID(rawValue: through)) }
        return newcomers
    }

    /// Whether every queue with work is to be looked at, since those of newcomers are not known.
    ///
    /// It tells so once.
    func takeMissedNewcomers() -> Bool {
        defer { hasMissedNewcomers = false }
        return hasMissedNewcomers
    }

    /// Actions that others have added.
    struct Newcomers {
        /// Of each, its queue.
        var queues: [QueueID] = []
        /// Whether one of them is scheduled or ends.
        var haveTimes = false
    }

    /// Reads the newest actions before the write lock is taken: they may be tens of thousands, and other
    /// processes write meanwhile.
    ///
    /// What others commit behind this snapshot has been logged for this process when the transaction begins.
    func loadAhead() throws {
        guard isFollowed, !isLoaded else { return }
        try connection.snapshot { try load() }
    }

    /// Reads the newest actions unless memory has them.
    func load() throws(SQLiteError) {
        guard !isLoaded else { return }
        isOfTransaction = true
        lanes = [:]
        passQueues = []
        newest = try readOrdered()
        // Numbers begin with 1. Those below, which no engine gives, are in nobody's order.
        _ = try readNewest(from: .min, through: 0)
        _ = try readNewest()
        isLoaded = true
    }

    /// Reads the actions that memory has not seen.
    ///
    /// One whose key no order knows, in a damaged file, has no place: the others of its queue go on.
    private func readNewest(
        from first: Int64? = nil,
        through last: Int64 = .max
    ) throws(SQLiteError) -> Newcomers {
        var newcomers = Newcomers()
        guard let first = first ?? (newest < .max ? newest + 1 : nil) else { return newcomers }
        let found = try connection.cached(
            """
            SELECT id, queue_id, sort_key, not_before_us IS NULL,
                   coalesce(not_before_us, expires_at_us) IS NOT NULL
            FROM sluice_action_rows
            WHERE id BETWEEN ?1 AND ?2 AND typeof(sort_key) NOT IN ('blob', 'null') ORDER BY id
            """
        )
        .bind(1, first).bind(2, last).all {
            (
                queue: QueueID(rawValue: $0.int64(1)),
                place: Place(key: PlaceKey($0, 2), action: ActionID(rawValue: $0.int64(0))),
                isPlaced: $0.bool(3), hasTime: $0.bool(4)
            )
        }
        for row in found {
            if row.isPlaced { lanes[row.queue, default: Lane()].add(row.place) }
            if row.hasTime { newcomers.haveTimes = true }
        }
        if let last = found.last { newest = max(newest, last.place.action.rawValue) }
        newcomers.queues = found.map(\.queue)
        return newcomers
    }

    func readOrdered() throws(SQLiteError) -> Int64 {
        if let ordered { return ordered }
        // One beyond the numbers that were given is none of the engine's: then no place in the file counts.
        let value = try connection.cached(
            """
            SELECT o.value FROM sluice_counters AS o JOIN sluice_counters AS n
            WHERE o.name = 'ordered' AND n.name = 'action' AND o.value BETWEEN 0 AND n.value
            """
        )
        .first { $0.int64(0) }
        ordered = value ?? 0
        return value ?? 0
    }

    /// The queue and place of an action, unless it is gone or scheduled for later.
    func waitingPlace(of action: ActionID) throws(SQLiteError) -> (QueueID, Place)? {
        try connection.cached(
            "SELECT queue_id, sort_key FROM sluice_action_rows WHERE id = ?1 AND not_before_us IS NULL"
        )
        .bind(1, action.rawValue).first {
            (QueueID(rawValue: $0.int64(0)), Place(key: PlaceKey($0, 1), action: action))
        }
    }
}

// MARK: - Changes

extension WaitingOrder {
    /// A new action, the newest of all, has its place at once, or is scheduled for later.
    func added(_ action: ActionID, key: PlaceKey, to queue: QueueID, isPlaced: Bool) {
        depths[queue]? += 1
        guard isFollowed, isLoaded else { return }
        newest = action.rawValue
        if isPlaced { lanes[queue, default: Lane()].add(Place(key: key, action: action)) }
    }

    /// An action that was stored before has got its place in a queue: it was scheduled, elsewhere or dead.
    func placed(_ place: Place, in queue: QueueID) throws(SQLiteError) {
        if place.action.rawValue <= (try readOrdered()) {
            try connection.cached(
                "INSERT OR IGNORE INTO sluice_order_rows (queue_id, sort_key, action_id) VALUES (?1, ?2, ?3)"
            )
            .bind(1, queue.rawValue).bind(2, place.key).bind(3, place.action.rawValue).run()
        }
        if isFollowed, isLoaded { lanes[queue, default: Lane()].add(place) }
    }

    /// An action that ran waits again, at its place.
    ///
    /// - Returns: Its place; `nil` when it is gone.
    @discardableResult
    func ended(_ action: ActionID) throws(SQLiteError) -> Place? {
        guard try end(action) != nil else { return nil }
        // A shell may have given it another place while it ran.
        guard let (queue, place) = try waitingPlace(of: action) else { return nil }
        if isFollowed, isLoaded { lanes[queue, default: Lane()].add(place) }
        return place
    }

    /// The claim of a run has gone from the file, whoever took it: its action may wait again.
    func lost(_ receipt: Receipt) throws(SQLiteError) {
        if running[receipt.action]?.claim == receipt.claim { try ended(receipt.action) }
    }

    /// An action is about to be removed, or to lose its place.
    ///
    /// - Returns: The place; `nil` when it has none.
    @discardableResult
    func leaving(_ action: ActionID, of queue: QueueID) throws(SQLiteError) -> Place? {
        guard let (_, place) = try end(action) else { return nil }
        try leave(place, of: queue)
        return place
    }

    /// Counts actions that have come to a queue or gone from it.
    func count(_ change: Int, in queue: QueueID) {
        depths[queue]? += change
    }

    /// How many actions a queue has, those that run or are scheduled included.
    func depth(of queue: QueueID) throws(SQLiteError) -> Int {
        if let depth = depths[queue] { return depth }
        let depth =
            try connection.cached("SELECT count(*) FROM sluice_action_facts WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { $0.int(0) } ?? 0
        if depths.count >= Self.depthLimit { depths.removeAll() }
        depths[queue] = depth
        return depth
    }

    /// The most depths that are kept.
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
