#if PostgreSQL
internal import Sluice

extension Timestamp {
    private static let first = Timestamp(microseconds: -62_135_596_800_000_000)
    private static let last = Timestamp(microseconds: 253_402_300_799_999_999)

    /// The time as the server reads it, clamped to the years 1 to 9999.
    var postgresText: String { min(max(self, Self.first), Self.last).iso8601 }
}

extension Duration {
    /// The duration as the server reads it, clamped to a hundred years.
    var postgresText: String { "\(wholeMicroseconds) microseconds" }
}

extension String {
    /// The text without the character NUL, which the server cannot store.
    var storable: String { utf8.contains(0) ? replacing("\0", with: "\u{FFFD}") : self }
}

extension [UInt8] {
    var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        let bytes = flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The bytes of hexadecimal digits.
    init(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        self = stride(from: 0, to: digits.count - 1, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension PostgresRows.Row {
    /// A column of microseconds since 1970.
    func time(_ column: String) -> Timestamp? { integer(column).map { Timestamp(microseconds: $0) } }
}

/// The expression for a time's microseconds since 1970.
func microseconds(_ column: String) -> String {
    "(extract(epoch FROM \(column)) * 1000000)::bigint"
}
#endif
