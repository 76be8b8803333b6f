#if Crypto
public import Crypto
public import Sluice
internal import Synchronization

#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// Seals payloads with keys of the application, by ChaCha20-Poly1305 (RFC 8439).
///
/// ```swift
/// let keys = try KeyRing(sealingWith: "2026-11", keychain.key("2026-11"))
/// var options = BrokerOptions()
/// options.payloadSealing = keys
/// let broker = try await Broker(file: "outbox.sqlite", options: options)
/// ```
///
/// A key has 256 bits and a name, which is stored with each payload. Without its key, a sealed payload cannot
/// be read, changed, or opened as another kind or version. A writer of the file can still remove it, delay
/// it, move it to another queue, or store it twice.
///
/// **Rotation.** After ``seal(with:_:)`` a new key seals, and the old ones open their own payloads. Remove a
/// key when no payload has its name any more:
///
/// ```sql
/// SELECT payload ->> '$.key', count(*) FROM sluice_actions GROUP BY 1
/// ```
///
/// and the same for `sluice_dead`. Each sealing draws a random nonce of 96 bits, so seal no more than 2³²
/// payloads with one key.
///
/// **A missing key** makes the action undecodable, with the key's name as the reason. By default it waits;
/// the route's policy for `FailureCause.undecodable` decides. Add the key and call
/// `Broker.payloadSealingChanged()`, and the action runs.
public final class KeyRing: PayloadSealing {
    /// The number of bits of a key.
    public static let keyBitCount = 256

    private struct Keys {
        /// The name of the key that seals.
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
    ///   - lookUp: Returns a key that was not added, each time it is needed; `nil` if there is none. If it
    ///     throws, the action is parked, with the error's type as the reason.
    /// - Throws: `SluiceError` with `invalidOptions` when the size of the key or the name is invalid.
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
    /// It replaces a key of the same name.
    ///
    /// - Throws: As ``init(sealingWith:_:lookUp:)``.
    public func add(_ name: String, _ key: SymmetricKey) throws(SluiceError) {
        try Self.validate(name, key)
        keys.withLock { $0.all[name] = key }
    }

    /// Adds a key that seals from now on; earlier keys open their own payloads.
    ///
    /// - Throws: As ``init(sealingWith:_:lookUp:)``.
    public func seal(with name: String, _ key: SymmetricKey) throws(SluiceError) {
        try Self.validate(name, key)
        keys.withLock { keys in
            keys.all[name] = key
            keys.newest = name
        }
    }

    /// Removes a key, but not the one that seals.
    ///
    /// - Returns: Whether it was removed.
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

    /// Opens with the key that sealed the payload.
    public func open(_ sealed: SealedPayload, as context: SealingContext) throws -> Data {
        guard let key = try keys.withLock({ $0.all[sealed.key] }) ?? lookUp(sealed.key) else {
            throw SealingFailure.missingKey
        }
        do {
            let box = try ChaChaPoly.SealedBox(combined: sealed.bytes)
            return try ChaChaPoly.open(box, using: key, authenticating: context.bytes)
        } catch {
            // Too short, sealed with another key, or changed: the cause cannot be known.
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
