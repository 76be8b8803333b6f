extension PayloadReader {
    /// The payload of an action as a type, or why it cannot be read, without what is in it (G13).
    func read<A: Action>(_ type: A.Type, from action: ClaimedAction) -> Result<A, Undecodable> {
        read(type, action.payload, of: action.kind, version: action.version)
    }

    /// The payload of an action that is not claimed as a type, or why it is none.
    func read<A: Action>(_ type: A.Type, from action: StoredAction) -> Result<A, Undecodable> {
        read(type, action.payload, ofAnyKind: action.kind, version: action.version)
    }

    /// The payload of an action as JSON text, opened where the broker can open it.
    func text(of action: ClaimedAction) -> Result<String, Undecodable> {
        // Code that takes any kind takes what another program is to open, too.
        guard coder.sealing != nil else { return .success(action.payload) }
        return coder.open(action.payload, SealingContext(kind: action.kind, version: action.version))
    }
}
