/// What the writer and the parser of JSON share: scanning many bytes of a string at once, and escapes.
enum JSONBytes {
    static let quote = UInt8(ascii: "\"")
    static let backslash = UInt8(ascii: "\\")

    /// Returns the index of the first quote, backslash or control character, which need escapes, or `end`.
    ///
    /// Eight bytes at a time: vectors take half as long in a release build, and sixty times in a debug build.
    @inline(__always)
    static func firstSpecial(in bytes: UnsafePointer<UInt8>, from start: Int, to end: Int) -> Int {
        let raw = UnsafeRawPointer(bytes)
        var index = start
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
        while index < end {
            let byte = bytes[index]
            if byte < 0x20 || byte == quote || byte == backslash { break }
            index &+= 1
        }
        return index
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
