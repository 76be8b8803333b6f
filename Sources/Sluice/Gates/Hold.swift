#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// The number of a hold in its file, never used again.
public struct HoldID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number, as in the column `id` of `sluice_holds`.
    public let rawValue: Int64

    /// Makes an id from the number that SQL shows.
    public init(rawValue: Int64) {
        self.rawValue = rawValue
    }

    /// Whether the left hold began before the right one.
    public static func < (left: HoldID, right: HoldID) -> Bool { left.rawValue < right.rawValue }

    /// The number in digits.
    public var description: String { String(rawValue) }
}

/// A pause of one queue, of those with a prefix, or of all.
///
/// Several can stand at once, and a queue moves again when none is left that covers it.
public struct Hold: Sendable, Hashable {
    /// Its number, for ``Broker/endHold(_:)``.
    public let id: HoldID
    /// Which queues.
    public let pattern: QueuePattern
    /// Who holds.
    public let holder: String
    /// Why, for people; may be empty.
    public let reason: String
    /// When it began.
    public let since: Date
    /// When it ends by itself; `nil`: it does not.
    public let until: Date?
}
