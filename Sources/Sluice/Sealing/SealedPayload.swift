#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// A sealed payload, and the name of its key.
///
/// It is stored as JSON text in exactly this form: `{"sluice_sealed":"…","key":"…"}`, with the bytes in
/// Base64.
public struct SealedPayload: Sendable, Hashable {
    /// The key's name: 1 to 255 ASCII letters, digits and `-`, `.`, `_`, `:`, `/`, `@`; stored in plain text.
    public let key: String
    /// The bytes for opening it, such as nonce, ciphertext and tag.
    public let bytes: Data

    /// Makes a sealed payload.
    public init(key: String, bytes: Data) {
        self.key = key
        self.bytes = bytes
    }

    /// Returns whether a text is a valid name of a key.
    public static func isValid(key: String) -> Bool {
        (1...255).contains(key.utf8.count)
            && key.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
                    UInt8(ascii: "_"), UInt8(ascii: ":"), UInt8(ascii: "/"), UInt8(ascii: "@"):
                    true
                default: false
                }
            }
    }
}

extension SealedPayload {
    private static let head = #"{"sluice_sealed":""#
    private static let middle = #"","key":""#
    private static let tail = #""}"#

    /// Returns whether a stored payload is sealed.
    static func isSealed(_ text: String) -> Bool {
        // Called for each payload that is read; most differ in the first byte of their first key.
        text.utf8.dropFirst(2).first == UInt8(ascii: "s") && text.utf8.starts(with: head.utf8)
    }

    /// The JSON text that is stored.
    var text: String { Self.head + bytes.base64EncodedString() + Self.middle + key + Self.tail }

    /// Reads a stored payload; `nil` if it is not in the format of ``text``.
    init?(_ text: String) {
        guard Self.isSealed(text), text.utf8.suffix(Self.tail.utf8.count).elementsEqual(Self.tail.utf8) else {
            return nil
        }
        let parts = text.dropFirst(Self.head.count).dropLast(Self.tail.count)
            .split(separator: "\"", omittingEmptySubsequences: false)
        // The bytes, a comma, the word, a colon, the key.
        guard parts.count == 5, parts[1] == ",", parts[2] == "key", parts[3] == ":",
            Self.isValid(key: String(parts[4])), let bytes = Data(base64Encoded: String(parts[0]))
        else { return nil }
        self.init(key: String(parts[4]), bytes: bytes)
    }
}
