/// An action that waits or runs, as `sluice_actions` shows it.
///
/// Times are ISO 8601 in UTC.
public struct ActionSummary: Sendable, Hashable {
    /// The action's number.
    public let id: ActionID
    /// The queue that it stands in.
    public let queue: QueueName
    /// Its kind.
    public let kind: String
    /// Its sort key; `nil` in order of arrival.
    public let sortKey: String?
    /// Attempts that count, the running one among them.
    public let attempts: Int
    /// When the running attempt began.
    public let runningSince: String?
    /// When it is tried again.
    public let nextAttemptAt: String?
    /// When it gets its place in the order.
    public let notBefore: String?
    /// When it was enqueued.
    public let enqueuedAt: String
    /// The error of the last attempt that failed.
    public let lastError: String?
    /// The payload: JSON text.
    public let payload: String
}

extension ActionSummary: CustomStringConvertible {
    /// Number, queue and kind, without the payload (G13).
    public var description: String { "action \(id) of \(queue) (\(kind))" }
}
