internal import SQLite

/// What is asked of a queue: its head, for a run.
package struct ClaimRequest: Sendable {
    package let queue: QueueID
    /// A retry wait that is over by the scheduler's clock, whatever the wall clock says.
    package let waitedFor: RetryWait?
    /// Whether the head may run.
    ///
    /// Called in the claiming transaction, perhaps more than once; it must not block.
    package let admit: @Sendable (Head) -> Admission

    package init(queue: QueueID, waitedFor: RetryWait?, admit: @escaping @Sendable (Head) -> Admission) {
        self.queue = queue
        self.waitedFor = waitedFor
        self.admit = admit
    }
}

/// The wait of one action for one retry; another retry, or an edit of the time, is another wait.
package struct RetryWait: Hashable, Sendable {
    package let action: ActionID
    /// As the file has it.
    package let nextAttemptAt: Timestamp

    package init(action: ActionID, nextAttemptAt: Timestamp) {
        self.action = action
        self.nextAttemptAt = nextAttemptAt
    }
}

/// The head of a queue, as far as it takes to decide whether it may run.
package struct Head: Sendable, Hashable {
    package let queue: QueueName
    package let action: ActionID
    package let kind: String
    /// It ran when its process died.
    package let isSuspect: Bool
    /// Deaths of a process while it ran alone.
    package let crashes: Int
}

/// Whether a head may run.
package enum Admission: Sendable, Hashable {
    /// It may; `isAlone`: nothing else runs in this process meanwhile.
    case run(isAlone: Bool)
    /// It may not run again.
    case fail(FailureCause, FailurePolicy, error: String)
    /// Its queue has no route at all, or none for its kind: stands in the file for SQL to show.
    case unroutable(hasRoute: Bool)
    /// Not now: its route has no permit, or others run and it must be alone.
    case notNow
}

/// What became of a claim.
package enum ClaimResult: Sendable {
    case claimed(ClaimedAction)
    /// Nothing waits in the queue's order.
    case empty
    /// The slot is taken.
    case taken
    /// The head waits for its retry.
    case waiting(RetryWait, remaining: Duration)
    /// The queue is parked.
    case parked
    /// The head was not admitted.
    case notAdmitted(Head, Admission)
    /// Heads were removed or set aside, and there may be more: ask again.
    case unfinished
}

/// An action whose claim is in the file: its handler may start.
package struct ClaimedAction: Sendable {
    package let receipt: Receipt
    package let queue: QueueName
    package let kind: String
    package let payload: String
    /// The attempt's number, counted from 1.
    package let number: Int
    package let idempotencyKey: String
    package let enqueuedAt: Timestamp
    package let lastError: String?
}

extension Store {
    /// Claims the heads of queues, in one transaction, and tells what became of each, in their order.
    package func claim(
        _ requests: [ClaimRequest],
        completion: @escaping @Sendable (Result<[ClaimResult], SluiceError>) -> Void
    ) {
        write(sync: .later, { transaction in try requests.map(transaction.claim) }, completion: completion)
    }
}

extension WriteTransaction {
    /// The most heads that one claim removes or sets aside on its way; it bounds the transaction.
    private static let headLimit = 100

    func claim(_ request: ClaimRequest) throws -> ClaimResult {
        // Another process has taken the queues over: every slot is its own. The renewal of the lease tells.
        guard epoch != nil else { return .taken }
        for _ in 0..<Self.headLimit {
            guard let row = try headRow(of: request.queue) else { return .empty }
            if row.isTaken { return .taken }
            if let parking = row.parking {
                guard parking == "failing" else { return .parked }
                if try failBatch(of: request.queue) { return .unfinished }
                continue
            }
            guard let head = row.head else { return .empty }
            if row.isCancelled {
                try remove(head.action, in: request.queue)
                continue
            }
            if let wait = row.wait, request.waitedFor != wait, wait.nextAttemptAt > now {
                // Never longer than the delay that was asked: the wall clock may have jumped back since (G8).
                return .waiting(wait, remaining: min(wait.nextAttemptAt - now, row.retryDelay))
            }
            let admission = request.admit(head)
            switch admission {
            case .run(let isAlone):
                return .claimed(try claim(row, head, in: request.queue, isAlone: isAlone))
            case .fail(let cause, let policy, let error):
                try fail(head.action, in: request.queue, cause, policy, error: error)
            case .unroutable(let hasRoute):
                try note(
                    hasRoute ? "unknown kind" : "no route",
                    head.action,
                    in: request.queue,
                    was: row.blockedBy
                )
                return .notAdmitted(head, admission)
            case .notNow:
                return .notAdmitted(head, admission)
            }
        }
        return .unfinished
    }

    private func claim(_ row: HeadRow, _ head: Head, in queue: QueueID, isAlone: Bool) throws -> ClaimedAction
    {
        guard let epoch else { preconditionFailure("a claim was made without an epoch") }
        claimCount += 1
        let receipt = Receipt(action: head.action, claim: epoch << 32 + claimCount, queue: queue, slot: 0)
        try connection.cached(
            """
            INSERT INTO sluice_claim_rows (queue_id, slot, action_id, claim, started_at_us, is_alone)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6)
            """
        )
        .bind(1, queue.rawValue).bind(2, receipt.slot).bind(3, head.action.rawValue).bind(4, receipt.claim)
        .bind(5, now.microseconds).bind(6, isAlone).run()
        // What kept the head from running before it was claimed no longer does.
        if row.blockedBy != nil { try unblock(queue) }
        let payload = try connection.cached("SELECT payload FROM sluice_action_rows WHERE id = ?1")
            .bind(1, head.action.rawValue).first { $0.text(0) }
        guard let payload else { preconditionFailure("a head vanished inside a transaction") }
        return ClaimedAction(
            receipt: receipt,
            queue: head.queue,
            kind: head.kind,
            payload: payload,
            number: row.attempts + 1,
            idempotencyKey: Self.idempotencyKey(nonce: row.nonce, action: head.action),
            enqueuedAt: row.enqueuedAt,
            lastError: row.lastError
        )
    }

    /// Sixteen hexadecimal digits of the opening that enqueued the action, a hyphen, and its number.
    private static func idempotencyKey(nonce: Int64, action: ActionID) -> String {
        let digits = String(UInt64(bitPattern: nonce), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + "-\(action)"
    }

    /// Notes in the file why the broker cannot run a head, once.
    private func note(_ reason: String, _ action: ActionID, in queue: QueueID, was: String?) throws {
        guard was != reason else { return }
        try block(queue, by: reason, action, error: nil)
    }
}

// MARK: - Reading a head

/// One row of the claim's query.
private struct HeadRow {
    let head: Head?
    let isTaken: Bool
    /// What stands in `blocked_by`, if it holds for this head or for the queue as a whole.
    let blockedBy: String?
    let enqueuedAt: Timestamp
    let nonce: Int64
    let attempts: Int
    let nextAttemptAt: Timestamp?
    let retryDelay: Duration
    let lastError: String?
    let isCancelled: Bool

    init(_ row: Row) {
        let action = row.optionalInt64(3).map(ActionID.init(rawValue:))
        head = action.map {
            Head(
                queue: QueueName(row.text(0)),
                action: $0,
                kind: row.text(4),
                isSuspect: row.bool(10),
                crashes: row.int(11)
            )
        }
        isTaken = row.bool(13)
        let blocked = row.optionalText(1)
        let isOfHead = blocked.map(Self.reasonsOfHead.contains) ?? false
        blockedBy = isOfHead && row.optionalInt64(2) != action?.rawValue ? nil : blocked
        enqueuedAt = Timestamp(microseconds: row.int64(5))
        nonce = row.int64(6)
        attempts = row.int(7)
        nextAttemptAt = row.optionalInt64(8).map(Timestamp.init(microseconds:))
        retryDelay = .microseconds(row.int64(9))
        isCancelled = row.bool(12)
        lastError = row.optionalText(14)
    }

    /// Values of `blocked_by` that hold for one action and not for another that becomes the head.
    private static let reasonsOfHead: Set<String> = ["unknown kind", "no route", "undecodable"]

    /// The value of `blocked_by` for which the queue does not move.
    ///
    /// Whether there is a route is asked anew each time.
    var parking: String? {
        blockedBy.flatMap { $0 == "unknown kind" || $0 == "no route" ? nil : $0 }
    }

    /// The retry that the head waits for, or waited for.
    var wait: RetryWait? {
        guard let head, let nextAttemptAt else { return nil }
        return RetryWait(action: head.action, nextAttemptAt: nextAttemptAt)
    }
}

extension WriteTransaction {
    private func headRow(of queue: QueueID) throws(SQLiteError) -> HeadRow? {
        try connection.cached(
            """
            SELECT q.name, q.blocked_by, q.blocked_action_id, a.id, a.kind, a.enqueued_at_us, a.nonce,
                   s.attempts, s.next_attempt_at_us, s.retry_delay_us, s.is_suspect, s.crashes,
                   s.is_cancelled,
                   EXISTS (SELECT 1 FROM sluice_claim_rows AS c WHERE c.queue_id = q.queue_id),
                   s.last_error
            FROM sluice_queue_rows AS q
            LEFT JOIN sluice_action_rows AS a ON a.id = (
                SELECT h.id FROM sluice_action_rows AS h
                WHERE h.queue_id = q.queue_id AND h.not_before_us IS NULL
                ORDER BY h.sort_key, h.id LIMIT 1)
            LEFT JOIN sluice_state_rows AS s ON s.action_id = a.id
            WHERE q.queue_id = ?1
            """
        )
        .bind(1, queue.rawValue).first(HeadRow.init)
    }
}
