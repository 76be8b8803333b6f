/// The exact grammar of RFC 8259.
///
/// Foundation's decoder accepts more: a byte order mark, UTF-16, a comma after the last element, a leading
/// zero, control characters in strings. SQLite accepts none of these; text that it does not accept cannot be
/// read with `->>` or edited.
package struct JSONGrammar {
    /// The greatest nesting of arrays and objects, as in Foundation.
    package static let maximumDepth = 512

    private let depthLimit: Int
    private var rest: Slice<UnsafeBufferPointer<UInt8>>

    /// Returns whether a text is one JSON value.
    ///
    /// - Parameter depth: The greatest nesting of arrays and objects.
    package static func accepts(_ text: String, depth: Int = maximumDepth) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var grammar = JSONGrammar(depthLimit: depth, rest: bytes[...])
            return grammar.value(depth: 0) && grammar.rest.isEmpty
        }
    }

    /// Describes the fault of a text that is not accepted, in a few words.
    package static func fault(of text: String) -> String {
        if text.utf8.starts(with: byteOrderMark) {
            return "is not JSON: it begins with a byte order mark (EF BB BF)"
        }
        return accepts(text, depth: deepest) ? "is nested deeper than \(maximumDepth)" : "is not JSON"
    }

    /// The depth up to which faults are distinguished, as the stack is limited.
    private static let deepest = 4_096

    /// The mark that some editors put before UTF-8.
    package static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private mutating func value(depth: Int) -> Bool {
        skipSpace()
        defer { skipSpace() }
        switch rest.first {
        case UInt8(ascii: "{"): return members(until: UInt8(ascii: "}"), depth: depth)
        case UInt8(ascii: "["): return members(until: UInt8(ascii: "]"), depth: depth)
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "t"): return literal("true")
        case UInt8(ascii: "f"): return literal("false")
        case UInt8(ascii: "n"): return literal("null")
        default: return number()
        }
    }

    /// Reads an array or an object.
    private mutating func members(until end: UInt8, depth: Int) -> Bool {
        guard depth < depthLimit else { return false }
        rest.removeFirst()
        skipSpace()
        if skip(end) { return true }
        repeat {
            if end == UInt8(ascii: "}") {
                skipSpace()
                guard string() else { return false }
                skipSpace()
                guard skip(UInt8(ascii: ":")) else { return false }
            }
            guard value(depth: depth + 1) else { return false }
        } while skip(UInt8(ascii: ","))
        return skip(end)
    }

    private mutating func string() -> Bool {
        guard skip(UInt8(ascii: "\"")) else { return false }
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return true
            case UInt8(ascii: "\\"): guard escape() else { return false }
            case 0..<0x20: return false
            default: break
            }
        }
        return false
    }

    /// Reads the part after a backslash.
    private mutating func escape() -> Bool {
        guard let byte = rest.popFirst() else { return false }
        guard byte == UInt8(ascii: "u") else { return "\"\\/bfnrt".utf8.contains(byte) }
        let digits = rest.prefix(4)
        rest = rest.dropFirst(4)
        return digits.count == 4 && digits.allSatisfy { Character(Unicode.Scalar($0)).isHexDigit }
    }

    private mutating func number() -> Bool {
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { guard digits() else { return false } }
        if skip(UInt8(ascii: ".")) { guard digits() else { return false } }
        guard skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) else { return true }
        if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
        return digits()
    }

    /// Reads at least one digit.
    private mutating func digits() -> Bool {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        rest = rest.dropFirst(digits.count)
        return !digits.isEmpty
    }

    private mutating func literal(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        let matches = rest.prefix(count).elementsEqual(
            UnsafeBufferPointer(start: word.utf8Start, count: count)
        )
        rest = rest.dropFirst(count)
        return matches
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipSpace() {
        rest = rest.drop { $0 == 0x20 || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
    }
}
