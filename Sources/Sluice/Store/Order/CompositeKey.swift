internal import SluiceJSON

/// The text of a composite sort key: its parts, whose bytes have the order of their values, between tabs.
///
/// | part | text |
/// | --- | --- |
/// | integer | 19 digits; a negative one is `-` and its distance from the smallest integer |
/// | date | as the views show it; before the year 0 like an integer, after 9999 `:` and an integer |
/// | real | 16 hexadecimal digits |
/// | text | itself; a scalar up to the line feed is a line feed and the scalar 32 higher |
///
/// The first byte orders the forms of one type, and a tab is less than any byte within a part.
enum CompositeKey {
    private static let separator: Unicode.Scalar = "\t"
    private static let escape: Unicode.Scalar = "\n"
    private static let sign: UInt64 = 1 << 63
    /// The microseconds of the years 0 to 9999.
    private static let years: ClosedRange<Int64> = -62_167_219_200_000_000...253_402_300_799_999_999

    static func text(_ parts: [SortKey]) -> String {
        parts.map(form(of:)).joined(separator: String(Character(separator)))
    }

    /// Reads the parts of a text; `nil` if it is none of these types.
    static func parts(_ text: String, _ kinds: [SortKey.Kind]) -> [SortKey]? {
        let texts = text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false)
        guard texts.count == kinds.count else { return nil }
        let parts = zip(texts, kinds).compactMap { part(String(Substring($0)), $1) }
        return parts.count == kinds.count ? parts : nil
    }

    private static func form(of part: SortKey) -> String {
        switch part.storage {
        case .integer(let value): return digits(value)
        case .date(let time):
            if years.contains(time.microseconds) { return time.iso8601 }
            return (time.microseconds < 0 ? "" : ":") + digits(time.microseconds)
        case .real(let value):
            let bits = value == 0 ? 0 : value.bitPattern
            return padded(String(bits & sign == 0 ? bits | sign : ~bits, radix: 16), 16)
        case .text(let value): return escaped(value)
        case .arrival, .composite: preconditionFailure(SortKey.rule)
        }
    }

    private static func part(_ text: String, _ kind: SortKey.Kind) -> SortKey? {
        switch kind {
        case .integer: return integer(text).map { .integer($0) }
        case .date:
            if let time = DateTime(text) { return .time(Timestamp(microseconds: time.microseconds)) }
            let digits = text.hasPrefix(":") ? String(text.dropFirst()) : text
            return integer(digits).map { .time(Timestamp(microseconds: $0)) }
        case .real:
            guard text.utf8.count == 16, let bits = UInt64(text, radix: 16) else { return nil }
            return .real(Double(bitPattern: bits & sign == 0 ? ~bits : bits ^ sign))
        default: return unescaped(text).map { .text($0) }
        }
    }

    private static func digits(_ value: Int64) -> String {
        value < 0 ? "-" + padded(String(value - .min), 19) : padded(String(value), 19)
    }

    private static func integer(_ text: String) -> Int64? {
        let isNegative = text.hasPrefix("-")
        let digits = isNegative ? text.dropFirst() : text[...]
        guard digits.utf8.count == 19, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int64(digits).map { isNegative ? .min + $0 : $0 }
    }

    private static func padded(_ digits: String, _ count: Int) -> String {
        String(repeating: "0", count: max(count - digits.utf8.count, 0)) + digits
    }

    private static func escaped(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            if scalar <= escape, let shifted = Unicode.Scalar(scalar.value + 0x20) {
                result.append(escape)
                result.append(shifted)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    private static func unescaped(_ text: String) -> String? {
        var result = String.UnicodeScalarView()
        var scalars = text.unicodeScalars.makeIterator()
        while let scalar = scalars.next() {
            guard scalar == escape else {
                result.append(scalar)
                continue
            }
            guard let next = scalars.next(), (0x20...0x2A).contains(next.value),
                let original = Unicode.Scalar(next.value - 0x20)
            else { return nil }
            result.append(original)
        }
        return String(result)
    }
}

extension SortKey {
    /// Reads a composite key as the file has it; `nil` if it is none of this type.
    package init?(compositeText text: String, _ kind: Kind) {
        guard let parts = CompositeKey.parts(text, kind.parts) else { return nil }
        self.init(storage: .composite(parts))
    }
}
