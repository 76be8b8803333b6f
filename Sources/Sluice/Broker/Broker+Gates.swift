/// Gates: named conditions that are opened and closed by the application, such as `network` or `account:42`.
///
/// A route names the gates that its actions wait for (``RouteOptions/gates``), and so does an action
/// (``EnqueueOptions/gate``) and an outcome (``Outcome/retry(whenOpen:)``). No attempt is spent on a closed
/// gate. A gate that was never opened is closed.
extension Broker {
    /// Opens a gate: all that waits for it may start.
    ///
    /// An opening while an action is being attempted counts for ``Outcome/retry(whenOpen:)``: it is tried
    /// again at once. To open a gate that is open wakes nobody; it stays kept if it was.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - isKept: Whether it stays open when the file is opened again. By default it is closed then, as a
    ///     new process does not know better.
    ///   - spread: The queues that wait start spread over this time, so that they do not meet all at once
    ///     whoever the gate stands for; zero is at once.
    /// - Throws: ``SluiceError/Code/invalidGate`` and errors of the file.
    public func openGate(
        _ name: GateName,
        isKept: Bool = false,
        spread: Duration = .zero
    ) async throws(SluiceError) {
        try name.validate()
        try await store.setGate(name, isOpen: true, isKept: isKept, spread: spread)
    }

    /// Closes a gate: nothing that asks for it starts from now on.
    ///
    /// What runs is not touched.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - isKept: Whether the row stays when the file is opened again; the gate is closed either way.
    public func closeGate(_ name: GateName, isKept: Bool = false) async throws(SluiceError) {
        try name.validate()
        try await store.setGate(name, isOpen: false, isKept: isKept, spread: .zero)
    }

    /// The gates that have been opened or closed, by name.
    public func gates() async throws(SluiceError) -> [Gate] {
        try await store.gates()
    }
}
