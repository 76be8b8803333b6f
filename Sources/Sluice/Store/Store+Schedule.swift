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
    /// Actions that are due and whose rows cannot be written, as in a damaged file: they stay as they are.
    fileprivate var stuck: Set<ActionID> = []
    /// Others have added actions that are scheduled or end.
    var hasForeignTimes = false

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

    func admitScheduled() throws(SQLiteError) -> Timestamp? {
        try noteAdmission()
        let leavesOpened = try putBackOpened()
        do {
            try admit(connection.cached(Self.admitDue).bind(2, Self.scheduleBatchSize))
        } catch  where error.code.primary == .constraint {
            // One row cannot be written: it must not keep the others from being started (G9).
            try admitOneByOne()
        }
        let next = try nextScheduled()
        schedule.earliest = next ?? Self.never
        return leavesOpened ? now : next
    }

    private static let admitDue: StaticString = """
        UPDATE sluice_action_rows SET not_before_us = NULL
        WHERE id IN (SELECT id FROM sluice_action_rows
                     WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
                     ORDER BY not_before_us LIMIT ?2)
        RETURNING queue_id, sort_key, id
        """

    /// Gives their places to the actions that a statement finds due.
    private func admit(_ update: Statement) throws(SQLiteError) {
        let due = try update.bind(1, now.microseconds).all {
            (
                queue: QueueID(rawValue: $0.int64(0)),
                place: Place(key: PlaceKey($0, 1), action: ActionID(rawValue: $0.int64(2)))
            )
        }
        for (queue, place) in due { try restore(place, in: queue) }
    }

    private func admitOneByOne() throws(SQLiteError) {
        let due = try connection.cached(
            """
            SELECT id FROM sluice_action_rows
            WHERE not_before_us <= ?1 AND typeof(sort_key) NOT IN ('blob', 'null')
            ORDER BY not_before_us LIMIT ?2
            """
        )
        .bind(1, now.microseconds).bind(2, Self.scheduleBatchSize + schedule.stuck.count)
        .all { ActionID(rawValue: $0.int64(0)) }
        for action in due where !schedule.stuck.contains(action) {
            do {
                try admit(
                    connection.cached(
                        """
                        UPDATE sluice_action_rows SET not_before_us = NULL
                        WHERE id = ?2 AND not_before_us <= ?1
                        RETURNING queue_id, sort_key, id
                        """
                    )
                    .bind(2, action.rawValue)
                )
            } catch  where error.code.primary == .constraint {
                schedule.stuck.insert(action)
            }
        }
    }

    /// Gives what is due in a queue its place before a head is claimed: the broker may not have looked at the
    /// schedule since, as when it was closed meanwhile.
    ///
    /// - Returns: Whether more may be due.
    func admitBeforeClaim(from queue: QueueID) throws(SQLiteError) -> Bool {
        if mutant("due before claim") { return false }
        if schedule.earliest == nil { schedule.earliest = try nextScheduled() ?? Self.never }
        guard let earliest = schedule.earliest, earliest <= now else { return false }
        let due = try connection.cached(
            """
            UPDATE sluice_action_rows SET not_before_us = NULL
            WHERE id IN (SELECT id FROM sluice_action_rows WHERE queue_id = ?1 AND not_before_us <= ?2
                         ORDER BY not_before_us LIMIT ?3)
            RETURNING sort_key, id
            """
        )
        .bind(1, queue.rawValue).bind(2, now.microseconds).bind(3, Self.scheduleBatchSize)
        .all { Place(key: PlaceKey($0, 0), action: ActionID(rawValue: $0.int64(1))) }
        for place in due { try restore(place, in: queue) }
        if !due.isEmpty { schedule.earliest = nil }
        return due.count == Self.scheduleBatchSize
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
        .first { !schedule.stuck.contains($0.action) }?.time
    }
}
