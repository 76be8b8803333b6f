/// A name that is compared by its UTF-8 bytes, unlike a `String`, and checked when it is used.
public protocol CheckedName:
    Hashable, Sendable, Codable, ExpressibleByStringInterpolation, CustomStringConvertible
where StringLiteralType == String {
    /// The most bytes of UTF-8 that a name can have.
    static var maximumByteCount: Int { get }
    /// The name as given.
    var rawValue: String { get }
    /// Makes a name; it is checked when it is used.
    init(_ rawValue: String)
}

extension CheckedName {
    /// Whether both names have the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        let (left, right) = (left.rawValue.utf8, right.rawValue.utf8)
        guard left.count == right.count else { return false }
        // A Swift string stores its UTF-8 in one piece; only one bridged from elsewhere does not.
        return left.withContiguousStorageIfAvailable { left in
            right.withContiguousStorageIfAvailable { right in left.elementsEqual(right) }
        }.flatMap { $0 } ?? left.elementsEqual(right)
    }

    /// Feeds the bytes of the name to `hasher`.
    public func hash(into hasher: inout Hasher) {
        var text = rawValue
        text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(UInt8(0xFF))
    }

    /// Makes a name from a literal; it is checked when it is used.
    public init(stringLiteral value: String) { self.init(value) }
    /// The name as given.
    public var description: String { rawValue }

    /// Reads a name as a string; it is checked when it is used.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Writes the name as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    func validate(_ code: SluiceError.Code, _ noun: String) throws(SluiceError) {
        try SluiceError.check(rawValue, limit: Self.maximumByteCount, code, "a \(noun)'s name")
    }
}

extension SluiceError {
    /// Throws if a text, which `noun` names, is empty, longer than `limit` bytes or has a NUL.
    static func check(
        _ text: String,
        limit: Int,
        _ code: Code,
        _ noun: @autoclosure () -> String
    ) throws(SluiceError) {
        guard (1...limit).contains(text.utf8.count), !text.hasByte(0) else {
            throw SluiceError(code, "\(noun()) must have 1 to \(limit) bytes and no NUL")
        }
    }
}

extension String {
    /// Whether a byte of its UTF-8 form has a value; each enqueue asks this of its names.
    func hasByte(_ byte: UInt8) -> Bool {
        utf8.withContiguousStorageIfAvailable { $0.contains(byte) } ?? utf8.contains(byte)
    }
}
