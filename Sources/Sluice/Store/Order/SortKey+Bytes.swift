/// A sort key as bytes in the keys' order, for an engine that compares bytes.
extension SortKey {
    private static let sign: UInt64 = 1 << 63

    /// The bytes: empty for the order of arrival, eight for a number or a date, else UTF-8.
    package var orderedBytes: [UInt8] {
        switch storage {
        case .arrival: []
        case .integer(let value): Self.bytes(UInt64(bitPattern: value) ^ Self.sign)
        case .date(let time): Self.bytes(UInt64(bitPattern: time.microseconds) ^ Self.sign)
        case .real(let value): Self.bytes(Self.ordered(value))
        case .text(let text): Array(text.utf8)
        case .composite(let parts): Array(CompositeKey.text(parts).utf8)
        }
    }

    /// Reads ``orderedBytes``; `nil` if they are not of this type.
    package init?(orderedBytes bytes: [UInt8], _ kind: Kind) {
        let number = bytes.count == 8 ? bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } : nil
        let text = String(validating: bytes, as: UTF8.self)
        switch kind {
        case .arrival: self = .arrival
        case .integer:
            guard let number else { return nil }
            self = .integer(Int64(bitPattern: number ^ Self.sign))
        case .date:
            guard let number else { return nil }
            self = SortKey(storage: .date(Timestamp(microseconds: Int64(bitPattern: number ^ Self.sign))))
        case .real:
            guard let number else { return nil }
            let bits = number & Self.sign == 0 ? ~number : number ^ Self.sign
            self = .real(Double(bitPattern: bits))
        case .text:
            guard let text else { return nil }
            self = .text(text)
        default:
            guard let text, let key = SortKey(compositeText: text, kind) else { return nil }
            self = key
        }
    }

    private static func bytes(_ number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    /// A negative number has all bits flipped, another one the sign alone; a negative zero is zero.
    private static func ordered(_ value: Double) -> UInt64 {
        let bits = (value == 0 ? 0 : value).bitPattern
        return bits & sign == 0 ? bits ^ sign : ~bits
    }
}
