internal import SluiceSQLite

/// The row of an action whose place is the first in its queue.
struct HeadRow {
    let head: Head
    let payload: String
    let version: Int
    let trace: String?
    /// The claim that has the queue's slot.
    let claim: Int64?
    /// What stands in `blocked_by`, if it holds for this head or for the queue as a whole.
    let blockedBy: BlockReason?
    let blockedError: String?
    /// Gates that the action waits for, by its own options or its last outcome.
    let gates: [GateName]
    let enqueuedAt: Timestamp
    let nonce: Int64
    let attempts: Int
    let wait: RetryWait?
    let retryDelay: Duration
    let lastError: String?
    let isCancelled: Bool
    /// Whether the file says that the queue runs its last first.
    let isReversed: Bool

    /// Reads a row of ``Claims/headRow(at:of:)``; `nil` if the action has another place now.
    init?(_ row: Row, at place: Place, _ now: Timestamp) {
        guard row.bool(2), PlaceKey(row, 3) == place.key || mutant("place of the head") else { return nil }
        head = Head(
            queue: QueueName(row.text(0)),
            action: place.action,
            kind: row.text(4),
            isSuspect: row.bool(10),
            crashes: row.count(11),
            suspicion: row.isNull(24) ? 0 : row.int(24),
            isExpired: row.optionalInt64(19).map { $0 <= now.microseconds && !mutant("expiry") } ?? false
        )
        claim = row.optionalInt64(13)
        let blocked = row.optionalText(1).map(BlockReason.init(stored:))
        blockedBy =
            blocked?.isOfHead == true && row.optionalInt64(15) != place.action.rawValue ? nil : blocked
        blockedError = blocked == nil ? nil : row.optionalText(20)
        gates =
            row.isNull(17) && row.isNull(18)
            ? [] : [row.optionalText(17), row.optionalText(18)].compactMap { $0.map { GateName($0) } }
        enqueuedAt = Timestamp(microseconds: row.int64(5))
        nonce = row.int64(6)
        attempts = row.count(7)
        wait = row.optionalInt64(8).map {
            RetryWait(action: place.action, nextAttemptAt: Timestamp(microseconds: $0))
        }
        retryDelay = .microseconds(row.int64(9))
        isCancelled = row.bool(12)
        lastError = row.optionalText(14)
        payload = row.text(16)
        version = row.int(21)
        trace = row.optionalText(22)
        isReversed = row.bool(23)
    }

    /// The reason for which the queue is parked.
    var parking: BlockReason? { blockedBy.flatMap { $0.isOfHead ? nil : $0 } }
}
