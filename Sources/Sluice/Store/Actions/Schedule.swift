internal import SluiceSQLite

final class Schedule: TransactionSubject {
    let core: TransactionCore
    let blocks: QueueBlocks
    let groups: Groups
    fileprivate(set) var memory = ScheduleMemory()
    /// When the first action is due that this transaction has deferred.
    private var dueAt: Timestamp?
    /// When due actions were last given their places, by both clocks.
    var lastAdmission: (wall: Timestamp, uptime: Duration)?
    private var admissionBefore: (wall: Timestamp, uptime: Duration)??

    init(_ core: TransactionCore, _ blocks: QueueBlocks, _ groups: Groups) {
        self.core = core
        self.blocks = blocks
        self.groups = groups
    }

    func begin() { admissionBefore = .some(lastAdmission) }

    func committed() { admissionBefore = nil }

    func rolledBack() {
        if let admissionBefore { lastAdmission = admissionBefore }
        admissionBefore = nil
    }

    func forget() {
        memory = ScheduleMemory()
        dueAt = nil
    }

    /// The changes of others have been read: they may have scheduled actions and opened gates.
    func readChanges() throws(SQLiteError) {
        memory.forgetTimes()
        for opening in core.openings { try expectPutBack(for: opening.gate) }
    }

    /// Notes when an action is due.
    func expect(_ time: Timestamp) { dueAt = min(dueAt ?? time, time) }

    /// When the first action is due that was deferred; reported once.
    func takeDueTime() -> Timestamp? {
        defer { dueAt = nil }
        return dueAt
    }

    /// The most scheduled actions that one transaction gives their place.
    private static let scheduleBatchSize = 1_000
    /// When the next one is due where there is none.
    private static let never = Timestamp(microseconds: .max)
    /// After what time those are tried again whose rows cannot be written.
    private static let stuckDelay: Duration = .seconds(1)

    func admitScheduled() throws(SQLiteError) -> Timestamp? {
        try noteAdmission()
        _ = try admit(.all)
        // Behind that, which forgets what was stuck and tries it again.
        let leavesOpened = try putBackOpened()
        let next = try nextScheduled()
        memory.earliest = next ?? Self.never
        if leavesOpened { return now }
        guard !memory.stuck.isEmpty else { return next }
        // Of many the tries are to take no more than a part of the time.
        let delay = Self.stuckDelay * max(1, memory.stuck.count / Self.scheduleBatchSize)
        return min(next ?? Self.never, now + delay)
    }

    /// Gives what is due in a queue its place before a head is claimed: the broker may not have looked at the
    /// schedule since, as when it was closed meanwhile.
    ///
    /// - Returns: Whether more may be due.
    func admitBeforeClaim(from queue: QueueID) throws(SQLiteError) -> Bool {
        if mutant("due before claim") { return false }
        if memory.earliest == nil { memory.earliest = try nextScheduled() ?? Self.never }
        guard let earliest = memory.earliest, earliest <= now else { return false }
        let (placed, isAll) = try admit(.queue(queue))
        if !placed.isEmpty { memory.earliest = nil }
        return !isAll
    }

    /// Gives the actions of a queue that are due their place, the first of the order first: no broker may run
    /// to do so.
    ///
    /// - Returns: The last place that was given, if more may be due behind it.
    func admitInOrder(of queue: QueueID) throws(SQLiteError) -> Place? {
        let (placed, isAll) = try admit(.inOrder(of: queue))
        return isAll ? nil : placed.max()
    }

    /// Whose actions are given their places.
    private enum Scope {
        case all
        case queue(QueueID)
        /// Not those first that were due first, but those that run first.
        case inOrder(of: QueueID)

        var queue: QueueID? {
            switch self {
            case .all: nil
            case .queue(let queue), .inOrder(let queue): queue
            }
        }
    }

    /// An action that is due and has a key that an order knows.
    struct DueAction {
        let place: Place
        let queue: QueueID
        let time: Timestamp
    }

    private func due(_ scope: Scope, limit: Int) throws(SQLiteError) -> [DueAction] {
        let statement: Statement
        switch scope {
        case .all:
            statement = try connection.cached(
                """
                SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
                WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                ORDER BY not_before_us LIMIT ?2
                """
            )
        case .queue(let queue):
            statement = try connection.cached(
                """
                SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
                WHERE queue_id = ?3 AND not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                ORDER BY not_before_us LIMIT ?2
                """
            )
            .bind(3, queue.rawValue)
        case .inOrder(let queue):
            statement = try connection.cached(
                """
                SELECT sort_key, id, queue_id, not_before_us FROM sluice_action_rows
                WHERE queue_id = ?3 AND not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                ORDER BY sort_key, id LIMIT ?2
                """
            )
            .bind(3, queue.rawValue)
        }
        return try statement.bind(1, now.microseconds).bind(2, limit).all {
            DueAction(
                place: Place(key: PlaceKey($0, 0), action: ActionID(rawValue: $0.int64(1))),
                queue: QueueID(rawValue: $0.int64(2)),
                time: Timestamp(microseconds: $0.int64(3))
            )
        }
    }

    /// Gives the first actions that are due their places: a batch, behind as many as cannot be written.
    ///
    /// - Returns: The places that were given, and whether these are all that were due.
    private func admit(_ scope: Scope) throws(SQLiteError) -> (placed: [Place], isAll: Bool) {
        while true {
            let limit = Self.scheduleBatchSize + 2 * memory.stuck.count
            let due = try due(scope, limit: limit)
            let isAll = due.count < limit
            // What is not among all that are due has been mended, moved or removed.
            if isAll { memory.forgetStuck(of: scope.queue) }
            let placed = try admit(due)
            if isAll || !placed.isEmpty { return (placed, isAll) }
        }
    }

    /// Gives actions their places.
    ///
    /// A row that cannot be written stays as it is: it must not keep the others from being started (G9).
    ///
    /// - Returns: The places that were given.
    private func admit(_ due: [DueAction]) throws(SQLiteError) -> [Place] {
        var placed: [Place] = []
        for action in due where try placeIfWritable(action) { placed.append(action.place) }
        return placed
    }

    /// Gives an action its place; one whose row cannot be written stays as it is, and is tried again.
    ///
    /// - Returns: Whether it has its place.
    func placeIfWritable(_ due: DueAction) throws(SQLiteError) -> Bool {
        let action = due.place.action
        do {
            try place(due)
            memory.stuck[action] = nil
            return true
        } catch  where core.isOfRow(error) {
            let error = SluiceError(wrapping: error, doing: "giving what is due its place")
            memory.stuck[action] = UnplacedAction(action: action, queue: due.queue, error: error)
            return false
        }
    }

    /// Gives an action its place, or leaves it as it is.
    func place(_ due: DueAction) throws(SQLiteError) {
        try setTime(of: due.place.action, nil)
        do {
            try core.restore(due.place, in: due.queue)
        } catch {
            if connection.isInTransaction { try setTime(of: due.place.action, due.time) }
            throw error
        }
    }

    private func setTime(of action: ActionID, _ time: Timestamp?) throws(SQLiteError) {
        try connection.cached("UPDATE sluice_action_rows SET not_before_us = ?2 WHERE id = ?1")
            .bind(1, action.rawValue).bind(2, time?.microseconds).run()
    }

    /// An action is scheduled for a time.
    func noteScheduled(at time: Timestamp) { memory.add(time) }

    /// When the next scheduled action is due; what stands aside for a gate is not.
    private func nextScheduled() throws(SQLiteError) -> Timestamp? {
        // All but always the first.
        try connection.cached(
            """
            SELECT not_before_us, id FROM sluice_action_rows
            WHERE not_before_us < ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
            ORDER BY not_before_us LIMIT ?2
            """
        )
        .bind(1, Timestamp.whenOpened.microseconds).bind(2, memory.stuck.count + 1)
        .all { (time: Timestamp(microseconds: $0.int64(0)), action: ActionID(rawValue: $0.int64(1))) }
        .first { memory.stuck[$0.action] == nil }?.time
    }
}
