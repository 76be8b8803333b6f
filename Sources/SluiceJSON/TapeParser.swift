/// Checks a JSON text.
///
/// `TapeParser<Token>` splits it into tokens, in the order of the text, if all of it is ordinary.
/// `TapeParser<Never>` makes no tokens, and accepts every text of the grammar.
struct TapeParser<Output>: ~Copyable {
    let bytes: UnsafePointer<UInt8>
    let end: Int
    let depthLimit: Int
    /// Deallocated by the caller.
    private(set) var tokens: GrowingBuffer<Token>
    private(set) var index = 0

    /// A constant wherever the compiler specialises the type.
    @inline(__always)
    private static var makesTokens: Bool { Output.self == Token.self }

    /// Returns whether the text is one value of JSON; of tokens, whether all of it is ordinary.
    mutating func parse() -> Bool {
        guard end < UInt32.max, value(depth: 0) else { return false }
        skipSpace()
        // The token of a missing value.
        append(.null, start: end, length: 0)
        return index == end
    }

    @inline(__always)
    private mutating func append(_ kind: Token.Kind, start: Int, length: Int, next: UInt32? = nil) {
        guard Self.makesTokens else { return }
        let start = UInt32(truncatingIfNeeded: start)
        let length = UInt32(truncatingIfNeeded: length)
        let next = next ?? UInt32(truncatingIfNeeded: tokens.count &+ 1)
        tokens.append(Token(kind: kind, start: start, length: length, next: next))
    }

    /// The next byte; at the end 0, which never occurs outside of strings.
    @inline(__always)
    private var current: UInt8 { index < end ? bytes[index] : 0 }

    @inline(__always)
    private mutating func skip(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        index &+= 1
        return true
    }

    @inline(__always)
    private mutating func skipSpace() {
        while true {
            switch current {
            case 0x20, 0x09, 0x0A, 0x0D: index &+= 1
            default: return
            }
        }
    }

    private mutating func value(depth: Int) -> Bool {
        skipSpace()
        switch current {
        case JSONBytes.quote: return string()
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        case UInt8(ascii: "t"): return literal("true", .isTrue)
        case UInt8(ascii: "f"): return literal("false", .isFalse)
        case UInt8(ascii: "n"): return literal("null", .null)
        default: return number()
        }
    }

    private mutating func array(depth: Int) -> Bool { container(.array, depth) }
    private mutating func object(depth: Int) -> Bool { container(.object, depth) }

    /// Inlined into its two callers, so that what they differ in costs nothing.
    @inline(__always)
    private mutating func container(_ kind: Token.Kind, _ depth: Int) -> Bool {
        guard depth < depthLimit else { return false }
        let isObject = kind == .object
        let close = isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")
        let container = tokens.count
        append(kind, start: 0, length: 0)
        index &+= 1
        skipSpace()
        var length: UInt32 = 0
        if current != close {
            repeat {
                if isObject {
                    skipSpace()
                    guard key() else { return false }
                    skipSpace()
                    guard skip(UInt8(ascii: ":")) else { return false }
                }
                guard value(depth: depth + 1) else { return false }
                length += 1
                skipSpace()
            } while skip(UInt8(ascii: ","))
        }
        guard Self.makesTokens else { return skip(close) }
        tokens.start[container].length = length
        tokens.start[container].next = UInt32(truncatingIfNeeded: tokens.count)
        return skip(close) && (!isObject || hasUniqueKeys(container, Int(length)))
    }

    private func hasUniqueKeys(_ object: Int, _ members: Int) -> Bool {
        guard members > 1 else { return true }
        // Keys are searched one after the other, which is too slow in larger objects.
        guard members <= 4_096 else { return false }
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: members) { hashes in
            var key = object + 1
            for index in 0..<members {
                hashes.initializeElement(at: index, to: tokens.start[key].next)
                key = Int(tokens.start[key + 1].next)
            }
            return !KeyHash.hasDuplicate(hashes)
        }
    }

    private mutating func key() -> Bool {
        guard Self.makesTokens else { return current == JSONBytes.quote && string() }
        guard skip(JSONBytes.quote) else { return false }
        let start = index
        index = JSONBytes.firstSpecial(in: bytes, from: index, to: end)
        let length = index &- start
        guard skip(JSONBytes.quote), let hash = KeyHash.of(bytes + start, count: length) else { return false }
        append(.key, start: start, length: length, next: hash)
        return true
    }

    private mutating func string() -> Bool {
        index &+= 1
        let start = index
        var kind = Token.Kind.string
        while true {
            index = JSONBytes.firstSpecial(in: bytes, from: index, to: end)
            switch current {
            case JSONBytes.quote:
                append(kind, start: start, length: index &- start)
                index &+= 1
                return true
            case JSONBytes.backslash:
                kind = .escapedString
                guard escape() else { return false }
            default: return false
            }
        }
    }

    private mutating func escape() -> Bool {
        index &+= 1
        switch current {
        case JSONBytes.quote, JSONBytes.backslash, UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index &+= 1
            return true
        case UInt8(ascii: "u"):
            index &+= 1
            guard let unit = hexadecimal() else { return false }
            guard Self.makesTokens else { return true }
            if UTF16.isTrailSurrogate(unit) { return false }
            guard UTF16.isLeadSurrogate(unit) else { return true }
            guard skip(JSONBytes.backslash), skip(UInt8(ascii: "u")), let trail = hexadecimal() else {
                return false
            }
            return UTF16.isTrailSurrogate(trail)
        default: return false
        }
    }

    private mutating func hexadecimal() -> UInt16? {
        guard index &+ 4 <= end else { return nil }
        defer { index &+= 4 }
        return JSONBytes.hexadecimal(bytes + index)
    }

    private mutating func number() -> Bool {
        let start = index
        var kind = Token.Kind.integer
        _ = skip(UInt8(ascii: "-"))
        if !skip(UInt8(ascii: "0")) { guard digits() else { return false } }
        if skip(UInt8(ascii: ".")) {
            kind = .number
            guard digits() else { return false }
        }
        if skip(UInt8(ascii: "e")) || skip(UInt8(ascii: "E")) {
            kind = .number
            if !skip(UInt8(ascii: "+")) { _ = skip(UInt8(ascii: "-")) }
            guard digits() else { return false }
        }
        append(kind, start: start, length: index &- start)
        return true
    }

    /// Reads at least one digit.
    private mutating func digits() -> Bool {
        let start = index
        while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(current) { index &+= 1 }
        return index > start
    }

    private mutating func literal(_ word: StaticString, _ kind: Token.Kind) -> Bool {
        let length = word.utf8CodeUnitCount
        guard index &+ length <= end else { return false }
        for offset in 0..<length where bytes[index &+ offset] != word.utf8Start[offset] { return false }
        append(kind, start: index, length: length)
        index &+= length
        return true
    }
}
