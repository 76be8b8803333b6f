#if PostgreSQL
public import Sluice

/// Payloads of older versions, and sealed ones.
extension PostgresBroker {
    /// Adds an upgrader that converts payloads of an older version to the type's current one: see
    /// `Broker/upgrade(_:from:reading:_:)`.
    public func upgrade<A: Action, Old: Decodable & Sendable>(
        _ type: A.Type,
        from version: Int,
        reading old: Old.Type,
        _ upgrader: @escaping @Sendable (Old) throws -> A
    ) throws(SluiceError) {
        try book.addUpgrader(A.self, from: version, reading: old, upgrader)
        codeChanged()
    }

    /// Adds an upgrader that converts payloads of a kind to the next version, as JSON text: see
    /// `Broker/upgrade(kind:from:_:)`.
    public func upgrade(
        kind: String,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) {
        try book.addUpgrader(kind, from: version, to: version &+ 1, upgrader)
        codeChanged()
    }

    /// Notifies the broker that `BrokerOptions/payloadSealing` can open more payloads, after adding a key.
    public func payloadSealingChanged() { codeChanged() }

    /// Returns the plain text of a stored payload: see `Broker/openPayload(_:kind:version:)`.
    public func openPayload(_ payload: String, kind: String, version: Int = 1) throws(SluiceError) -> String {
        try book.open(payload, kind, version)
    }

    private func codeChanged() {
        book.reader.codeChanged()
        // The server has such actions tried again when it gets the routes.
        loop.routesChanged()
    }
}
#endif
