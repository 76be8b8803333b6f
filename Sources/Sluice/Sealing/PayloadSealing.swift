#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// Seals payloads before they are stored, and opens them before a handler gets them.
///
/// The product `SluiceCrypto`, with the trait `Crypto`, has an implementation. See <doc:Security>.
///
/// Both methods are called on any thread, several at a time. They must not call the broker: an edit seals
/// inside a transaction.
public protocol PayloadSealing: Sendable {
    /// Seals a payload, JSON text in UTF-8, so that only the same context opens it.
    ///
    /// - Throws: Any error; nothing is stored, and the caller gets ``SluiceError/Code/payloadNotSealed``.
    func seal(_ payload: Data, as context: SealingContext) throws -> SealedPayload

    /// Opens a sealed payload, in the same context.
    ///
    /// - Throws: ``SealingFailure``, or an error of which only the type is reported; the action stays.
    func open(_ sealed: SealedPayload, as context: SealingContext) throws -> Data
}

/// The context of a sealed payload, without which it cannot be opened.
///
/// Kind and version never change while a payload is stored; queue, place, number and tag may.
public struct SealingContext: Sendable, Hashable {
    /// The kind of the action.
    public let kind: String
    /// The version of the kind that the payload is written in.
    public let version: Int

    /// Makes a context, for tests of a sealing.
    public init(kind: String, version: Int) {
        self.kind = kind
        self.version = version
    }

    /// The context as bytes to authenticate: different ones for different contexts.
    public var bytes: Data { Data("sluice payload 1\n\(version)\n\(kind)".utf8) }
}

/// A sealed payload, and the name of its key.
///
/// It is stored as JSON text, with the bytes in Base64: `{"sluice_sealed":"…","key":"…"}`.
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
                switch Unicode.Scalar(byte) {
                case "-"..."9", ":", "@"..."Z", "_", "a"..."z": true
                default: false
                }
            }
    }

    private static let head = #"{"sluice_sealed":""#
    private static let middle = #"","key":""#
    private static let tail = #""}"#

    static func isSealed(_ text: String) -> Bool {
        // Called for each payload that is read; most differ in the first byte of their first key.
        text.utf8.dropFirst(2).first == UInt8(ascii: "s") && text.utf8.starts(with: head.utf8)
    }

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
