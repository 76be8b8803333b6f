internal import SluiceSQLite

/// Owns the import of actions from other files.
final class Transfers: TransactionSubject {
    let core: TransactionCore
    let keys: DeduplicationKeys
    let queueRows: QueueRows
    let enqueues: Enqueues
    let schedule: Schedule

    init(
        _ core: TransactionCore,
        _ keys: DeduplicationKeys,
        _ queueRows: QueueRows,
        _ enqueues: Enqueues,
        _ schedule: Schedule
    ) {
        (self.core, self.keys, self.queueRows) = (core, keys, queueRows)
        (self.enqueues, self.schedule) = (enqueues, schedule)
    }

    /// Stores an action that has left another file, unless its key is taken.
    func take(_ action: TransferredAction) throws -> ActionID? {
        if let key = action.key, try keys.isTaken(key, in: action.queue) { return nil }
        let queue = try queueRows.queue(named: action.queue, sorting: action.sortKey.kind)
        let id = try core.nextActionID()
        let key = PlaceKey(action.sortKey)
        let stored = StoredAction(
            id: id,
            key: key,
            sortKind: action.sortKey.kind,
            // Never later than now, whatever the other clock said.
            enqueuedAt: min(action.enqueuedAt ?? now, now),
            nonce: core.nonce,
            kind: action.kind,
            payload: action.payload,
            version: Int(clamping: action.version),
            tag: action.tag,
            gate: action.gate,
            expiresAt: action.expiresAt,
            trace: action.trace,
            groups: action.groups
        )
        try enqueues.insert(stored, into: queue, notBefore: action.notBefore)
        if action.attempts > 0 {
            try connection.cached("INSERT INTO sluice_state_rows (action_id, attempts) VALUES (?1, ?2)")
                .bind(1, id.rawValue).bind(2, action.attempts).run()
        }
        if let key = action.key { try keys.remember(key, of: id, in: queue) }
        order.added(id, key: key, to: queue, isPlaced: action.notBefore == nil)
        if let time = action.notBefore { schedule.noteScheduled(at: time) }
        core.touchNew(queue)
        return id
    }
}

extension SortKey {
    /// Unlike this, a `Date` is not precise to the microsecond a century from now.
    package static func time(_ value: Timestamp) -> SortKey { SortKey(storage: .date(value)) }

    package enum Value: Sendable {
        case arrival
        case integer(Int64)
        case time(Timestamp)
        case real(Double)
        case text(String)
        /// Its parts as the file has them.
        case composite(String)
    }

    package var value: Value {
        switch storage {
        case .arrival: .arrival
        case .integer(let value): .integer(value)
        case .date(let value): .time(value)
        case .real(let value): .real(value)
        case .text(let value): .text(value)
        case .composite(let parts): .composite(CompositeKey.text(parts))
        }
    }

    /// Reads a type and a value of it from the next two columns.
    init(_ columns: inout Columns) {
        let kind = columns.sortKind()
        switch kind {
        case .integer: self = .integer(columns.int64())
        case .date: self = .time(columns.time())
        case .real:
            switch columns.value() {
            case .real(let real): self = .real(real)
            case .integer(let integer): self = .real(Double(integer))
            case .text, .blob, .null: self = .real(0)
            }
        case .arrival:
            columns.skip()
            self = .arrival
        default: self.init(.text(columns.text()), kind)
        }
    }
}
