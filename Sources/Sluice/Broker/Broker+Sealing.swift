extension Broker {
    /// Notifies the broker that ``BrokerOptions/payloadSealing`` can open more payloads, after adding a key.
    ///
    /// Undecodable actions are tried again, as they are at each start of the broker.
    public func payloadSealingChanged() { codeChanged() }

    /// Returns the plain text of a stored payload, such as ``DeadLetter/payload``; a sealed one is opened.
    ///
    /// Throws ``SluiceError/Code/undecodable`` when it cannot be opened, or is not sealed although it must
    /// be.
    public func openPayload(_ payload: String, kind: String, version: Int = 1) throws(SluiceError) -> String {
        try coder.open(payload, SealingContext(kind: kind, version: version))
            .mapError { SluiceError(.undecodable, $0.reason) }.get()
    }
}
