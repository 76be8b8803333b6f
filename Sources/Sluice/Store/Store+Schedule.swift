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
        let count = try admit(.queue(queue)).count
        if count > 0 { schedule.earliest = nil }
        return count >= Self.scheduleBatchSize
    }

    /// Gives the actions of a queue that are due their place, the first of the order first: no broker may run
    /// to do so.
    ///
    /// - Returns: The last place that was given, if more may be due behind it.
    func admitInOrder(of queue: QueueID) throws(SQLiteError) -> Place? {
        let placed = try admit(.inOrder(of: queue))
        return placed.count < Self.scheduleBatchSize ? nil : placed.max()
    }

    /// Whose actions are given their places.
    private enum Scope {
        case all
        case queue(QueueID)
        /// Not those first that were due first, but those that run first.
        case inOrder(of: QueueID)
    }

    /// What is due and has a key that an order knows: a batch, and as many as cannot be written.
    private func due(_ scope: Scope) throws(SQLiteError) -> [(queue: QueueID, place: Place)] {
        let statement: Statement
        switch scope {
        case .all:
            statement = try connection.cached(
                """
                SELECT queue_id, sort_key, id FROM sluice_action_rows
                WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                ORDER BY not_before_us LIMIT ?2
                """
            )
        case .queue(let queue):
            statement = try connection.cached(
                """
                SELECT queue_id, sort_key, id FROM sluice_action_rows
                WHERE queue_id = ?3 AND not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                ORDER BY not_before_us LIMIT ?2
                """
            )
            .bind(3, queue.rawValue)
        case .inOrder(let queue):
            statement = try connection.cached(
                """
                SELECT queue_id, sort_key, id FROM sluice_action_rows
                WHERE queue_id = ?3 AND not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                ORDER BY sort_key, id LIMIT ?2
                """
            )
            .bind(3, queue.rawValue)
        }
        let limit = Self.scheduleBatchSize + schedule.stuck.count
        return try statement.bind(1, now.microseconds).bind(2, limit).all {
            (
                queue: QueueID(rawValue: $0.int64(0)),
                place: Place(key: PlaceKey($0, 1), action: ActionID(rawValue: $0.int64(2)))
            )
        }
    }

    /// Gives the first actions that are due their places.
    ///
    /// A row that cannot be written stays as it is: it must not keep the others from being started (G9).
    ///
    /// - Returns: The places that were given.
    private func admit(_ scope: Scope) throws(SQLiteError) -> [Place] {
        let due = try due(scope)
        // What is not among all that are due has been mended, moved or removed.
        if case .all = scope { schedule.stuck = [:] }
        var placed: [Place] = []
        for (queue, place) in due {
            do {
                try connection.cached("UPDATE sluice_action_rows SET not_before_us = NULL WHERE id = ?1")
                    .bind(1, place.action.rawValue).run()
                schedule.stuck[place.action] = nil
            } catch  where error.code.primary == .constraint {
                schedule.stuck[place.action] = UnplacedAction(
                    action: place.action,
                    queue: queue,
                    error: SluiceError(wrapping: error, doing: "giving what is due its place")
                )
                continue
            }
            try restore(place, in: queue)
            placed.append(place)
        }
        return placed
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
