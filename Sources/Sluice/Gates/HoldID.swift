/// The number of a hold in its file, never used again.
public struct HoldID: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The number, as in the column `id` of `sluice_holds`.
    public let rawValue: Int64
    /// Makes an id from the number that SQL shows.
    public init(rawValue: Int64) { self.rawValue = rawValue }
    /// Whether the left hold began before the right one.
    public static func < (left: HoldID, right: HoldID) -> Bool { left.rawValue < right.rawValue }
    /// The number in digits.
    public var description: String { String(rawValue) }
}
