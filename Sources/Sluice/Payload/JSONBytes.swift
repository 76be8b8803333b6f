/// Code shared by the writer and the parser of JSON: scanning many bytes of a string at once.
enum JSONBytes {
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")

    /// Finds the first byte that a JSON string must escape: a quote, a backslash or a control character.
    ///
    /// - Returns: Its index, or `end`.
    @inline(__always)
    static func firstSpecial(in bytes: UnsafePointer<UInt8>, from start: Int, to end: Int) -> Int {
        let raw = UnsafeRawPointer(bytes)
        var index = start
        while index &+ 16 <= end {
            // A borrow sets the highest bit of a byte; only bytes of ASCII count.
            let bytes = raw.loadUnaligned(fromByteOffset: index, as: SIMD16<UInt8>.self)
            let quotes = (bytes ^ SIMD16(repeating: quote)) &- SIMD16(repeating: 1)
            let backslashes = (bytes ^ SIMD16(repeating: backslash)) &- SIMD16(repeating: 1)
            let controls = bytes &- SIMD16(repeating: 0x20)
            let special = (quotes | backslashes | controls) & ~bytes & SIMD16(repeating: 0x80)
            let halves = unsafeBitCast(special, to: SIMD2<UInt64>.self)
            if halves.x | halves.y != 0 { break }
            index &+= 16
        }
        while index &+ 8 <= end {
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            let special = specials(in: word)
            if special != 0 { return index &+ special.trailingZeroBitCount &>> 3 }
            index &+= 8
        }
        if index < end, end &- start >= 8 {
            // Some of these bytes have been checked already; they are not special.
            let word = UInt64(littleEndian: raw.loadUnaligned(fromByteOffset: end &- 8, as: UInt64.self))
            let special = specials(in: word)
            return special == 0 ? end : end &- 8 &+ special.trailingZeroBitCount &>> 3
        }
        while index < end, !isSpecial(bytes[index]) { index &+= 1 }
        return index
    }

    @inline(__always)
    static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == quote || byte == backslash
    }

    /// Returns the highest bit of each special byte; bits above the lowest one that is set may be wrong.
    @inline(__always)
    static func specials(in word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let quotes = word ^ (ones &* UInt64(quote))
        let backslashes = word ^ (ones &* UInt64(backslash))
        let borrows = (word &- ones &* 0x20) | (quotes &- ones) | (backslashes &- ones)
        return borrows & ~word & (ones &* 0x80)
    }
}

/// A hash of a key.
///
/// Different keys may share it, which only costs a fallback.
enum KeyHash {
    /// Returns the hash of a key that is ASCII and needs no escapes, else nil.
    ///
    /// Other keys are rare, and Swift treats some of them as equal though their bytes differ.
    @inline(__always)
    static func of(_ key: UnsafePointer<UInt8>, count: Int) -> UInt32? {
        let raw = UnsafeRawPointer(key)
        var hash = UInt64(truncatingIfNeeded: count)
        var odd: UInt64 = 0
        @inline(__always) func add(_ word: UInt64) {
            odd |= JSONBytes.specials(in: word) | word & 0x8080_8080_8080_8080
            hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
            hash ^= hash &>> 32
        }
        if count >= 8 {
            var index = 0
            while index &+ 8 < count {
                add(raw.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                index &+= 8
            }
            add(raw.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
        } else {
            // Missing bytes count as a letter.
            var word: UInt64 = 0x6161_6161_6161_6161
            for index in 0..<count { word = word &<< 8 | UInt64(key[index]) }
            add(word)
        }
        return odd == 0 ? UInt32(truncatingIfNeeded: hash) : nil
    }

    /// Returns whether a hash occurs twice among an object's keys.
    @inline(__always)
    static func hasDuplicate(_ hashes: UnsafeMutableBufferPointer<UInt32>) -> Bool {
        // Comparing all pairs is the fastest for few keys.
        guard hashes.count > 16 else {
            for index in 0..<hashes.count {
                for earlier in 0..<index where hashes[earlier] == hashes[index] { return true }
            }
            return false
        }
        var hashes = hashes
        hashes.sort()
        return zip(hashes, hashes.dropFirst()).contains { $0 == $1 }
    }
}

/// Elements in growing memory; the first memory is borrowed.
struct GrowingBuffer<Element: BitwiseCopyable> {
    private(set) var start: UnsafeMutablePointer<Element>
    private(set) var capacity: Int
    private var isOwned = false
    var count = 0

    init(_ first: UnsafeMutablePointer<Element>, capacity: Int) {
        start = first
        self.capacity = capacity
    }

    func deallocate() {
        if isOwned { start.deallocate() }
    }

    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity &- count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        // With room for the bytes after a long string, such as the end of its object.
        capacity = max(capacity * 2, count + more + 64)
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        deallocate()
        start = larger
        isOwned = true
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        reserve(1)
        start[count] = element
        count &+= 1
    }

    @inline(__always)
    mutating func append(_ source: UnsafePointer<Element>, count more: Int) {
        reserve(more)
        (start + count).update(from: source, count: more)
        count &+= more
    }
}

/// A key of a path for user code; the text does not know the types of its keys.
struct PathKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) {
        self.stringValue = stringValue
        intValue = nil
    }

    init(intValue: Int) {
        stringValue = "Index \(intValue)"
        self.intValue = intValue
    }
}

extension JSONBytes {
    /// Returns the number of four hexadecimal digits.
    static func hexadecimal(_ digits: UnsafePointer<UInt8>) -> UInt16? {
        var result: UInt16 = 0
        for index in 0..<4 {
            let digit: UInt8
            switch digits[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = digits[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = digits[index] - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = digits[index] - UInt8(ascii: "A") + 10
            default: return nil
            }
            result = result << 4 | UInt16(digit)
        }
        return result
    }

    /// Returns the text of a checked JSON string with escapes.
    static func unescaped(_ source: UnsafeBufferPointer<UInt8>) -> String {
        guard let start = source.baseAddress else { return "" }
        // An escape is never shorter than its text.
        return String(unsafeUninitializedCapacity: source.count) { target in
            guard let output = target.baseAddress else { return 0 }
            var count = 0
            var index = 0
            while true {
                let end = firstSpecial(in: start, from: index, to: source.count)
                (output + count).update(from: start + index, count: end &- index)
                count &+= end &- index
                guard end < source.count else { return count }
                let (scalar, length) = scalar(ofEscape: start + end)
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    output[count] = byte
                    count &+= 1
                }
                index = end &+ length
            }
        }
    }

    /// Returns the scalar of a checked escape, and the escape's length in bytes.
    private static func scalar(ofEscape escape: UnsafePointer<UInt8>) -> (Unicode.Scalar, length: Int) {
        switch escape[1] {
        case UInt8(ascii: "b"): return ("\u{8}", 2)
        case UInt8(ascii: "f"): return ("\u{C}", 2)
        case UInt8(ascii: "n"): return ("\n", 2)
        case UInt8(ascii: "r"): return ("\r", 2)
        case UInt8(ascii: "t"): return ("\t", 2)
        case UInt8(ascii: "u"): break
        default: return (Unicode.Scalar(escape[1]), 2)
        }
        let unit = hexadecimal(escape + 2) ?? 0
        if let scalar = Unicode.Scalar(unit) { return (scalar, 6) }
        let pair = UInt32(unit & 0x3FF) << 10 | UInt32((hexadecimal(escape + 8) ?? 0) & 0x3FF)
        return (Unicode.Scalar(0x1_0000 + pair) ?? "\u{FFFD}", 12)
    }
}
