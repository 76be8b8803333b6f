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
    /// The type of a sort key.
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        /// Order of arrival alone.
        case arrival
        /// 64-bit integers.
        case integer
        /// Dates, to the microsecond.
        case date
        /// Double-precision numbers.
        case real
        /// Text, compared by its UTF-8 bytes.
        case text
    }

    enum Storage: Sendable, Hashable {
        case arrival
        case integer(Int64)
        case date(Timestamp)
        case real(Double)
        case text(String)
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

    package func places(_ action: ActionID, before other: ActionID, at key: SortKey) -> Bool {
        Place(key: PlaceKey(self), action: action) < Place(key: PlaceKey(key), action: other)
    }
}

extension SortKey: Codable {
    private enum CodingKeys: String, CodingKey { case integer, date, real, text }

    private struct Ignored: Decodable { init(from decoder: any Decoder) throws {} }

    /// Reads a key as an object with its type and value, such as `{"integer": 7}`; an empty one is `arrival`.
    public init(from decoder: any Decoder) throws {
        let names = try decoder.singleValueContainer().decode([String: Ignored].self).keys
        let container = try decoder.container(keyedBy: CodingKeys.self)
        guard names.count == container.allKeys.count, names.count <= 1 else {
            let text = "a sort key has one of integer, date, real and text, or none; found \(names.sorted())"
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
        }
    }
}
