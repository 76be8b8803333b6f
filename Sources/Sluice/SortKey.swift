#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// The value that orders an action in its queue; equal keys are ordered by sequence.
///
/// All actions of a queue have one type of sort key: ``QueueOptions/sortKey``, or that of the first action in
/// the empty queue. Another throws ``SluiceError/Code/sortKeyMismatch``, and NaN `sortKeyNotANumber`.
public struct SortKey: Sendable, Hashable {
    /// The type of a sort key: of one value, or of the parts of a composite key.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// One value's number, or three bits for each part, the first part lowest.
        private let code: UInt16
        private static let isComposite: UInt16 = 1 << 12
        private static let names = ["arrival", "integer", "date", "real", "text"]

        /// Order of arrival alone.
        public static var arrival: Kind { Kind(code: 0) }
        /// 64-bit integers.
        public static var integer: Kind { Kind(code: 1) }
        /// Dates, to the microsecond.
        public static var date: Kind { Kind(code: 2) }
        /// Double-precision numbers.
        public static var real: Kind { Kind(code: 3) }
        /// Text, compared by its UTF-8 bytes.
        public static var text: Kind { Kind(code: 4) }
        /// The types of single values, `arrival` among them.
        public static var allSingle: [Kind] { [.arrival, .integer, .date, .real, .text] }

        /// Keys of 2 to 4 parts, each an integer, a date, a real or text; see ``SortKey/composite(_:)``.
        ///
        /// - Precondition: The number and types of the parts.
        public static func composite(_ parts: Kind...) -> Kind {
            guard let kind = Kind(parts: parts) else { preconditionFailure(SortKey.rule) }
            return kind
        }

        private init(code: UInt16) { self.code = code }

        init?(parts: [Kind]) {
            guard (2...4).contains(parts.count), parts.allSatisfy({ (1...4).contains($0.code) }) else {
                return nil
            }
            code = parts.reversed().reduce(0) { $0 << 3 | $1.code } | Self.isComposite
        }

        /// The types of the parts; empty if the key has one value.
        public var parts: [Kind] {
            guard code & Self.isComposite != 0 else { return [] }
            return (0..<4).map { Kind(code: code >> ($0 * 3) & 7) }.filter { $0 != .arrival }
        }

        /// The text in the file: the name of the type, or such as `composite:date,integer`.
        public var rawValue: String {
            code & Self.isComposite == 0
                ? Self.names[Int(code)] : "composite:" + parts.map(\.rawValue).joined(separator: ",")
        }

        /// Reads ``rawValue``.
        public init?(rawValue: String) {
            if let index = Self.names.firstIndex(of: rawValue) {
                self.init(code: UInt16(index))
                return
            }
            let prefix = "composite:"
            guard rawValue.hasPrefix(prefix) else { return nil }
            let names = rawValue.dropFirst(prefix.count).split(
                separator: ",",
                omittingEmptySubsequences: false
            )
            self.init(parts: names.map { Kind(code: UInt16(Self.names.firstIndex(of: String($0)) ?? 0)) })
        }

        /// The text of ``rawValue``.
        public var description: String { rawValue }
    }

    enum Storage: Sendable, Hashable {
        case arrival
        case integer(Int64)
        case date(Timestamp)
        case real(Double)
        case text(String)
        case composite([SortKey])
    }

    let storage: Storage

    /// The type of the key.
    public var kind: Kind {
        switch storage {
        case .arrival: .arrival
        case .integer: .integer
        case .date: .date
        case .real: .real
        case .text: .text
        case .composite(let parts): Kind(parts: parts.map(\.kind)) ?? .arrival
        }
    }

    /// The order of arrival: the default.
    public static let arrival = SortKey(storage: .arrival)
    /// Smaller integers first.
    public static func integer(_ value: Int64) -> SortKey { SortKey(storage: .integer(value)) }
    /// Earlier dates first, rounded to microseconds, and clamped to about 292,000 years from 1970.
    public static func date(_ value: Date) -> SortKey { SortKey(storage: .date(Timestamp(value))) }
    /// Smaller numbers first; infinities are numbers here.
    public static func real(_ value: Double) -> SortKey { SortKey(storage: .real(value)) }
    /// Text in the order of its UTF-8 bytes, like SQLite's collation BINARY.
    public static func text(_ value: String) -> SortKey { SortKey(storage: .text(value)) }

    /// The order of the first part, among equals that of the second, and so on.
    ///
    /// ```swift
    /// var sortKey: SortKey { .composite(.date(day), .integer(page)) }
    /// ```
    ///
    /// It has 2 to 4 parts, each an integer, a date, a real or text. In SQL it is one text, whose parts are
    /// separated by tabs: dates as the views show them, integers with 19 digits.
    ///
    /// - Precondition: The number and types of the parts.
    public static func composite(_ parts: SortKey...) -> SortKey {
        precondition(Kind(parts: parts.map(\.kind)) != nil, rule)
        return SortKey(storage: .composite(parts))
    }

    static let rule = "a composite sort key has 2 to 4 parts, each an integer, a date, a real or text"

    /// Whether a number in it is none, so that it has no order.
    var hasNaN: Bool {
        switch storage {
        case .real(let value): value.isNaN
        case .composite(let parts): parts.contains(where: \.hasNaN)
        case .arrival, .integer, .date, .text: false
        }
    }

    package func places(_ action: ActionID, before other: ActionID, at key: SortKey) -> Bool {
        Place(key: PlaceKey(self), action: action) < Place(key: PlaceKey(key), action: other)
    }
}

extension SortKey: Codable {
    private enum CodingKeys: String, CodingKey { case integer, date, real, text, composite }

    private struct Ignored: Decodable { init(from decoder: any Decoder) throws {} }

    /// Reads a key as an object with its type and value, such as `{"integer": 7}`; an empty one is `arrival`.
    public init(from decoder: any Decoder) throws {
        let names = try decoder.singleValueContainer().decode([String: Ignored].self).keys
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard names.count == container.allKeys.count, names.count <= 1 else {
            let text =
                "a sort key has one of integer, date, real, text, composite, or none; found \(names.sorted())"
            throw DecodingError.dataCorruptedError(
                in: try decoder.singleValueContainer(),
                debugDescription: text
            )
        }
        switch container.allKeys.first {
        case .integer: self = .integer(try container.decode(Int64.self, forKey: .integer))
        case .date: self = .date(try container.decode(Date.self, forKey: .date))
        case .real: self = .real(try container.decode(Double.self, forKey: .real))
        case .text: self = .text(try container.decode(String.self, forKey: .text))
        case .composite:
            let parts = try container.decode([SortKey].self, forKey: .composite)
            guard Kind(parts: parts.map(\.kind)) != nil else {
                throw DecodingError.dataCorruptedError(
                    forKey: .composite,
                    in: container,
                    debugDescription: Self.rule
                )
            }
            self = SortKey(storage: .composite(parts))
        case nil: self = .arrival
        }
    }

    /// Writes the key as an object with its type and value; dates as the encoder writes them.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch storage {
        case .arrival: break
        case .integer(let value): try container.encode(value, forKey: .integer)
        case .date(let value): try container.encode(value.date, forKey: .date)
        case .real(let value): try container.encode(value, forKey: .real)
        case .text(let value): try container.encode(value, forKey: .text)
        case .composite(let parts): try container.encode(parts, forKey: .composite)
        }
    }
}
