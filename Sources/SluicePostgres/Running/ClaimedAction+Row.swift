#if PostgreSQL
internal import Sluice

extension ClaimedAction {
    /// The number of the worker that has claimed it, which is a part of the claim's.
    var worker: Int64 { receipt.claim >> 32 }

    /// An action of a row that a step returns.
    convenience init(_ row: PostgresRows.Row, _ claim: Int64, _ route: RouteID, now: Timestamp) {
        self.init(
            receipt: Receipt(
                action: ActionID(rawValue: row.integer("action_id") ?? 0),
                claim: claim,
                queue: QueueID(rawValue: row.integer("queue_id") ?? 0),
                slot: 0
            ),
            queue: QueueName(row.text("queue")),
            kind: row.text("kind"),
            version: Int(row.integer("version") ?? 1),
            payload: row.text("payload"),
            trace: row["trace"],
            number: Int(row.integer("attempts") ?? 0) + 1,
            nonce: row.integer("nonce") ?? 0,
            enqueuedAt: row.time("enqueued_at") ?? now,
            lastError: row["last_error"],
            route: route,
            isTried: row.flag("is_alone")
        )
    }
}
#endif
