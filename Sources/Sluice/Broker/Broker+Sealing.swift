/// Payloads that are sealed: see <doc:Security>.
extension Broker {
    /// Says that ``BrokerOptions/payloadSealing`` opens more than before, as when a key has been added.
    ///
    /// What was parked as undecodable is tried again. A start of the broker does the same.
    public func payloadSealingChanged() { codeChanged() }

    /// The plain payload of an action or a dead letter that was looked at, as
    /// ``DeadLetter/payload``: opened, if it is sealed.
    ///
    /// - Parameters:
    ///   - payload: As it is stored.
    ///   - kind: The kind of the action.
    ///   - version: The version of its payload.
    /// - Throws: ``SluiceError/Code/undecodable`` when it cannot be opened, or is not sealed where it must
    ///   be; the message says why.
    public func openPayload(
        _ payload: String,
        kind: String,
        version: Int = 1
    ) throws(SluiceError) -> String {
        switch coder.open(payload, SealingContext(kind: kind, version: version)) {
        case .success(let text): return text
        case .failure(let error): throw SluiceError(.undecodable, error.reason)
        }
    }
}
