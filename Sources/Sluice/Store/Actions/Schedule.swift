internal import SluiceSQLite

/// Owns the times of scheduled and deferred actions, and gives due actions their places in the order.
final class Schedule: TransactionSubject {
    let core: TransactionCore
    let blocks: QueueBlocks
    let groups: Groups
    private(set) var memory = Memory()
    /// The earliest time to which this transaction has deferred an action.
    private var dueAt: Timestamp?
    /// When due actions last got their places.
    var lastAdmission: Admission?
    /// The same at the last commit.
    private var committedAdmission: Admission?

    /// A time by both clocks.
    struct Admission {
        let wall: Timestamp
        let uptime: Duration
        /// Whether the file was opened again since.
        var isOfEarlierOpening = false
    }

    struct Memory {
        /// A time before which no scheduled action is due; `nil` if the file must be read.
        var earliest: Timestamp?
        /// Due actions whose rows cannot be written; they stay as they are, and are tried again.
        var stuck: [ActionID: UnplacedAction] = [:]
        var unplaced: [UnplacedAction] { Array(stuck.values) }
    }

    init(_ core: TransactionCore, _ blocks: QueueBlocks, _ groups: Groups) {
        (self.core, self.blocks, self.groups) = (core, blocks, groups)
    }

    func committed() { committedAdmission = lastAdmission }
    func rolledBack() { lastAdmission = committedAdmission }

    /// Goes on after the file was opened again: what the wall clock has lost in between counts (G8).
    func resume(_ other: Schedule) {
        if !mutant("clock before a reopening") { committedAdmission = other.committedAdmission }
        committedAdmission?.isOfEarlierOpening = true
        lastAdmission = committedAdmission
    }

    func forget() {
        memory = Memory()
        dueAt = nil
    }

    /// Forgets known times and expects opened gates, since other connections' changes were read.
    func readChanges() throws(SQLiteError) {
        memory.earliest = nil
        for opening in core.openings { try expectOpening(for: opening.gate) }
    }

    func expect(_ time: Timestamp) { dueAt = min(dueAt ?? time, time) }

    /// Returns the earliest time at which a deferred action is due, once.
    func takeDueTime() -> Timestamp? {
        defer { dueAt = nil }
        return dueAt
    }

    /// The most scheduled actions that one transaction gives their places.
    private static let scheduleBatchSize = 1_000
    /// The time of the next scheduled action if there is none.
    private static let never = Timestamp(microseconds: .max)
    /// The interval between tries of actions whose rows cannot be written.
    private static let stuckDelay: Duration = .seconds(1)

    func admitScheduled() throws(SQLiteError) -> Timestamp? {
        try noteAdmission()
        _ = try admit(nil)
        // After `admit`, which forgets the stuck actions and tries them again.
        let leavesOpened = try placeOpened()
        let next = try nextScheduled()
        memory.earliest = next ?? Self.never
        if leavesOpened { return now }
        guard !memory.stuck.isEmpty else { return next }
        // If many are stuck, the tries must use only a part of the time.
        let delay = Self.stuckDelay * max(1, memory.stuck.count / Self.scheduleBatchSize)
        return min(next ?? Self.never, now + delay)
    }

    /// Places the due actions of a queue before a head is claimed; returns whether more may be due.
    ///
    /// The broker may not have read the schedule recently, for example if it was closed.
    func admitBeforeClaim(from queue: QueueID) throws(SQLiteError) -> Bool {
        if mutant("due before claim") { return false }
        if memory.earliest == nil { memory.earliest = try nextScheduled() ?? Self.never }
        guard let earliest = memory.earliest, earliest <= now else { return false }
        let (placed, isAll) = try admit(queue)
        if !placed.isEmpty { memory.earliest = nil }
        return !isAll
    }

    /// Places the due actions of a queue, in its order: there may be no running broker to do so.
    ///
    /// Returns the last place that was given, if more may be due after it.
    func admitInOrder(of queue: QueueID) throws(SQLiteError) -> Place? {
        let (placed, isAll) = try admit(queue, isInOrder: true)
        return isAll ? nil : placed.max()
    }

    /// A due action whose key is valid in an order.
    struct DueAction {
        let place: Place
        let queue: QueueID
        let time: Timestamp

        /// Reads `sort_key, id, queue_id, not_before_us`.
        init(_ row: Row) {
            place = Place(key: PlaceKey(row, 0), action: ActionID(rawValue: row.int64(1)))
            (queue, time) = (QueueID(rawValue: row.int64(2)), Timestamp(microseconds: row.int64(3)))
        }
    }

    /// Returns due actions, of one queue or of all: in the order of the queue, or of the due times.
    private func due(_ queue: QueueID?, isInOrder: Bool, limit: Int) throws(SQLiteError) -> [DueAction] {
        let ofAll: StaticString = """
            SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
            WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
            ORDER BY not_before_us LIMIT ?2
            """
        let ofQueue: StaticString = """
            SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
            WHERE queue_id = ?3 AND not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
            ORDER BY not_before_us LIMIT ?2
            """
        let inOrder: StaticString = """
            SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
            WHERE queue_id = ?3 AND not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
            ORDER BY sort_key, id LIMIT ?2
            """
        let statement = try connection.cached(queue == nil ? ofAll : isInOrder ? inOrder : ofQueue)
        if let queue { try statement.bind(3, queue.rawValue) }
        return try statement.bind(1, now.microseconds).bind(2, limit).all(DueAction.init)
    }

    /// Places a batch of the first due actions; returns their places, and whether these were all due ones.
    ///
    /// Actions that cannot be written do not count for the size of the batch.
    private func admit(
        _ queue: QueueID?,
        isInOrder: Bool = false
    ) throws(SQLiteError) -> (placed: [Place], isAll: Bool) {
        while true {
            let limit = Self.scheduleBatchSize + 2 * memory.stuck.count
            let due = try due(queue, isInOrder: isInOrder, limit: limit)
            let isAll = due.count < limit
            // Stuck actions that are not due any more were mended, moved or removed.
            if isAll { memory.stuck = memory.stuck.filter { queue != nil && $0.value.queue != queue } }
            var placed: [Place] = []
            for action in due where try placeIfWritable(action) {
                placed.append(action.place)
                try core.events.record(.changed, action.place.action, in: action.queue)
            }
            if isAll || !placed.isEmpty { return (placed, isAll) }
        }
    }

    /// Places an action, and returns whether its row could be written; if not, it holds up no others (G9).
    func placeIfWritable(_ due: DueAction) throws(SQLiteError) -> Bool {
        let action = due.place.action
        do {
            try place(due)
            memory.stuck[action] = nil
            return true
        } catch  where core.isOfRow(error) {
            let error = SluiceError(wrapping: error, doing: "giving due actions their places")
            memory.stuck[action] = UnplacedAction(action: action, queue: due.queue, error: error)
            return false
        }
    }

    func place(_ due: DueAction) throws(SQLiteError) {
        try setTime(of: due.place.action, nil)
        do {
            try core.restore(due.place, in: due.queue)
        } catch {
            if connection.isInTransaction { try setTime(of: due.place.action, due.time) }
            throw error
        }
    }

    func setTime(of action: ActionID, _ time: Timestamp?) throws(SQLiteError) {
        try run("UPDATE sluice_action_rows SET not_before_us = ?2 WHERE id = ?1", action, time?.microseconds)
    }

    func noteScheduled(at time: Timestamp) {
        if let known = memory.earliest { memory.earliest = min(known, time) }
    }

    /// Returns when the next scheduled action is due; an action deferred for a gate does not count.
    private func nextScheduled() throws(SQLiteError) -> Timestamp? {
        // Almost always the first row.
        try connection.cached(
            """
            SELECT not_before_us, id FROM sluice_action_rows
            WHERE not_before_us < ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
            ORDER BY not_before_us LIMIT ?2
            """
        ).bind(1, Timestamp.whenOpened.microseconds).bind(2, memory.stuck.count + 1)
            .all { (time: Timestamp(microseconds: $0.int64(0)), action: ActionID(rawValue: $0.int64(1))) }
            .first { memory.stuck[$0.action] == nil }?.time
    }
}
