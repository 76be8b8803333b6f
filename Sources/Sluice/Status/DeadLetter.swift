#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action that failed for good, by a failure policy, or that an operator skipped.
public struct DeadLetter: Sendable, Hashable, CustomStringConvertible {
    /// The action's number; ``Broker/requeue(_:)`` keeps it.
    public let id: ActionID
    /// The action's queue.
    public let queue: QueueName
    /// The action's kind.
    public let kind: String
    /// Why it became a dead letter.
    public let cause: DeadLetterCause
    /// The error that caused it.
    public let error: String
    /// Attempts that counted.
    public let attempts: Int
    /// When it became a dead letter.
    public let diedAt: Date
    /// The payload as stored: JSON text; ``Broker/openPayload(_:kind:version:)`` opens a sealed one.
    public let payload: String
    /// The action's sort key.
    public let sortKey: SortKey
    /// The action's tag, if any.
    public let tag: String?
    /// The action's own gate, if any.
    public let gate: GateName?
    /// The version of the kind that the payload was stored in.
    public let version: Int
    /// When the action was enqueued.
    public let enqueuedAt: Date
    /// Number, queue, kind, cause and error, without the payload (G13).
    public var description: String { "dead letter \(id) of \(queue) (\(kind)): \(cause.rawValue): \(error)" }
}
