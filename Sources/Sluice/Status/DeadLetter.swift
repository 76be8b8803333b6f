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
    public let cause: FailureCause
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

    package init(
        id: ActionID,
        queue: QueueName,
        kind: String,
        cause: FailureCause,
        error: String,
        attempts: Int,
        diedAt: Date,
        payload: String,
        sortKey: SortKey,
        tag: String?,
        gate: GateName?,
        version: Int,
        enqueuedAt: Date
    ) {
        self.id = id
        self.queue = queue
        self.kind = kind
        self.cause = cause
        self.error = error
        self.attempts = attempts
        self.diedAt = diedAt
        self.payload = payload
        self.sortKey = sortKey
        self.tag = tag
        self.gate = gate
        self.version = version
        self.enqueuedAt = enqueuedAt
    }
    /// Number, queue, kind, cause and error, without the payload (G13).
    public var description: String { "dead letter \(id) of \(queue) (\(kind)): \(cause.rawValue): \(error)" }
}

/// A failed attempt of an action or dead letter.
public struct FailedAttempt: Sendable, Hashable {
    /// The attempt's number, counted from 1; a requeue restarts the count.
    public let number: Int
    /// Why the action could not continue; `nil` if it was tried again.
    public let cause: FailureCause?
    /// The error; at most ``SluiceError/maximumTextByteCount`` bytes.
    public let error: String
    /// When the attempt began.
    public let startedAt: Date
    /// When the attempt ended.
    public let endedAt: Date

    package init(
        number: Int,
        cause: FailureCause?,
        error: String,
        startedAt: Date,
        endedAt: Date
    ) {
        self.number = number
        self.cause = cause
        self.error = error
        self.startedAt = startedAt
        self.endedAt = endedAt
    }
}
