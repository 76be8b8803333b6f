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

    /// Reads a row of ``Claims/headRow(at:of:)``; `nil` if the action has another place now.
    init?(_ row: Row, at place: Place, _ now: Timestamp) {
        guard row.bool(2), PlaceKey(row, 3) == place.key || mutant("place of the head") else { return nil }
        self.place = place
        (queue, kind, payload) = (QueueName(row.text(0)), row.text(4), row.text(16))
        (version, trace, nonce) = (row.int(21), row.optionalText(22), row.int64(6))
        enqueuedAt = Timestamp(microseconds: row.int64(5))
        (attempts, lastError) = (row.count(7), row.optionalText(14))
        (isSuspect, crashes) = (row.bool(10), row.count(11))
        suspicion = row.isNull(24) ? 0 : row.int(24)
        isExpired = row.optionalInt64(19).map { $0 <= now.microseconds && !mutant("expiry") } ?? false
        (isCancelled, claim, isReversed) = (row.bool(12), row.optionalInt64(13), row.bool(23))
        let blocked = row.optionalText(1).map(BlockReason.init(stored:))
        let isOfOther = blocked?.isOfHead == true && row.optionalInt64(15) != place.action.rawValue
        blockedBy = isOfOther ? nil : blocked
        blockedError = blocked == nil ? nil : row.optionalText(20)
        gates =
            row.isNull(17) && row.isNull(18)
            ? [] : [row.optionalText(17), row.optionalText(18)].compactMap { $0.map { GateName($0) } }
        wait = row.optionalInt64(8).map {
            RetryWait(action: place.action, nextAttemptAt: Timestamp(microseconds: $0))
        }
        retryDelay = .microseconds(row.int64(9))
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
    func headRow(at place: Place, of request: ClaimRequest) throws(SQLiteError) -> HeadRow? {
        let row = try connection.cached(
            """
            SELECT q.name, q.blocked_by, a.queue_id = ?2 AND a.not_before_us IS NULL, a.sort_key, a.kind,
                   a.enqueued_at_us, a.nonce, s.attempts, s.next_attempt_at_us, s.retry_delay_us,
                   s.is_suspect, s.crashes, s.is_cancelled,
                   (SELECT c.claim FROM sluice_claim_rows AS c WHERE c.queue_id = ?2),
                   s.last_error, q.blocked_action_id, a.payload, a.gate, s.waits_for_gate, a.expires_at_us,
                   q.blocked_error, a.version, a.trace, q.is_reversed, s.suspicion
            FROM sluice_action_rows AS a
            JOIN sluice_queue_rows AS q ON q.queue_id = ?2
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE a.id = ?1
            """
        ).bind(1, place.action.rawValue).bind(2, request.queue.rawValue).first { HeadRow($0, at: place, now) }
        return row ?? nil
    }
}
