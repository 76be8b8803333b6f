#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// Seals payloads before they are stored, and opens them before a handler gets them.
///
/// The product `SluiceCrypto`, with the trait `Crypto`, has an implementation with keys of the application;
/// your own type may keep its keys elsewhere. See <doc:Security>.
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
    /// - Throws: ``SealingFailure``, or another error, of which only the type is reported. The action stays,
    ///   as an undecodable one.
    func open(_ sealed: SealedPayload, as context: SealingContext) throws -> Data
}
