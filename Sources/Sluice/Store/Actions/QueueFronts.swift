internal import SluiceSQLite

/// Finds the next action of a queue to start, and pages through the queues with work.
final class QueueFronts: TransactionSubject {
    let core: TransactionCore
    let schedule: Schedule

    init(_ core: TransactionCore, _ schedule: Schedule) { (self.core, self.schedule) = (core, schedule) }

    /// Returns the epochs whose claims are valid; actions claimed by a dead process do not run.
    func livingClaims() throws(SQLiteError) -> String {
        RunnerRow.epochs(try RunnerRow.living(connection, own: core.nonce, seenFrom: core.identity, at: now))
    }

    /// A walk along the order of a queue that skips actions running in other processes.
    struct Walk {
        /// How many places may still be read.
        var budget: Int
        /// The epochs whose claims are valid.
        let living: String
        let discipline: QueueDiscipline
        /// Places removed from the order in memory, to be put back.
        var passed: [Place] = []
    }

    /// Returns the first place in a queue whose action waits, of placed actions and of those due.
    ///
    /// - Parameter admitted: The last place given to a due action; `nil` if all due actions have places.
    func firstWaiting(
        of queue: QueueID,
        _ walk: inout Walk,
        _ admitted: inout Place?
    ) throws(SQLiteError) -> Place? {
        while true {
            let first = try firstWaiting(of: queue, &walk)
            guard let last = admitted, walk.budget > 0 else { return first }
            // Only in order do due actions after the last placed one certainly not sort before this one.
            let isInOrder = walk.discipline.slots > 1 || walk.discipline == .firstInFirstOut
            if isInOrder, let first, first <= last { return first }
            admitted = try schedule.admitInOrder(of: queue)
        }
    }

    /// Returns the first place in a queue by its discipline, or the first of the next pass.
    private func head(of queue: QueueID, by discipline: QueueDiscipline) throws(SQLiteError) -> Place? {
        let place = try order.head(of: queue, by: discipline)
        guard place == nil, discipline == .passOver else { return place }
        return try order.head(of: queue, by: .firstInFirstOut)
    }

    /// Returns the place of the waiting action that starts next, and keeps it in the order.
    func nextPlace(of queue: QueueID, by discipline: QueueDiscipline) throws(SQLiteError) -> Place? {
        var walk = Walk(budget: .max, living: try livingClaims(), discipline: discipline)
        let next = try firstWaiting(of: queue, &walk)
        try putDown(walk, in: queue)
        return next
    }

    /// Returns the first place whose action waits, and keeps it; `nil` if the walk's budget is used up.
    private func firstWaiting(of queue: QueueID, _ walk: inout Walk) throws(SQLiteError) -> Place? {
        // Memory then knows the order until another connection commits or a broker begins to run here.
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
                ).bind(1, place.action.rawValue).bind(2, queue.rawValue).bind(3, walk.living)
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

    /// Ends a walk: puts the passed places back into the order.
    func putDown(_ walk: Walk, in queue: QueueID) throws(SQLiteError) {
        for place in walk.passed { try order.placed(place, in: queue) }
    }

    /// Returns the discipline set in code, or else that of the last process that ran the queue.
    func discipline(of queue: QueueID, said: QueueDiscipline?) throws(SQLiteError) -> QueueDiscipline {
        if let said { return said }
        return try QueueDiscipline.noted(of: queue, on: connection)
    }

    /// Returns the key that makes an action the next to start: its own, if it is next already.
    ///
    /// A pass through the queue restarts, so that the first action is next.
    func frontKey(
        of own: Place,
        in queue: QueueID,
        by discipline: QueueDiscipline
    ) throws(SQLiteError) -> Result<PlaceKey, SluiceError> {
        guard let next = try nextPlace(of: queue, by: discipline), next != own, !mutant("front") else {
            return .success(own.key)
        }
        if discipline == .lastInFirstOut {
            if next < own { return .success(own.key) }
            if let key = PlaceKey.behind(next, for: own.action, try sortKind(of: queue)) {
                return .success(key)
            }
            let text =
                "no sort key is greater than that of action \(next.action), the last of its queue, "
                + "which is last in, first out"
            return .failure(SluiceError(.noSmallerSortKey, text))
        }
        if discipline == .passOver { try order.restartPass(of: queue) }
        guard let first = try nextPlace(of: queue, by: .firstInFirstOut), first < own else {
            return .success(own.key)
        }
        if let key = PlaceKey.inFront(of: first, for: own.action, try sortKind(of: queue)) {
            return .success(key)
        }
        let text = "no sort key is smaller than that of action \(first.action), the first of its queue"
        return .failure(SluiceError(.noSmallerSortKey, text))
    }

    private func sortKind(of queue: QueueID) throws(SQLiteError) -> SortKey.Kind {
        try connection.cached("SELECT sort_type FROM sluice_queue_rows WHERE queue_id = ?1")
            .bind(1, queue.rawValue).first { SortKey.Kind(rawValue: $0.text(0)) ?? .arrival } ?? .arrival
    }

    func queuesWithWork(_ page: WorkPage) throws(SQLiteError) -> (queues: [QueueID], next: WorkPage?) {
        guard case .ordered(let last, let limit) = page else {
            return (try order.queuesOfNewest(), .ordered(after: QueueID(rawValue: .min), limit: page.limit))
        }
        // One step down the order for each queue, however many actions it holds.
        let query: StaticString = """
            WITH RECURSIVE busy (queue_id) AS (
                SELECT (SELECT min(queue_id) FROM sluice_order_rows WHERE queue_id > ?1)
                UNION ALL
                SELECT (SELECT min(queue_id) FROM sluice_order_rows WHERE queue_id > busy.queue_id)
                FROM busy WHERE busy.queue_id IS NOT NULL
                LIMIT ?2
            )
            SELECT queue_id,
                   (SELECT blocked_by FROM sluice_queue_rows AS q WHERE q.queue_id = busy.queue_id)
                   IN ('failed', 'exhausted', 'expired', 'crashed', 'undecodable')
            FROM busy WHERE queue_id IS NOT NULL
            """
        let found = try connection.cached(query).bind(1, last.rawValue).bind(2, limit)
            .all { (queue: QueueID(rawValue: $0.int64(0)), isParked: !$0.isNull(1) && $0.bool(1)) }
        let queues = found.filter { !$0.isParked }.map(\.queue)
        // In a damaged file, a value that is not a number reads as an id already seen: the walk ends.
        guard let end = found.last?.queue, end > last else { return (queues, nil) }
        return (queues, .ordered(after: end, limit: limit))
    }
}

extension QueueDiscipline {
    /// Reads the discipline of a queue as the file records it.
    static func noted(of queue: QueueID, on connection: Connection) throws(SQLiteError) -> QueueDiscipline {
        let noted = try connection.cached(
            """
            SELECT is_reversed, EXISTS (SELECT 1 FROM sluice_pass_rows WHERE queue_id = ?1)
            FROM sluice_queue_rows WHERE queue_id = ?1
            """
        ).bind(1, queue.rawValue).first { (isReversed: $0.bool(0), isInPass: $0.bool(1)) }
        guard let noted else { return .firstInFirstOut }
        return noted.isReversed ? .lastInFirstOut : noted.isInPass ? .passOver : .firstInFirstOut
    }
}
