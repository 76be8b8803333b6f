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

extension TransferredAction {
    init(_ row: Row) {
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
