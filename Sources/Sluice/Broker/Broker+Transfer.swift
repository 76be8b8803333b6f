extension Broker {
    /// Enqueues actions of another file, all or none, in their order; `nil` if a key is or was stored here.
    package func take(_ actions: [TransferredAction]) async throws -> [ActionID?] {
        try await engine.take(actions)
    }

    /// Adds an upgrader that converts payloads of an older version to the type's current one, in one step.
    ///
    /// ```swift
    /// try broker.upgrade(SendMessage.self, from: 1, reading: SendMessage1.self) { old in
    ///     SendMessage(conversation: old.room, sentAt: old.sentAt, text: old.text)
    /// }
    /// ```
    ///
    /// Actions that wait for it then run: see <doc:ChangingPayloads>. If the closure throws, the action is
    /// undecodable, with the error's type as the reason. Throws ``SluiceError`` `duplicateUpgrader`,
    /// `invalidVersion`, `invalidKind`.
    public func upgrade<A: Action, Old: Decodable & Sendable>(
        _ type: A.Type,
        from version: Int,
        reading old: Old.Type,
        _ upgrader: @escaping @Sendable (Old) throws -> A
    ) throws(SluiceError) {
        try book.addUpgrader(A.self, from: version, reading: old, upgrader)
        engine.codeChanged()
    }

    /// Adds an upgrader that converts payloads of a kind to the next version, as JSON text.
    ///
    /// Older payloads pass through those of each version. Throws as ``upgrade(_:from:reading:_:)`` does.
    public func upgrade(
        kind: String,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) {
        try book.addUpgrader(kind, from: version, to: version &+ 1, upgrader)
        engine.codeChanged()
    }

    /// Adds an upgrader for a type's kind: see ``upgrade(kind:from:_:)``.
    public func upgrade<A: Action>(
        _ type: A.Type,
        from version: Int,
        _ upgrader: @escaping @Sendable (_ payload: String) throws -> String
    ) throws(SluiceError) { try upgrade(kind: A.kind, from: version, upgrader) }

    /// Notifies the broker that ``BrokerOptions/payloadSealing`` can open more payloads, after adding a key.
    ///
    /// Undecodable actions are tried again, as they are at each start of the broker.
    public func payloadSealingChanged() { engine.codeChanged() }

    /// Returns the plain text of a stored payload, such as ``DeadLetter/payload``; a sealed one is opened.
    ///
    /// Throws ``SluiceError/Code/undecodable`` when that fails, or it is not sealed although it must be.
    public func openPayload(_ payload: String, kind: String, version: Int = 1) throws(SluiceError) -> String {
        try book.open(payload, kind, version)
    }
}
