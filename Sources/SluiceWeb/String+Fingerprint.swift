#if Web
extension String {
    /// A short text of letters and digits that differs for other texts: FNV-1a, of 64 bits.
    var fingerprint: String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return String(hash, radix: 16)
    }
}
#endif
