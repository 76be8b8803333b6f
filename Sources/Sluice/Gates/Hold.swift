#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A pause of one queue, of all queues with a prefix, or of all queues.
///
/// Holds can overlap: a queue continues when no hold covers it any more.
public struct Hold: Sendable, Hashable {
    /// The hold's number, for ``Broker/endHold(_:)``.
    public let id: HoldID
    /// The queues.
    public let pattern: QueuePattern
    /// The holder's name.
    public let holder: String
    /// The reason, for people; may be empty.
    public let reason: String
    /// When the hold began.
    public let since: Date
    /// When the hold ends by itself; `nil` if it does not.
    public let until: Date?

    package init(
        id: HoldID,
        pattern: QueuePattern,
        holder: String,
        reason: String,
        since: Date,
        until: Date?
    ) {
        self.id = id
        self.pattern = pattern
        self.holder = holder
        self.reason = reason
        self.since = since
        self.until = until
    }

    package static func validate(_ holder: String, _ reason: String) throws(SluiceError) {
        guard holder.unicodeScalars.count <= 255, reason.unicodeScalars.count <= 1_000 else {
            let message = "a hold's holder has more than 255 characters, or its reason more than 1,000"
            throw SluiceError(.invalidOptions, message)
        }
    }
}
