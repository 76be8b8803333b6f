#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action that has been set aside, by a failure policy or by an operator.
public struct DeadLetter: Sendable, Hashable {
    /// The action's number; ``Broker/requeue(_:)`` puts it back under the same.
    public let id: ActionID
    /// The queue that it stood in.
    public let queue: QueueName
    /// Its kind.
    public let kind: String
    /// Why it was set aside.
    public let cause: DeadLetterCause
    /// The error that decided.
    public let error: String
    /// Attempts that counted.
    public let attempts: Int
    /// When it was set aside.
    public let diedAt: Date
    /// The payload as it is stored: JSON text; ``Broker/openPayload(_:kind:version:)`` opens a sealed one.
    public let payload: String
    /// What it was ordered by.
    public let sortKey: SortKey
    /// Its tag, if it has one.
    public let tag: String?
    /// The gate that it asked for, if it did.
    public let gate: GateName?
    /// The version of its kind that the payload was written in.
    public let version: Int
    /// When it was enqueued.
    public let enqueuedAt: Date
}

extension DeadLetter: CustomStringConvertible {
    /// Number, queue, kind, cause and error, without the payload (G13).
    public var description: String { "dead letter \(id) of \(queue) (\(kind)): \(cause.rawValue): \(error)" }
}

/// Why an action was set aside.
public enum DeadLetterCause: String, Sendable, Hashable, CaseIterable {
    /// The handler answered ``Outcome/fail(_:)``.
    case failed
    /// The retry policy allowed no further attempt.
    case exhausted
    /// Its time was over before it could start.
    case expired
    /// The payload did not decode as the type of its route.
    case undecodable
    /// Its process died several times while the action ran alone.
    case crashed
    /// It stood behind an action whose failure set the whole queue aside.
    case behind
    /// An operator had the queue pass it over: ``Broker/skipHead(of:reason:)``.
    case skipped

    /// The cause of an action that a failure policy sets aside.
    public init(_ cause: FailureCause) {
        switch cause {
        case .failed: self = .failed
        case .exhausted: self = .exhausted
        case .expired: self = .expired
        case .undecodable: self = .undecodable
        case .crashed: self = .crashed
        }
    }
}

/// An attempt that did not succeed.
public struct FailedAttempt: Sendable, Hashable {
    /// The attempt's number, counted from 1; it begins anew with a requeue.
    public let number: Int
    /// Why the action could not go on; `nil` where it was tried again.
    public let cause: FailureCause?
    /// Its error; at most ``SluiceError/maximumTextByteCount`` bytes.
    public let error: String
    /// When it began.
    public let startedAt: Date
    /// When it ended.
    public let endedAt: Date
}
