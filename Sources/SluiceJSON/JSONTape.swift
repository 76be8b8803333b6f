#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A JSON text and its tokens, from which values decode.
///
/// Each thrown error is noted, since user code may swallow it: the value then does not count, and
/// Foundation's decoder starts over.
package final class JSONTape {
    private(set) var isOrdinary = true
    private var bytes: UnsafePointer<UInt8>
    private let byteCount: Int
    let tokens: UnsafeMutablePointer<Token>
    /// The token of a missing value.
    let nothing: Int
    /// A copy of the text, after the original text is gone.
    private var copy: UnsafeMutablePointer<UInt8>?

    private init?(_ text: UnsafeBufferPointer<UInt8>) {
        guard let start = text.baseAddress else { return nil }
        let first = UnsafeMutablePointer<Token>.allocate(capacity: 32)
        let buffer = GrowingBuffer<Token>(first, capacity: 32, isOwned: true)
        let depth = JSONOutput.maximumDepth
        var parser = TapeParser<Token>(bytes: start, end: text.count, depthLimit: depth, tokens: buffer)
        let isOrdinary = parser.parse()
        tokens = parser.tokens.start
        nothing = parser.tokens.count - 1
        bytes = start
        byteCount = text.count
        if !isOrdinary { return nil }
    }

    deinit {
        tokens.deallocate()
        copy?.deallocate()
    }

    /// Decodes a value from a text; throws if Foundation has to decode it.
    package static func decode<Value: Decodable>(_ type: Value.Type, from text: String) throws -> Value {
        var text = text
        return try text.withUTF8 { bytes in
            guard var tape = JSONTape(bytes) else { throw NotOrdinary() }
            let value: Value
            do {
                defer { if !isKnownUniquelyReferenced(&tape) { tape.keepText() } }
                value = try tape.value(type, at: 0)
            }
            guard tape.isOrdinary else { throw NotOrdinary() }
            return value
        }
    }

    private struct NotOrdinary: Error {}

    /// Copies the text for a decoder that outlives its value; its later use falls back to Foundation.
    private func keepText() {
        let kept = UnsafeMutablePointer<UInt8>.allocate(capacity: byteCount)
        kept.initialize(from: bytes, count: byteCount)
        copy = kept
        bytes = UnsafePointer(kept)
        isOrdinary = false
    }

    func giveUp() { isOrdinary = false }

    /// Gives up, and returns an error that no one sees: Foundation's decoder makes its own.
    @inline(never)
    func refusal() -> DecodingError {
        isOrdinary = false
        return .dataCorrupted(.init(codingPath: [], debugDescription: "The value is not an ordinary one."))
    }

    private func text(of token: Token) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: bytes + Int(token.start), count: Int(token.length))
    }

    func isNull(_ index: Int) -> Bool { tokens[index].kind == .null }

    @inline(__always)
    func value<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if type == String.self { return unsafeBitCast(try string(at: index), to: type) }
        if type == Int.self { return unsafeBitCast(try integer(Int.self, at: index), to: type) }
        if type == Bool.self { return unsafeBitCast(try bool(at: index), to: type) }
        if type == Double.self { return unsafeBitCast(try double(at: index), to: type) }
        return try otherValue(type, at: index)
    }

    private func otherValue<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        if type == Int64.self { return unsafeBitCast(try integer(Int64.self, at: index), to: type) }
        if type == Int32.self { return unsafeBitCast(try integer(Int32.self, at: index), to: type) }
        if type == Int16.self { return unsafeBitCast(try integer(Int16.self, at: index), to: type) }
        if type == Int8.self { return unsafeBitCast(try integer(Int8.self, at: index), to: type) }
        if type == UInt.self { return unsafeBitCast(try integer(UInt.self, at: index), to: type) }
        if type == UInt64.self { return unsafeBitCast(try integer(UInt64.self, at: index), to: type) }
        if type == UInt32.self { return unsafeBitCast(try integer(UInt32.self, at: index), to: type) }
        if type == UInt16.self { return unsafeBitCast(try integer(UInt16.self, at: index), to: type) }
        if type == UInt8.self { return unsafeBitCast(try integer(UInt8.self, at: index), to: type) }
        if type == Int128.self { return unsafeBitCast(try integer(Int128.self, at: index), to: type) }
        if type == UInt128.self { return unsafeBitCast(try integer(UInt128.self, at: index), to: type) }
        // Foundation reads these in its own way, not by their own code.
        if type == Float.self || type == Decimal.self || type == URL.self || type == Data.self {
            return try foreign(type, at: index)
        }
        if type == Date.self, [.string, .escapedString].contains(tokens[index].kind) {
            guard let date = Date(iso8601: try string(at: index)) else { throw refusal() }
            return unsafeBitCast(date, to: type)
        }
        do { return try Value(from: TapeDecoder(tape: self, index: index)) } catch {
            isOrdinary = false
            throw error
        }
    }

    /// Decodes a string or number with Foundation alone.
    private func foreign<Value: Decodable>(_ type: Value.Type, at index: Int) throws -> Value {
        let token = tokens[index]
        let quotes: UInt32
        switch token.kind {
        case .string, .escapedString: quotes = 1
        case .integer, .number: quotes = 0
        default: throw refusal()
        }
        let start = bytes + Int(token.start - quotes)
        let text = UnsafeBufferPointer(start: start, count: Int(token.length + 2 * quotes))
        do { return try JSONDecoder().decode(type, from: Data(text)) } catch { throw refusal() }
    }

    private func string(at index: Int) throws -> String {
        let token = tokens[index]
        switch token.kind {
        case .string: return String(decoding: text(of: token), as: UTF8.self)
        case .escapedString: return JSONBytes.unescaped(text(of: token))
        default: throw refusal()
        }
    }

    private func bool(at index: Int) throws -> Bool {
        let kind = tokens[index].kind
        guard kind == .isTrue || kind == .isFalse else { throw refusal() }
        return kind == .isTrue
    }

    @inline(__always)
    private func integer<I: FixedWidthInteger & Decodable>(_ type: I.Type, at index: Int) throws -> I {
        let token = tokens[index]
        if token.kind == .integer, let (isNegative, magnitude) = small(token) {
            let signed = isNegative ? -Int64(magnitude) : Int64(magnitude)
            if !isNegative || magnitude > 0, let value = I(exactly: signed) { return value }
        }
        return try foreign(type, at: index)
    }

    /// Returns a number with at most 18 digits and no fraction.
    @inline(__always)
    private func small(_ token: Token) -> (isNegative: Bool, magnitude: UInt64)? {
        var digits = text(of: token)[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits.removeFirst() }
        guard digits.count <= 18 else { return nil }
        var magnitude: UInt64 = 0
        for digit in digits { magnitude = magnitude &* 10 &+ UInt64(digit &- UInt8(ascii: "0")) }
        return (isNegative, magnitude)
    }

    private func double(at index: Int) throws -> Double {
        let token = tokens[index]
        // Up to here whole numbers and doubles are the same.
        if token.kind == .integer, let (isNegative, magnitude) = small(token), magnitude <= 1 << 53 {
            return isNegative ? -Double(magnitude) : Double(magnitude)
        }
        guard token.kind == .integer || token.kind == .number else { throw refusal() }
        let value = Double(String(decoding: text(of: token), as: UTF8.self))
        // Zero and infinity may result from a number that is out of range.
        if let value, value.isNormal { return value }
        return try foreign(Double.self, at: index)
    }

    /// Returns the value of a key in an object, or nil if there is no such key.
    ///
    /// Searches after the key found last first, since keys are mostly read in the order of the text.
    func find(_ wanted: String, in object: Int) -> Int? {
        var wanted = wanted
        return wanted.withUTF8 { wanted -> Int? in
            let last = Int(tokens[object].start)
            let end = Int(tokens[object].next)
            var key = last == 0 ? object &+ 1 : Int(tokens[last &+ 1].next)
            for _ in 0..<tokens[object].length {
                if key == end { key = object &+ 1 }
                if matches(key, wanted) {
                    tokens[object].start = UInt32(truncatingIfNeeded: key)
                    return key &+ 1
                }
                key = Int(tokens[key &+ 1].next)
            }
            // Swift treats a few characters as equal to one of ASCII.
            if wanted.contains(where: { $0 >= 0x80 }) { isOrdinary = false }
            return nil
        }
    }

    @inline(__always)
    private func matches(_ key: Int, _ wanted: UnsafeBufferPointer<UInt8>) -> Bool {
        guard Int(tokens[key].length) == wanted.count else { return false }
        let found = bytes + Int(tokens[key].start)
        for index in 0..<wanted.count where found[index] != wanted[index] { return false }
        return true
    }

    func keys(of object: Int) -> [String] {
        var key = object + 1
        return (0..<tokens[object].length).map { _ in
            defer { key = Int(tokens[key + 1].next) }
            return self.key(at: key)
        }
    }

    private func key(at index: Int) -> String { String(decoding: text(of: tokens[index]), as: UTF8.self) }

    /// Returns the keys that lead to a value, for user code.
    ///
    /// Gives up, since the keys are not of the type that the code knows.
    func path(to wanted: Int) -> [any CodingKey] {
        giveUp()
        var path: [any CodingKey] = []
        var container = 0
        while container < wanted, wanted < Int(tokens[container].next) {
            let isObject = tokens[container].kind == .object
            var child = container + (isObject ? 2 : 1)
            var index = 0
            while Int(tokens[child].next) <= wanted {
                child = Int(tokens[child].next) + (isObject ? 1 : 0)
                index += 1
            }
            path.append(isObject ? PathKey(stringValue: key(at: child - 1)) : PathKey(intValue: index))
            container = child
        }
        return path
    }
}
