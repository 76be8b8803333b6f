internal import SluiceSQLite

final class Cancellations: TransactionSubject {
    let core: TransactionCore
    let removals: Removals
    init(_ core: TransactionCore, _ removals: Removals) { (self.core, self.removals) = (core, removals) }
    static let cancelBatchSize = 500
    /// The most actions that it reads to find them.
    private static let scanSize = 10_000

    func cancel(_ choice: CancelChoice, _ page: CancelPage) throws(SQLiteError) -> CancelBatch {
        let (actions, next) =
            switch choice {
            case .tag(let tag, let name): try tagged(tag, in: name, page)
            case .queues(.exact(let name)): try actions(in: name, page)
            case .queues(let form): try actions(in: form, page)
            }
        var batch = CancelBatch(next: next)
        for action in actions {
            switch try cancel(action) {
            case .done: batch.removed += 1
            case .deferred: batch.signalled.append(action)
            case .running, .conflict, .missing: break
            }
        }
        return batch
    }

    private typealias Found = ([ActionID], CancelPage?)

    /// Returns actions of all queues, or of one.
    private func tagged(
        _ tag: String,
        in name: QueueName?,
        _ page: CancelPage
    ) throws(SQLiteError) -> Found {
        var queue: QueueID?
        if let name {
            queue = try core.knownQueue(named: name)?.id
            if queue == nil { return ([], nil) }
        }
        let found = try connection.cached(
            """
            SELECT id FROM sluice_action_rows
            WHERE tag = ?1 AND id > ?2 AND id <= ?3 AND (?5 IS NULL OR queue_id = ?5) ORDER BY id LIMIT ?4
            """
        ).bind(1, tag).bind(2, page.after.rawValue).bind(3, page.through.rawValue)
            .bind(4, Self.cancelBatchSize).bind(5, queue?.rawValue).all { ActionID(rawValue: $0.int64(0)) }
        return (found, found.count < Self.cancelBatchSize ? nil : behind(found, page))
    }

    /// Returns actions of one queue: first running ones, then waiting ones in no order.
    private func actions(in name: QueueName, _ page: CancelPage) throws(SQLiteError) -> Found {
        guard let queue = try core.knownQueue(named: name)?.id else { return ([], nil) }
        var found: [ActionID] = []
        if page.after.rawValue == 0 {
            found = try connection.cached(
                "SELECT action_id FROM sluice_claim_rows WHERE queue_id = ?1 AND action_id <= ?2"
            ).bind(1, queue.rawValue).bind(2, page.through.rawValue).all { ActionID(rawValue: $0.int64(0)) }
        }
        let waiting = try connection.cached(
            """
            SELECT f.id FROM sluice_action_facts AS f WHERE f.queue_id = ?1 AND f.id <= ?2
              AND NOT EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                              WHERE c.queue_id = ?1 AND c.action_id = f.id) LIMIT ?3
            """
        ).bind(1, queue.rawValue).bind(2, page.through.rawValue).bind(3, Self.cancelBatchSize)
            .all { ActionID(rawValue: $0.int64(0)) }
        let next = CancelPage(after: ActionID(rawValue: 1), through: page.through)
        return (found + waiting, waiting.count < Self.cancelBatchSize ? nil : next)
    }

    /// Returns actions of many queues by sequence, the order of the file.
    private func actions(in form: QueuePattern.Form, _ page: CancelPage) throws(SQLiteError) -> Found {
        let (first, last) = form.bounds
        let rows = try connection.cached(
            """
            SELECT a.id, q.name >= ?3 AND (?4 IS NULL OR q.name < ?4)
            FROM sluice_action_rows AS a CROSS JOIN sluice_queue_rows AS q ON q.queue_id = a.queue_id
            WHERE a.id > ?1 AND a.id <= ?2 ORDER BY a.id LIMIT ?5
            """
        ).bind(1, page.after.rawValue).bind(2, page.through.rawValue).bind(3, first).bind(4, last)
            .bind(5, Self.scanSize).all { (ActionID(rawValue: $0.int64(0)), $0.bool(1)) }
        let found = Array(rows.lazy.filter(\.1).map(\.0).prefix(Self.cancelBatchSize))
        if found.count == Self.cancelBatchSize { return (found, behind(found, page)) }
        return (found, rows.count < Self.scanSize ? nil : behind(rows.map(\.0), page))
    }

    private func behind(_ actions: [ActionID], _ page: CancelPage) -> CancelPage? {
        actions.last.map { CancelPage(after: $0, through: page.through) }
    }

    func cancel(_ action: ActionID) throws(SQLiteError) -> ActionChange {
        let found = try connection.cached(
            """
            SELECT a.queue_id, EXISTS (SELECT 1 FROM sluice_claim_rows AS c
                                       WHERE c.queue_id = a.queue_id AND c.action_id = a.id)
            FROM sluice_action_rows AS a WHERE a.id = ?1
            """
        ).bind(1, action.rawValue).first { (queue: QueueID(rawValue: $0.int64(0)), isRunning: $0.bool(1)) }
        guard let found else { return .missing }
        guard found.isRunning else {
            core.touch(found.queue)
            try removals.remove(action, in: found.queue)
            return .done
        }
        try connection.cached(
            """
            INSERT INTO sluice_state_rows (action_id, is_cancelled) VALUES (?1, 1)
            ON CONFLICT (action_id) DO UPDATE SET is_cancelled = 1
            """
        ).bind(1, action.rawValue).run()
        core.log(ForeignChange(.cancel, of: action, in: found.queue))
        return .deferred
    }
}
