/// The name of a group of actions in one queue: one action starts it, others are members; see
/// <doc:Disciplines>.
///
/// Names are compared by their UTF-8 bytes. A name has 1 to 255 bytes of UTF-8 and no NUL. It can be written
/// as a literal and is checked when it is used.
public struct GroupName: Sendable {
    /// The most bytes of UTF-8 that a name can have.
    public static let maximumByteCount = 255

    /// The name as given.
    public let rawValue: String

    /// Makes a name; it is checked when it is used.
    public init(_ rawValue: String) {
        self.rawValue = rawValue
    }

    /// Throws if the name is outside its limits.
    func validate() throws(SluiceError) {
        guard (1...Self.maximumByteCount).contains(rawValue.utf8.count), !rawValue.utf8.contains(0) else {
            throw SluiceError(
                .invalidOptions,
                "a group's name must have 1 to \(Self.maximumByteCount) bytes and no NUL"
            )
        }
    }
}

extension GroupName: Hashable {
    /// Whether both names have the same bytes.
    public static func == (left: GroupName, right: GroupName) -> Bool {
        left.rawValue.utf8.elementsEqual(right.rawValue.utf8)
    }

    /// Feeds the bytes of the name to `hasher`.
    public func hash(into hasher: inout Hasher) {
        QueueName(rawValue).hash(into: &hasher)
    }
}

extension GroupName: ExpressibleByStringInterpolation, CustomStringConvertible {
    /// Makes a name from a literal; it is checked when it is used.
    public init(stringLiteral value: String) {
        self.init(value)
    }

    /// The name as given.
    public var description: String { rawValue }
}
