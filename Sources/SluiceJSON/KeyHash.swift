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
