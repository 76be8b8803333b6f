#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Payloads of older versions. See <doc:ChangingPayloads>.
extension Broker {
    /// Says how an older payload of a type becomes a value of the type.
    ///
    /// ```swift
    /// try broker.upgrade(SendMessage.self, from: 1, reading: SendMessage1.self) { old in
    ///     SendMessage(conversation: old.room, sentAt: old.sentAt, text: old.text)
    /// }
    /// ```
    ///
    /// It leads to the type's ``Action/version`` in one step. Upgraders may be added at any time; what waits
    /// for one runs then.
    ///
    /// - Parameters:
    ///   - type: The type of action, as it is now.
    ///   - version: The version that the payload was stored in; below the type's.
    ///   - old: What such a payload decodes as; it need not be an action.
    ///   - upgrader: Makes the new value of the old one. What it throws leaves the action undecodable, with
    ///     the error's type as the reason. It may be called once more for each attempt.
    /// - Throws: ``SluiceError/Code/duplicateUpgrader``, ``SluiceError/Code/invalidVersion``,
    ///   ``SluiceError/Code/invalidKind``.
    public func upgrade<A: Action, Old: Decodable & Sendable>(
        _ type: A.Type,
        from version: Int,
        reading old: Old.Type,
        _ upgrader: @escaping @Sendable (Old) throws -> A
    ) throws(SluiceError) {
        try addUpgrader(A.kind, from: version, to: A.version) { [coder] payload in
            try coder.encode(upgrader(JSONDecoder().decode(Old.self, from: Data(payload.utf8))))
        }
    }

    /// Says how an older payload of a kind becomes one of the next version, as JSON text.
    ///
    /// A payload that is several versions behind goes through the upgraders of each.
    ///
    /// - Parameters:
    ///   - kind: The kind, as it is stored.
    ///   - version: The version that the payload has before; it has the next one after.
    ///   - upgrader: Makes the new JSON text of the old one.
    /// - Throws: As ``upgrade(_:from:reading:_:)``.
    public func upgrade(
        kind: String,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) {
        try addUpgrader(kind, from: version, to: version &+ 1, upgrader)
    }

    /// Says how an older payload of a type's kind becomes one of the next version, as JSON text.
    ///
    /// As ``upgrade(kind:from:_:)`` with the type's ``Action/kind``.
    public func upgrade<A: Action>(
        _ type: A.Type,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) {
        try upgrade(kind: A.kind, from: version, upgrader)
    }

    private func addUpgrader(
        _ kind: String,
        from version: Int,
        to target: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) {
        try reader.add(kind, from: version, to: target, upgrader)
        codeChanged()
    }
}
