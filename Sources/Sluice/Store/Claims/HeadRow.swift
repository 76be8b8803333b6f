internal import SluiceSQLite

/// The row of the action that is the first of its queue: whether it may run, and what its run needs.
struct HeadRow {
    let place: Place
    let queue: QueueName
    let kind: String
    let payload: String
    let version: Int
    let trace: String?
    let enqueuedAt: Timestamp
    let nonce: Int64
    let attempts: Int
    let lastError: String?
    /// Whether it ran when its process died.
    let isSuspect: Bool
    /// Deaths of a process while it ran alone.
    let crashes: Int
    /// Its suspicion: see ``CrashTrial``.
    let suspicion: Int
    let isExpired: Bool
    let isCancelled: Bool
    /// The claim that has the queue's slot.
    let claim: Int64?
    /// What stands in `blocked_by`, if it holds for this head or for the queue as a whole.
    let blockedBy: BlockReason?
    let blockedError: String?
    /// Gates that the action waits for, by its own options or its last outcome.
    let gates: [GateName]
    let wait: RetryWait?
    let retryDelay: Duration
    /// Whether the file says that the queue runs its last first.
    let isReversed: Bool

    /// Reads a row of ``Claims/headRow(at:in:)``; `nil` if the action has another place now.
    init?(_ row: Row, at place: Place, _ now: Timestamp) {
        var columns = row.columns
        guard columns.bool(), PlaceKey(&columns) == place.key || mutant("place of the head") else {
            return nil
        }
        self.place = place
        queue = QueueName(columns.text())
        let blocked = columns.optionalText().map(BlockReason.init(stored:))
        let isOfOther = columns.optionalInt64() != place.action.rawValue && blocked?.isOfHead == true
        blockedBy = isOfOther ? nil : blocked
        blockedError = columns.optionalText()
        isReversed = columns.bool()
        (kind, payload, version) = (columns.text(), columns.text(), columns.int())
        (trace, nonce, enqueuedAt) = (columns.optionalText(), columns.int64(), columns.time())
        isExpired = columns.optionalInt64().map { $0 <= now.microseconds && !mutant("expiry") } ?? false
        let (own, asked) = (columns.gate(), columns.gate())
        gates = own == nil && asked == nil ? [] : [own, asked].compactMap(\.self)
        (attempts, lastError) = (columns.count(), columns.optionalText())
        wait = columns.optionalTime().map { RetryWait(action: place.action, nextAttemptAt: $0) }
        retryDelay = .microseconds(columns.int64())
        (isSuspect, crashes, suspicion) = (columns.bool(), columns.count(), columns.int())
        (isCancelled, claim) = (columns.bool(), columns.optionalInt64())
    }

    var action: ActionID { place.action }
    /// The reason for which the queue is parked.
    var parking: BlockReason? { blockedBy.flatMap { $0.isOfHead ? nil : $0 } }

    /// Returns the head as a suspect; `nil` if it is none.
    func suspect(in queue: QueueID) -> CrashSuspect? {
        isSuspect ? CrashSuspect(queue: queue, level: suspicion, crashes: crashes) : nil
    }
}

extension Claims {
    func headRow(at place: Place, in queue: QueueID) throws(SQLiteError) -> HeadRow? {
        let row = try connection.cached(
            """
            SELECT a.queue_id = ?2 AND a.not_before_us IS NULL, a.sort_key, q.name, q.blocked_by,
                   q.blocked_action_id, q.blocked_error, q.is_reversed, a.kind, a.payload, a.version,
                   a.trace, a.nonce, a.enqueued_at_us, a.expires_at_us, a.gate, s.waits_for_gate,
                   s.attempts, s.last_error, s.next_attempt_at_us, s.retry_delay_us, s.is_suspect,
                   s.crashes, s.suspicion, s.is_cancelled,
                   (SELECT c.claim FROM sluice_claim_rows AS c WHERE c.queue_id = ?2)
            FROM sluice_action_rows AS a
            JOIN sluice_queue_rows AS q ON q.queue_id = ?2
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.id = ?1
            """
        ).bind(1, place.action.rawValue).bind(2, queue.rawValue).first { HeadRow($0, at: place, now) }
        return row ?? nil
    }
}
