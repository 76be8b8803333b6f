#if CommandLineTool
/// A key press.
enum Key: Hashable {
    case character(Character)
    case up, down, pageUp, pageDown, home, end
    case enter, escape, backspace

    /// Returns the keys for bytes from a terminal (ECMA-48; xterm's sequences).
    ///
    /// A sequence arrives in one piece: an escape at the end of a piece is the key.
    static func keys(in bytes: [UInt8]) -> [Key] {
        var keys: [Key] = []
        var rest = bytes[...]
        while let byte = rest.first {
            if byte == 0x1B, let (key, length) = sequence(rest.dropFirst()) {
                if let key { keys.append(key) }
                rest = rest.dropFirst(1 + length)
                continue
            }
            switch byte {
            case 0x1B: keys.append(.escape)
            case 0x0D, 0x0A: keys.append(.enter)
            case 0x7F, 0x08: keys.append(.backspace)
            case ..<0x20: break
            case ..<0x80: keys.append(.character(Character(Unicode.Scalar(byte))))
            default:
                let count = rest.dropFirst().prefix { $0 & 0xC0 == 0x80 }.count + 1
                keys += String(decoding: rest.prefix(count), as: UTF8.self).map(Key.character)
                rest = rest.dropFirst(count - 1)
            }
            rest = rest.dropFirst()
        }
        return keys
    }

    /// Reads the part after an escape: a key, or none that has a meaning here, and its length.
    private static func sequence(_ rest: ArraySlice<UInt8>) -> (key: Key?, length: Int)? {
        guard let introducer = rest.first, introducer == UInt8(ascii: "[") || introducer == UInt8(ascii: "O")
        else {
            return nil
        }
        let parameters = rest.dropFirst().prefix { (0x30...0x3F).contains($0) }
        guard let final = rest.dropFirst(1 + parameters.count).first else {
            return (nil, 1 + parameters.count)
        }
        let named: [UInt8: Key] = [
            UInt8(ascii: "A"): .up, UInt8(ascii: "B"): .down, UInt8(ascii: "H"): .home,
            UInt8(ascii: "F"): .end,
        ]
        let numbered: [String: Key] = ["5": .pageUp, "6": .pageDown, "1": .home, "4": .end]
        let key =
            final == UInt8(ascii: "~") ? numbered[String(decoding: parameters, as: UTF8.self)] : named[final]
        return (key, 2 + parameters.count)
    }
}
#endif
