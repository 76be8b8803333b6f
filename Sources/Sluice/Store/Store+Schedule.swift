internal import SQLite

/// Actions that are scheduled for later, and take their place when they are due (G2).
extension Store {
    /// Gives the scheduled actions that are due their place in the order, and tells when the next is due.
    package func admitScheduled() async throws(SluiceError) -> Timestamp? {
        try await write(sync: .later) { try $0.admitScheduled() }
    }
}

/// What a transaction knows of the times of scheduled actions.
struct ScheduleMemory {
    /// No scheduled action is due before; `nil`: the file is to be asked.
    fileprivate var earliest: Timestamp?
    /// Actions that are due and whose rows cannot be written: they stay as they are, and are tried again.
    fileprivate var stuck: [ActionID: UnplacedAction] = [:]
    /// Others have added actions that are scheduled or end.
    var hasForeignTimes = false

    var unplaced: [UnplacedAction] { Array(stuck.values) }

    fileprivate mutating func add(_ time: Timestamp) {
        if let known = earliest { earliest = min(known, time) }
    }

    /// Others have written what may be scheduled.
    mutating func takeIn(_ newcomers: WaitingOrder.Newcomers) {
        earliest = nil
        hasForeignTimes = hasForeignTimes || newcomers.haveTimes
    }
}

extension WriteTransaction {
    /// The most scheduled actions that one transaction gives their place.
    private static let scheduleBatchSize = 1_000
    /// When the next one is due where there is none.
    private static let never = Timestamp(microseconds: .max)
    /// After what time those are tried again whose rows cannot be written.
    private static let stuckDelay: Duration = .seconds(1)

    func admitScheduled() throws(SQLiteError) -> Timestamp? {
        try noteAdmission()
        let leavesOpened = try putBackOpened()
        _ = try admit(.all)
        let next = try nextScheduled()
        schedule.earliest = next ?? Self.never
        if leavesOpened { return now }
        guard !schedule.stuck.isEmpty else { return next }
        // Of many the tries are to take no more than a part of the time.
        let delay = Self.stuckDelay * max(1, schedule.stuck.count / Self.scheduleBatchSize)
        return min(next ?? Self.never, now + delay)
    }

    /// Gives what is due in a queue its place before a head is claimed: the broker may not have looked at the
    /// schedule since, as when it was closed meanwhile.
    ///
    /// - Returns: Whether more may be due.
    func admitBeforeClaim(from queue: QueueID) throws(SQLiteError) -> Bool {
        if mutant("due before claim") { return false }
        if schedule.earliest == nil { schedule.earliest = try nextScheduled() ?? Self.never }
        guard let earliest = schedule.earliest, earliest <= now else { return false }
        let count = try admit(.queue(queue))
        if count > 0 { schedule.earliest = nil }
        return count >= Self.scheduleBatchSize
    }

    /// Whose actions are given their places.
    private enum Scope {
        case all
        case queue(QueueID)
    }

    /// What is due and has a key that an order knows.
    private static let due: StaticString = """
        SELECT id, queue_id FROM sluice_action_rows
        WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
        ORDER BY not_before_us LIMIT ?2
        """

    private static let dueOfQueue: StaticString = """
        SELECT id, queue_id FROM sluice_action_rows
        WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null') AND queue_id = ?3
        ORDER BY not_before_us LIMIT ?2
        """

    private static let admitDue: StaticString = """
        UPDATE sluice_action_rows SET not_before_us = NULL
        WHERE id IN (SELECT id FROM sluice_action_rows
                     WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                     ORDER BY not_before_us LIMIT ?2)
        RETURNING queue_id, sort_key, id
        """

    private static let admitDueOfQueue: StaticString = """
        UPDATE sluice_action_rows SET not_before_us = NULL
        WHERE id IN (SELECT id FROM sluice_action_rows
                     WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null') AND queue_id = ?3
                     ORDER BY not_before_us LIMIT ?2)
        RETURNING queue_id, sort_key, id
        """

    private static let admitOne: StaticString = """
        UPDATE sluice_action_rows SET not_before_us = NULL
        WHERE id = ?2 AND not_before_us <= ?1
        RETURNING queue_id, sort_key, id
        """

    /// Gives the first actions that are due their places.
    ///
    /// - Returns: How many have got one.
    private func admit(_ scope: Scope) throws(SQLiteError) -> Int {
        do {
            let count = try admit(statement(Self.admitDue, Self.admitDueOfQueue, scope, limit: 0))
            // Nothing is due any more: what was stuck has been mended, moved or removed.
            if case .all = scope, count < Self.scheduleBatchSize { schedule.stuck = [:] }
            return count
        } catch  where error.code.primary == .constraint {
            // One row cannot be written: it must not keep the others from being started (G9).
            return try admitOneByOne(scope)
        }
    }

    private func statement(
        _ all: StaticString,
        _ ofQueue: StaticString,
        _ scope: Scope,
        limit more: Int
    ) throws(SQLiteError) -> Statement {
        let limit = Self.scheduleBatchSize + more
        switch scope {
        case .all: return try connection.cached(all).bind(2, limit)
        case .queue(let queue): return try connection.cached(ofQueue).bind(2, limit).bind(3, queue.rawValue)
        }
    }

    /// Gives their places to the actions that a statement finds due.
    private func admit(_ update: Statement) throws(SQLiteError) -> Int {
        let due = try update.bind(1, now.microseconds).all {
            (
                queue: QueueID(rawValue: $0.int64(0)),
                place: Place(key: PlaceKey($0, 1), action: ActionID(rawValue: $0.int64(2)))
            )
        }
        for (queue, place) in due {
            schedule.stuck[place.action] = nil
            try restore(place, in: queue)
        }
        return due.count
    }

    private func admitOneByOne(_ scope: Scope) throws(SQLiteError) -> Int {
        let due = try statement(Self.due, Self.dueOfQueue, scope, limit: schedule.stuck.count)
            .bind(1, now.microseconds)
            .all { (action: ActionID(rawValue: $0.int64(0)), queue: QueueID(rawValue: $0.int64(1))) }
        if case .all = scope { schedule.stuck = [:] }
        var count = 0
        for (action, queue) in due {
            do {
                count += try admit(connection.cached(Self.admitOne).bind(2, action.rawValue))
            } catch  where error.code.primary == .constraint {
                schedule.stuck[action] = UnplacedAction(
                    action: action,
                    queue: queue,
                    error: SluiceError(wrapping: error, doing: "giving what is due its place")
                )
            }
        }
        return count
    }

    /// An action is scheduled for a time.
    func noteScheduled(at time: Timestamp) { schedule.add(time) }

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
        .bind(1, Self.whenOpened).bind(2, schedule.stuck.count + 1)
        .all { (time: Timestamp(microseconds: $0.int64(0)), action: ActionID(rawValue: $0.int64(1))) }
        .first { schedule.stuck[$0.action] == nil }?.time
    }
}
