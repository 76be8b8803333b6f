#if Crypto
public import Crypto
public import Sluice
internal import Synchronization

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// Seals payloads with keys of the application's, by ChaCha20-Poly1305 (RFC 8439).
///
/// ```swift
/// let keys = try KeyRing(sealingWith: "2026-11", keychain.key("2026-11"))
/// var options = BrokerOptions()
/// options.payloadSealing = keys
/// let broker = try await Broker(file: "outbox.sqlite", options: options)
/// ```
///
/// A key has 256 bits and a name, which stands in the file beside what was sealed with it. What was sealed
/// cannot be read without its key, nor changed, nor opened as another kind or version. It can still be
/// removed, delayed, moved to another queue, or stored twice, by who can write the file.
///
/// **Rotation.** ``seal(with:_:)`` has a new key seal from then on, and the old ones open what they have
/// sealed. A key may be forgotten when no payload has its name any more:
///
/// ```sql
/// SELECT payload ->> '$.key', count(*) FROM sluice_actions GROUP BY 1
/// ```
///
/// and the same of `sluice_dead`. Each sealing draws a random nonce of 96 bits, so seal no more than 2³²
/// payloads with one key.
///
/// **A key that is missing** has the action wait, parked as *undecodable*, with the key's name as the reason;
/// what it does in the end is the route's policy for `FailureCause.undecodable`. Add the key and call
/// `Broker.payloadSealingChanged()`, and it runs.
public final class KeyRing: PayloadSealing {
    /// The bits that a key has.
    public static let keyBitCount = 256

    private struct Keys {
        /// The name of the one that seals.
        var newest: String
        var all: [String: SymmetricKey]
    }

    private let keys: Mutex<Keys>
    private let lookUp: @Sendable (String) throws -> SymmetricKey?

    /// Makes a ring with the key that seals.
    ///
    /// - Parameters:
    ///   - name: The key's name; see `SealedPayload.key`.
    ///   - key: 256 bits.
    ///   - lookUp: Asked for a key that was not added, each time that it is needed; `nil` says that there is
    ///     none. What it throws leaves the action parked, with the error's type as the reason.
    /// - Throws: `SluiceError` with `invalidOptions` when the key is of another size or
    ///   the name is none.
    public init(
        sealingWith name: String,
        _ key: SymmetricKey,
        lookUp: @escaping @Sendable (_ name: String) throws -> SymmetricKey? = { _ in nil }
    ) throws(SluiceError) {
        try Self.validate(name, key)
        keys = Mutex(Keys(newest: name, all: [name: key]))
        self.lookUp = lookUp
    }

    /// Adds a key that opens and does not seal.
    ///
    /// One of the same name gives way to it.
    ///
    /// - Throws: As ``init(sealingWith:_:lookUp:)``.
    public func add(_ name: String, _ key: SymmetricKey) throws(SluiceError) {
        try Self.validate(name, key)
        keys.withLock { $0.all[name] = key }
    }

    /// Adds a key that seals from now on; those before it open what they have sealed.
    ///
    /// - Throws: As ``init(sealingWith:_:lookUp:)``.
    public func seal(with name: String, _ key: SymmetricKey) throws(SluiceError) {
        try Self.validate(name, key)
        keys.withLock { keys in
            keys.all[name] = key
            keys.newest = name
        }
    }

    /// Forgets a key; the one that seals stays.
    ///
    /// - Returns: Whether it has gone.
    @discardableResult
    public func remove(_ name: String) -> Bool {
        keys.withLock { keys in
            guard keys.newest != name else { return false }
            return keys.all.removeValue(forKey: name) != nil
        }
    }

    /// The name of the key that seals.
    public var newest: String { keys.withLock { $0.newest } }

    /// Seals with the newest key.
    public func seal(_ payload: Data, as context: SealingContext) throws -> SealedPayload {
        let (name, key) = keys.withLock { ($0.newest, $0.all[$0.newest]) }
        guard let key else { throw SealingFailure.missingKey }
        let box = try ChaChaPoly.seal(payload, using: key, authenticating: context.bytes)
        return SealedPayload(key: name, bytes: box.combined)
    }

    /// Opens with the key that it was sealed with.
    public func open(_ sealed: SealedPayload, as context: SealingContext) throws -> Data {
        guard let key = try keys.withLock({ $0.all[sealed.key] }) ?? lookUp(sealed.key) else {
            throw SealingFailure.missingKey
        }
        do {
            let box = try ChaChaPoly.SealedBox(combined: sealed.bytes)
            return try ChaChaPoly.open(box, using: key, authenticating: context.bytes)
        } catch {
            // Too short, or of another key, or changed: no more is to be known of it.
            throw SealingFailure.notAuthentic
        }
    }

    private static func validate(_ name: String, _ key: SymmetricKey) throws(SluiceError) {
        guard SealedPayload.isValid(key: name) else {
            throw SluiceError(
                .invalidOptions,
                "the name of a key has 1 to 255 ASCII letters, digits and -, ., _, :, /, @"
            )
        }
        guard key.bitCount == keyBitCount else {
            throw SluiceError(
                .invalidOptions,
                "the key '\(name)' has \(key.bitCount) bits; give one of \(keyBitCount)"
            )
        }
    }
}
#endif
