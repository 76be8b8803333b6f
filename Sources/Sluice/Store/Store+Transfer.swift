internal import SluiceSQLite

/// An action as it leaves one file of queues and enters another: what whoever enqueued it has said of it.
///
/// What has happened to it since stays behind: its attempts, errors and waits, and its idempotency key. From
/// the queue of another library its attempts come along.
package struct TransferredAction: Sendable, Hashable {
    /// The most attempts that an action may come with.
    package static let maximumAttempts: Int64 = 1_000_000_000

    /// Its number in the file that it leaves; an action that enters is given another.
    package var id = ActionID(rawValue: 0)
    package var queue: QueueName
    package var kind: String
    package var sortKey: SortKey
    package var payload: String
    /// The version of the kind that the payload was written in.
    package var version: Int64 = 1
    package var tag: String?
    package var gate: GateName?
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp?
    /// The trace that it was enqueued in, as JSON.
    package var trace: String?
    /// When it was enqueued where it comes from; `nil` is now.
    package var enqueuedAt: Timestamp?
    /// How often it has been tried where it comes from.
    package var attempts: Int64 = 0
    /// By this it enters once: whatever its policy, the first is kept.
    package var key: DeduplicationKey?
    /// The groups that it starts and is a member of.
    package var groups = ActionGroups()

    package init(queue: QueueName, kind: String, sortKey: SortKey, payload: String) {
        self.queue = queue
        self.kind = kind
        self.sortKey = sortKey
        self.payload = payload
    }
}

extension Store {
    /// Actions that wait or run, in the order in which they were enqueued.
    ///
    /// Enqueued in this order again, each queue has its own order again: that is by sort key and number.
    ///
    /// - Parameters:
    ///   - form: Which queues.
    ///   - last: The action behind which to go on; the smallest number is before the first.
    ///   - limit: The most actions.
    ///   - byteLimit: The payloads of one answer are together not much larger; it holds at least one action.
    /// - Returns: None when there is no further one.
    package func page(
        of form: QueuePattern.Form,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws(SluiceError) -> [TransferredAction] {
        try await read { connection in
            let (first, end) = form.bounds
            var page: [TransferredAction] = []
            var byteCount = 0
            while page.count < limit && byteCount < byteLimit {
                let next = try connection.cached(
                    """
                    SELECT a.id, q.name, a.kind, q.sort_type, a.sort_key, a.payload, a.version, a.tag, a.gate,
                           iif(a.not_before_us = 9223372036854775806 OR a.not_before_us = (
                                   SELECT s.next_attempt_at_us FROM sluice_state_rows AS s
                                   WHERE s.action_id = a.id),
                               NULL, a.not_before_us),
                           a.expires_at_us, a.trace
                    FROM sluice_action_rows AS a CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
                    WHERE a.id > ?1 AND q.name >= ?2 AND (?3 IS NULL OR q.name < ?3) ORDER BY a.id LIMIT 1
                    """
                )
                .bind(1, (page.last?.id ?? last).rawValue).bind(2, first).bind(3, end)
                .first(TransferredAction.init)
                guard var next else { break }
                // In a damaged tree a search may find what is before it, again and again.
                guard next.id > page.last?.id ?? last else {
                    throw SQLiteError(code: .corrupt, message: "the actions are out of their order")
                }
                next.groups = try ActionGroups(of: next.id, connection)
                byteCount += next.payload.utf8.count
                page.append(next)
            }
            return page
        }
    }

    /// Stores actions that have left another file, all or none, in their order.
    ///
    /// - Returns: Their numbers; `nil` for one whose key is taken.
    func take(_ actions: [TransferredAction]) async throws -> [ActionID?] {
        try await writeUnlessCancelled(sync: .owed) { transaction in
            try actions.map { try transaction.transfers.take($0) }
        }
    }
}

final class Transfers: TransactionSubject {
    let core: TransactionCore
    let keys: DeduplicationKeys
    let queueRows: QueueRows
    let groups: Groups
    let expiry: Expiry
    let schedule: Schedule

    init(
        _ core: TransactionCore,
        _ keys: DeduplicationKeys,
        _ queueRows: QueueRows,
        _ groups: Groups,
        _ expiry: Expiry,
        _ schedule: Schedule
    ) {
        self.core = core
        self.keys = keys
        self.queueRows = queueRows
        self.groups = groups
        self.expiry = expiry
        self.schedule = schedule
    }

    /// Stores an action that has left another file, unless its key is taken.
    func take(_ action: TransferredAction) throws -> ActionID? {
        if let key = action.key, try keys.isTaken(key, in: action.queue) { return nil }
        let queue = try queueRows.queue(named: action.queue, sorting: action.sortKey.kind)
        let id = try core.nextActionID()
        let key = PlaceKey(action.sortKey)
        try connection.cached(
            """
            INSERT INTO sluice_action_rows
                (id, queue_id, sort_key, not_before_us, enqueued_at_us, nonce, kind, payload, version, tag,
                 gate, expires_at_us, trace)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
            """
        )
        .bind(1, id.rawValue).bind(2, queue.rawValue).bind(3, key).bind(4, action.notBefore?.microseconds)
        // Never later than now, whatever the other clock said.
        .bind(5, min(action.enqueuedAt ?? now, now).microseconds)
        .bind(6, core.nonce).bind(7, action.kind).bind(8, action.payload)
        .bind(9, action.version).bind(10, action.tag).bind(11, action.gate?.rawValue)
        .bind(12, action.expiresAt?.microseconds).bind(13, action.trace).run()
        if action.attempts > 0 {
            try connection.cached("INSERT INTO sluice_state_rows (action_id, attempts) VALUES (?1, ?2)")
                .bind(1, id.rawValue).bind(2, action.attempts).run()
        }
        if let key = action.key { try keys.remember(key, of: id, in: queue) }
        if !action.groups.isEmpty { try groups.setGroups(of: id, in: queue, action.groups) }
        expiry.expiryChanged(to: action.expiresAt)
        order.added(id, key: key, to: queue, isPlaced: action.notBefore == nil)
        if let time = action.notBefore { schedule.noteScheduled(at: time) }
        core.touchNew(queue)
        return id
    }
}

extension TransferredAction {
    fileprivate init(_ row: Row) {
        self.init(
            queue: QueueName(row.text(1)),
            kind: row.text(2),
            sortKey: SortKey(row, type: 3, value: 4),
            payload: row.text(5)
        )
        id = ActionID(rawValue: row.int64(0))
        version = row.int64(6)
        tag = row.optionalText(7)
        gate = row.optionalText(8).map { GateName($0) }
        notBefore = row.optionalInt64(9).map(Timestamp.init(microseconds:))
        expiresAt = row.optionalInt64(10).map(Timestamp.init(microseconds:))
        // Nobody checks what a shell writes there; what is no trace would spoil the whole line.
        trace = row.optionalText(11).flatMap { TraceText.fields(of: $0).isEmpty ? nil : $0 }
    }
}

extension SortKey {
    /// A date to the microsecond: a `Date` has no room for that a century from now.
    package static func time(_ value: Timestamp) -> SortKey { SortKey(storage: .date(value)) }

    /// The key, as whoever writes it down needs it.
    package enum Value: Sendable {
        case arrival
        case integer(Int64)
        case time(Timestamp)
        case real(Double)
        case text(String)
    }

    package var value: Value {
        switch storage {
        case .arrival: .arrival
        case .integer(let value): .integer(value)
        case .date(let value): .time(value)
        case .real(let value): .real(value)
        case .text(let value): .text(value)
        }
    }

    fileprivate init(_ row: Row, type: Int32, value: Int32) {
        self =
            switch Kind(rawValue: row.text(type)) {
            case .integer: .integer(row.int64(value))
            case .date: .time(Timestamp(microseconds: row.int64(value)))
            case .real:
                if case .real(let real) = row.value(value) {
                    .real(real)
                } else {
                    .real(Double(row.int64(value)))
                }
            case .text: .text(row.text(value))
            case .arrival, nil: .arrival
            }
    }
}
