#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// Seals payloads before they are stored, and opens them before a handler gets them.
///
/// The product `SluiceCrypto`, with the trait `Crypto`, has one with keys of the application's; a type of
/// your own may keep its keys where it likes. See <doc:Security>.
///
/// Both methods are called on any thread, several at a time. They must not call the broker: an edit seals
/// inside a transaction.
public protocol PayloadSealing: Sendable {
    /// Seals a payload.
    ///
    /// - Parameters:
    ///   - payload: JSON text in UTF-8.
    ///   - context: What the payload is to be opened with alone.
    /// - Throws: Then nothing is stored, and the caller gets ``SluiceError/Code/payloadNotSealed``.
    func seal(_ payload: Data, as context: SealingContext) throws -> SealedPayload

    /// Opens what was sealed, in the same context.
    ///
    /// - Throws: ``SealingFailure``, or another error, of which the type alone is told. The action stays, as
    ///   one whose payload does not decode.
    func open(_ sealed: SealedPayload, as context: SealingContext) throws -> Data
}

/// What a sealed payload belongs to, and cannot be opened without.
///
/// Kind and version say how a handler reads a payload, and stay as long as the payload does. Queue, place,
/// number and tag may change while an action waits: they are not part of it.
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

/// Why a sealed payload cannot be opened.
///
/// The status of its queue says so, with the name of the key.
public enum SealingFailure: Error, Sendable, Hashable {
    /// There is no key of that name.
    case missingKey
    /// It was sealed with another key of that name or in another context, or has been changed.
    case notAuthentic
}

/// A payload that has been sealed, and the name of its key.
///
/// It is stored as JSON text, `{"sluice_sealed":"…","key":"…"}` with the bytes in Base64, exactly so.
public struct SealedPayload: Sendable, Hashable {
    /// The key's name: 1 to 255 ASCII letters, digits and `-`, `.`, `_`, `:`, `/`, `@`.
    ///
    /// It stands in the file as it is.
    public let key: String
    /// What the sealing needs to open it, such as nonce, ciphertext and tag.
    public let bytes: Data

    /// Names a key and what was sealed with it.
    public init(key: String, bytes: Data) {
        self.key = key
        self.bytes = bytes
    }

    /// Whether a text can be the name of a key.
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

    /// Whether a stored payload says that it is sealed.
    static func isSealed(_ text: String) -> Bool {
        // Asked of each payload that is read; most differ in the first byte of their first key.
        text.utf8.dropFirst(2).first == UInt8(ascii: "s") && text.utf8.starts(with: head.utf8)
    }

    /// The JSON text that is stored.
    var text: String { Self.head + bytes.base64EncodedString() + Self.middle + key + Self.tail }

    /// Reads what is stored; `nil` if it is not what ``text`` writes.
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
