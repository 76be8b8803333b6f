#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action that waits or runs, as `sluice_actions` shows it.
public struct ActionSummary: Sendable, Hashable, CustomStringConvertible {
    /// The action's number.
    public let id: ActionID
    /// The action's queue.
    public let queue: QueueName
    /// The action's kind.
    public let kind: String
    /// The action's sort key; `nil` in order of arrival.
    public let sortKey: String?
    /// Attempts that count, including the running one.
    public let attempts: Int
    /// When the running attempt began.
    public let runningSince: Date?
    /// When the next attempt is due.
    public let nextAttemptAt: Date?
    /// When a scheduled action is due.
    public let notBefore: Date?
    /// When it was enqueued.
    public let enqueuedAt: Date
    /// The error of the last failed attempt.
    public let lastError: String?
    /// The payload: JSON text.
    public let payload: String
    /// Number, queue and kind, without the payload (G13).
    public var description: String { "action \(id) of \(queue) (\(kind))" }
}
