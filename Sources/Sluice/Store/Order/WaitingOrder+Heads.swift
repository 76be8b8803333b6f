internal import SluiceSQLite

extension WaitingOrder {
    /// Knows the places in memory and in the order on disk.
    func head(of queue: QueueID) throws(SQLiteError) -> Place? {
        try load()
        let lane = lane(of: queue)
        while true {
            switch lane.peek() {
            case .place(let place): return place
            case .none: return nil
            case .unknown: try extend(lane, of: queue)
            }
        }
    }

    private func extend(_ lane: Lane, of queue: QueueID) throws(SQLiteError) {
        let ((after, limit), isReversed) = (lane.extent, lane.isReversed)
        let statement: Statement
        if let after {
            statement = try connection.cached(isReversed ? Self.lastBefore : Self.firstBehind)
                .bind(3, after.key).bind(4, after.action.rawValue)
        } else {
            statement = try connection.cached(isReversed ? Self.last : Self.first)
        }
        let places = try statement.bind(1, queue.rawValue).bind(2, limit).all { Place($0, key: 0, action: 1) }
        lane.extend(places, limit: limit)
    }

    private static let first: StaticString = """
        SELECT sort_key, action_id FROM sluice_order_rows
        WHERE queue_id = ?1 ORDER BY sort_key, action_id LIMIT ?2
        """
    private static let firstBehind: StaticString = """
        SELECT sort_key, action_id FROM sluice_order_rows
        WHERE queue_id = ?1 AND (sort_key, action_id) > (?3, ?4) ORDER BY sort_key, action_id LIMIT ?2
        """
    private static let last: StaticString = """
        SELECT sort_key, action_id FROM sluice_order_rows
        WHERE queue_id = ?1 ORDER BY sort_key DESC, action_id DESC LIMIT ?2
        """
    private static let lastBefore: StaticString = """
        SELECT sort_key, action_id FROM sluice_order_rows
        WHERE queue_id = ?1 AND (sort_key, action_id) < (?3, ?4)
        ORDER BY sort_key DESC, action_id DESC LIMIT ?2
        """

    /// Removes the first place of a queue, since its action runs.
    func take(_ place: Place, for receipt: Receipt, by discipline: QueueDiscipline) {
        lanes[receipt.queue]?.removeFirst(place)
        undo.append(.untake(receipt.queue, place))
        running[place.action] = OrderedRun(
            queue: receipt.queue,
            place: place,
            claim: receipt.claim,
            discipline: discipline
        )
    }

    /// Removes the first place of a queue, since its action is deleted or has another place.
    ///
    /// A leftover must also be deleted on disk.
    func pass(_ place: Place, of queue: QueueID, isLeftover: Bool) throws(SQLiteError) {
        lanes[queue]?.removeFirst(place)
        undo.append(.unpass(queue, place))
        if isLeftover { try leave(place, of: queue) }
    }

    /// Forgets a waiting or empty queue that the file can restore.
    ///
    /// It keeps a paused pass, so that actions after the mark need no other pass.
    func release(_ queue: QueueID) {
        guard lanes[queue]?.isForgettable == true else { return }
        lanes[queue] = nil
        if !passQueues.isEmpty { passQueues.remove(queue) }
    }

    /// Removes from memory up to `limit` newest actions that sort after a place and are no newer than `last`.
    func takeNewest(
        of queue: QueueID,
        behind place: Place,
        isReversed: Bool,
        through last: ActionID,
        sparing spared: Set<ActionID>,
        limit: Int
    ) throws(SQLiteError) -> [Place] {
        try load()
        let places =
            lanes[queue]?.removeArrivals(
                behind: place,
                isReversed: isReversed,
                through: last,
                sparing: spared,
                limit: limit
            ) ?? []
        for place in places { undo.append(.unpass(queue, place)) }
        return places
    }

    /// Those first whose actions have waited longest, so that neighbouring rows are deleted together.
    func queuesOfNewest() throws(SQLiteError) -> [QueueID] {
        try load()
        return lanes.map { (queue: $0.key, first: $0.value.firstArrival?.rawValue ?? 0) }
            .sorted { $0.first < $1.first }.map(\.queue)
    }
}
