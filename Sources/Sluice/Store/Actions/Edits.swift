internal import SluiceSQLite

/// Owns the changes of stored actions: moves, edits and new times.
final class Edits: TransactionSubject {
    let core: TransactionCore
    let queueRows: QueueRows
    let schedule: Schedule
    let groups: Groups
    let keys: DeduplicationKeys
    let blocks: QueueBlocks
    let fronts: QueueFronts
    let expiry: Expiry

    init(
        _ core: TransactionCore,
        _ queueRows: QueueRows,
        _ schedule: Schedule,
        _ groups: Groups,
        _ keys: DeduplicationKeys,
        _ blocks: QueueBlocks,
        _ fronts: QueueFronts,
        _ expiry: Expiry
    ) {
        (self.core, self.queueRows, self.schedule, self.groups) = (core, queueRows, schedule, groups)
        (self.keys, self.blocks, self.fronts) = (keys, blocks, fronts)
        self.expiry = expiry
    }

    private struct Standing {
        let queue: QueueID
        let name: QueueName
        let sortKind: SortKey.Kind
        let place: Place
        let isScheduled: Bool
        let isRunning: Bool

        init(_ row: Row, of action: ActionID) {
            (queue, name) = (QueueID(rawValue: row.int64(0)), QueueName(row.text(1)))
            sortKind = SortKey.Kind(rawValue: row.text(2)) ?? .arrival
            place = Place(key: PlaceKey(row, 3), action: action)
            (isScheduled, isRunning) = (row.bool(4), row.bool(5))
        }
    }

    private func standing(of action: ActionID) throws(SQLiteError) -> Standing? {
        let query: StaticString = """
            SELECT a.queue_id, q.name, q.sort_type, a.sort_key, a.not_before_us IS NOT NULL,
                   EXISTS (SELECT 1 FROM sluice_claim_rows WHERE queue_id = a.queue_id AND action_id = a.id)
            FROM sluice_action_rows AS a JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            WHERE a.id = ?1
            """
        return try connection.cached(query).bind(1, action.rawValue).first { Standing($0, of: action) }
    }

    func move(
        _ action: ActionID,
        to name: QueueName,
        _ options: QueueOptions?
    ) throws -> Result<ActionChange, SluiceError> {
        guard let standing = try standing(of: action) else { return .success(.missing) }
        if standing.name == name {
            try forgetMove(of: action)
            return .success(.done)
        }
        if let kind = options?.sortKey, kind != standing.sortKind {
            let text =
                "the queue '\(name)' is ordered by \(kind), as its options say; the action's key is "
                + "\(standing.sortKind): move it to a queue of its own type of key"
            return .failure(SluiceError(.sortKeyMismatch, text))
        }
        if let depthLimit = options?.maximumDepth, let target = try core.knownQueue(named: name),
            try order.depth(of: target.id) >= depthLimit
        {
            return .failure(core.full(name, depthLimit))
        }
        let isFixed = options?.sortKey != nil
        let target = try queueRows.queue(named: name, sorting: standing.sortKind, isFixed: isFixed)
        guard standing.isRunning else {
            if !mutant("move") { try relocate(action, from: standing.queue, to: target) }
            return .success(.done)
        }
        let insert: StaticString = """
            INSERT INTO sluice_state_rows (action_id, moves_to_queue_id) VALUES (?1, ?2)
            ON CONFLICT (action_id) DO UPDATE SET moves_to_queue_id = excluded.moves_to_queue_id
            """
        try connection.cached(insert).bind(1, action.rawValue).bind(2, target.rawValue).run()
        return .success(.deferred)
    }

    /// Drops the move that was requested for the end of an attempt.
    func forgetMove(of action: ActionID) throws(SQLiteError) {
        try run("UPDATE sluice_state_rows SET moves_to_queue_id = NULL WHERE action_id = ?1", action)
    }

    /// Moves an action that does not run to another queue; a scheduled action remains scheduled.
    func relocate(_ action: ActionID, from queue: QueueID, to target: QueueID) throws(SQLiteError) {
        // A deferred action has no place. If the target's discipline defers, it is deferred again later.
        try schedule.endDeferral(action)
        let place = try order.leaving(action, of: queue)
        let name = try core.events.isOn ? core.events.queueName(target) : nil
        try core.events.record(.moved, action, in: queue) { $0.target = name }
        try run("UPDATE sluice_action_rows SET queue_id = ?2 WHERE id = ?1", action, target.rawValue)
        try groups.moveGroups(of: action, to: target)
        order.count(-1, in: queue)
        order.count(1, in: target)
        try keys.moveKey(of: action, to: target)
        try blocks.noteArrival(action, to: target)
        try blocks.liftBlock(of: action, in: queue)
        core.touch(queue)
        if let place { try core.restore(place, in: target) } else { core.touch(target) }
    }

    func moveToFront(
        _ action: ActionID,
        by queues: QueueTable
    ) throws(SQLiteError) -> Result<ActionChange, SluiceError> {
        guard let standing = try standing(of: action) else { return .success(.missing) }
        guard !standing.isRunning else { return .success(.running) }
        let said = queues.saidDiscipline(of: standing.name)
        let discipline = try fronts.discipline(of: standing.queue, said: said)
        let front = try fronts.frontKey(of: standing.place, in: standing.queue, by: discipline)
        guard case .success(let key) = front else { return front.map { _ in .done } }
        if standing.isScheduled || key != standing.place.key {
            try order.leaving(action, of: standing.queue)
            try connection.cached(
                "UPDATE sluice_action_rows SET sort_key = ?2, not_before_us = NULL WHERE id = ?1"
            ).bind(1, action.rawValue).bind(2, key).run()
            try core.restore(Place(key: key, action: action), in: standing.queue)
            try core.events.record(.edited, action, in: standing.queue)
        }
        return .success(.done)
    }

    func kind(of action: ActionID) throws(SQLiteError) -> (String, version: Int)? {
        try connection.cached("SELECT kind, version FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).first { ($0.text(0), $0.int(1)) }
    }

    @discardableResult
    func edit(
        _ action: ActionID,
        kind: String?,
        payload: String,
        version: Int?,
        replacing old: String? = nil,
        ifRunning: EditWhileRunning = .forNextAttempt
    ) throws(SQLiteError) -> ActionChange {
        guard let standing = try standing(of: action) else { return .missing }
        if let old, try !has(action, payload: old) { return .conflict }
        if standing.isRunning {
            if ifRunning == .refuse { return .running }
            try connection.cached(Self.noteEditWhileRunning).bind(1, action.rawValue).run()
        }
        try connection.cached(
            """
            UPDATE sluice_action_rows
            SET kind = coalesce(?2, kind), payload = ?3, version = coalesce(?4, version) WHERE id = ?1
            """
        ).bind(1, action.rawValue).bind(2, kind).bind(3, payload).bind(4, version.map(Int64.init)).run()
        // An edit lifts the parking of an action that could not run as it was.
        if let reason = try blocks.reason(of: action, in: standing.queue),
            reason == .undecodable || reason.isOfRoute
        {
            try blocks.unblock(standing.queue)
        }
        core.touch(action, in: standing.queue)
        try core.events.record(.edited, action, in: standing.queue)
        return standing.isRunning ? .deferred : .done
    }

    private func has(_ action: ActionID, payload: String) throws(SQLiteError) -> Bool {
        try connection.cached("SELECT payload = ?2 FROM sluice_action_rows WHERE id = ?1")
            .bind(1, action.rawValue).bind(2, payload).first { $0.bool(0) } ?? false
    }

    /// Marks an edit during an attempt, so that a success reports an edit that it has not seen.
    private static let noteEditWhileRunning: StaticString = """
        INSERT INTO sluice_state_rows (action_id, edited_claim)
        SELECT a.id, c.claim FROM sluice_action_rows AS a
        JOIN sluice_claim_rows AS c ON c.queue_id = a.queue_id AND c.action_id = a.id
        WHERE a.id = ?1
        ON CONFLICT (action_id) DO UPDATE SET edited_claim = excluded.edited_claim
        """

    func reschedule(_ action: ActionID, notBefore: Timestamp?) throws(SQLiteError) -> ActionChange {
        guard let standing = try standing(of: action) else { return .missing }
        guard !standing.isRunning else { return .running }
        let time = notBefore.flatMap { $0 > now ? $0 : nil }
        if time != nil {
            try order.leaving(action, of: standing.queue)
            try groups.openGroups(of: action)
        }
        try schedule.setTime(of: action, time)
        if let time { schedule.noteScheduled(at: time) }
        if time == nil, standing.isScheduled { try core.restore(standing.place, in: standing.queue) }
        core.touch(standing.queue)
        core.log(ForeignChange(.update, of: action, in: standing.queue))
        try core.events.record(.edited, action, in: standing.queue) { $0.until = time?.date }
        return .done
    }

    func setExpiry(_ action: ActionID, _ time: Timestamp?) throws(SQLiteError) -> ActionChange {
        guard let standing = try standing(of: action) else { return .missing }
        try run("UPDATE sluice_action_rows SET expires_at_us = ?2 WHERE id = ?1", action, time?.microseconds)
        expiry.expiryChanged(to: time)
        core.touch(standing.queue)
        core.log(ForeignChange(.update, of: action, in: standing.queue))
        try core.events.record(.edited, action, in: standing.queue)
        return standing.isRunning ? .deferred : .done
    }

    func setTag(_ action: ActionID, _ tag: String?) throws(SQLiteError) -> ActionChange {
        guard let standing = try standing(of: action) else { return .missing }
        try connection.cached("UPDATE sluice_action_rows SET tag = ?2 WHERE id = ?1")
            .bind(1, action.rawValue).bind(2, tag).run()
        core.log(ForeignChange(.update, of: action, in: standing.queue))
        try core.events.record(.edited, action, in: standing.queue)
        return .done
    }
}

extension PlaceKey {
    /// Returns a key that sorts an action before a place: the same if it is older; `nil` if none is smaller.
    static func inFront(of first: Place, for action: ActionID, _ kind: SortKey.Kind) -> PlaceKey? {
        action < first.action ? first.key : first.key.changed(kind, \.smaller)
    }

    /// Returns a key that sorts an action after a place: the same if it is newer; `nil` if none is greater.
    static func behind(_ last: Place, for action: ActionID, _ kind: SortKey.Kind) -> PlaceKey? {
        action > last.action ? last.key : last.key.changed(kind, \.greater)
    }

    /// Changes the key, or the last part of a composite key that can be changed.
    private func changed(_ kind: SortKey.Kind, _ change: (PlaceKey) -> PlaceKey?) -> PlaceKey? {
        guard case .composite(var parts) = SortKey(self, kind).storage else { return change(self) }
        for index in parts.indices.reversed() {
            guard let key = change(PlaceKey(parts[index])) else { continue }
            parts[index] = SortKey(key, parts[index].kind)
            return PlaceKey(SortKey(storage: .composite(parts)))
        }
        return nil
    }

    private var smaller: PlaceKey? {
        switch self {
        case .integer(let key): key > .min ? .integer(key - 1) : nil
        case .real(let key): key > -.infinity ? .real(key.nextDown) : nil
        // A prefix of a text sorts before it.
        case .text(let key): key.isEmpty ? nil : .text(String(key.unicodeScalars.dropLast()))
        }
    }

    private var greater: PlaceKey? {
        switch self {
        case .integer(let key): key < .max ? .integer(key + 1) : nil
        case .real(let key): key < .infinity ? .real(key.nextUp) : nil
        // A longer text sorts after its prefix.
        case .text(let key): .text(key + "!")
        }
    }
}
