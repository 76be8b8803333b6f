#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// What a handler is told of the run it performs.
public struct Attempt: Sendable, Hashable {
    /// The action that is run.
    public let id: ActionID
    /// The queue that it stands in.
    public let queue: QueueName
    /// The action's kind.
    public let kind: String
    /// The version of the kind that the payload was stored in.
    ///
    /// What a route of a type gets has been brought up to ``Action/version``; what
    /// ``Broker/routeAnyKind(_:_:handler:)`` hands over has not.
    public let version: Int
    /// The attempt's number, counted from 1.
    ///
    /// Attempts that were released, and those that a stop of the broker or the death of a neighbour cut
    /// short, are not counted.
    public let number: Int
    /// The same text at each attempt of this action, and of no other action, in any file: hand it to the
    /// server so that it can tell a repetition (G5).
    public var idempotencyKey: String {
        // Sixteen hexadecimal digits of the opening that enqueued the action, a hyphen, and its number.
        let digits = String(UInt64(bitPattern: nonce), radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits + "-\(id)"
    }
    /// The random number of the opening that enqueued the action.
    let nonce: Int64
    /// When the action was enqueued, by the wall clock of then.
    public let enqueuedAt: Date
    /// The error of the attempt before, if one failed; at most ``SluiceError/maximumTextByteCount`` bytes.
    public let lastError: String?
}
