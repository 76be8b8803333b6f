/// Gates: named conditions that the application opens and closes, such as `network` or `account:42`.
///
/// A route names the gates that its actions wait for (``RouteOptions/gates``), and so does an action
/// (``EnqueueOptions/gate``) and an outcome (``Outcome/retry(whenOpen:)``). No attempt is spent on a closed
/// gate. A gate that was never opened is closed.
extension Broker {
    /// Opens a gate, so that the actions that wait for it may start.
    ///
    /// If the gate opens during an attempt that ends with ``Outcome/retry(whenOpen:)``, the action is tried
    /// again at once. If the gate is open already, the call wakes no queue, and the gate remains kept if it
    /// was.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - isKept: Whether the gate stays open when the file is opened again. By default it is then closed,
    ///     because a new process cannot know its state.
    ///   - spread: The time over which the waiting queues start, so that not all of them call one server at
    ///     once. Zero starts them immediately.
    /// - Throws: ``SluiceError/Code/invalidGate`` and errors of the file.
    public func openGate(
        _ name: GateName,
        isKept: Bool = false,
        spread: Duration = .zero
    ) async throws(SluiceError) {
        try name.validate()
        try await store.setGate(name, isOpen: true, isKept: isKept, spread: spread)
    }

    /// Closes a gate, so that no action that needs it starts.
    ///
    /// Running actions are not affected.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - isKept: Whether the row stays when the file is opened again; the gate is closed either way.
    public func closeGate(_ name: GateName, isKept: Bool = false) async throws(SluiceError) {
        try name.validate()
        try await store.setGate(name, isOpen: false, isKept: isKept, spread: .zero)
    }

    /// Returns the gates that have been opened or closed, by name.
    public func gates() async throws(SluiceError) -> [Gate] {
        try await store.gates()
    }
}
