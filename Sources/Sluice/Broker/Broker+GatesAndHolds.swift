/// Gates: named conditions that the application opens and closes, such as `network` or `account:42`.
///
/// A route (``RouteOptions/gates``), an action (``EnqueueOptions/gate``) and an outcome
/// (``Outcome/retry(whenOpen:)``) name gates to wait for, without an attempt. A new gate is closed.
extension Broker {
    /// Opens a gate, so that the actions that wait for it may start; throws ``SluiceError/Code/invalidGate``.
    ///
    /// If the gate opens during an attempt that ends with ``Outcome/retry(whenOpen:)``, the action is tried
    /// again at once. If the gate is open already, the call wakes no queue, and a persistent gate remains
    /// persistent.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - isPersistent: Whether the gate stays open when the file is opened again; by default it is then
    ///     closed, because a new process cannot know its state. On a server each gate is persistent.
    ///   - spread: The time over which the waiting queues start, so that not all call one server at once.
    public func openGate(
        _ name: GateName,
        isPersistent: Bool = false,
        spread: Duration = .zero
    ) async throws(SluiceError) {
        _ = try await perform(.openGate(name, isPersistent: isPersistent, spread: spread))
    }

    /// Closes a gate, so that no action that needs it starts.
    ///
    /// With a duration it opens by itself, and the waiting queues start spread over a time, as after
    /// ``Outcome/retry(after:closing:)``. If it is closed already, the later end counts, and no end is the
    /// latest. It opens by itself even if nobody has opened it before. A wall clock that is set back does not
    /// prolong the duration.
    ///
    /// - Parameters:
    ///   - name: The gate.
    ///   - isPersistent: Whether its row stays when the file is opened again; without it, the gate is closed
    ///     then too, without an end. With a duration, a gate that was opened or closed before remains as it
    ///     is. On a server each gate is persistent.
    ///   - duration: How long it stays closed; `nil` is until ``openGate(_:isPersistent:spread:)``.
    public func closeGate(
        _ name: GateName,
        isPersistent: Bool = false,
        for duration: Duration? = nil
    ) async throws(SluiceError) {
        _ = try await perform(.closeGate(name, isPersistent: isPersistent, for: duration))
    }

    /// Returns the gates that have been opened or closed, by name, and when they open by themselves.
    public func gates() async throws(SluiceError) -> [Gate] { try await engine.gates() }
}

/// Holds: an operator's pause of one queue, of all queues with a prefix, or of everything.
///
/// Holds are stored in the file and survive the process. While a hold covers a queue, no action of the queue
/// starts, not even by ``retryNow(_:)``; running actions continue.
extension Broker {
    /// Holds the queues of a pattern, and returns the number of the hold.
    ///
    /// - Parameters:
    ///   - pattern: Which queues are held, also those that do not exist yet.
    ///   - holder: The name of the holder, for display; at most 255 characters.
    ///   - reason: The reason; at most 1,000 characters. It should not repeat a payload.
    ///   - duration: By the wall clock; `nil` is until ``endHold(_:)``. It starts again if the clock is set
    ///     back before the hold's beginning.
    /// - Throws: ``SluiceError`` `invalidPattern`, `invalidQueueName`, and `invalidOptions` for long texts.
    @discardableResult
    public func hold(
        _ pattern: QueuePattern,
        by holder: String,
        reason: String = "",
        for duration: Duration? = nil
    ) async throws(SluiceError) -> HoldID {
        let result = try await perform(.hold(pattern, by: holder, reason: reason, for: duration))
        guard let hold = result.hold else {
            throw SluiceError(.storage, "the engine has held '\(pattern.rawValue)' and gave no number")
        }
        return hold
    }

    /// Ends a hold, so that queues without another hold continue; returns whether there was such a hold.
    @discardableResult
    public func endHold(_ hold: HoldID) async throws(SluiceError) -> Bool {
        try await perform(.endHold(hold)).outcome == .done
    }

    /// Ends the holds of a holder, or of all, that have exactly this pattern; returns how many there were.
    @discardableResult
    public func endHolds(
        matching pattern: QueuePattern,
        by holder: String? = nil
    ) async throws(SluiceError) -> Int { try await perform(.endHolds(of: pattern, by: holder)).done }

    /// Adds what an operator did to the audit log of the file, `sluice_audit`, which keeps the last 10,000.
    ///
    /// The broker writes none by itself: the operator's page does, and your own tools can. Longer texts than
    /// ``AuditEntry`` has are cut.
    ///
    /// - Parameters:
    ///   - act: The act, in a sentence; never a payload.
    ///   - person: The operator's name.
    ///   - result: The result of the act.
    public func audit(_ act: String, by person: String, result: String) async throws(SluiceError) {
        try await engine.audit(act, by: person, result: result)
    }

    /// Returns what operators did, the newest first.
    public func auditEntries(limit: Int = 100) async throws(SluiceError) -> [AuditEntry] {
        try await engine.auditEntries(limit: max(limit, 0))
    }

    /// Returns the current holds, the oldest first.
    public func holds() async throws(SluiceError) -> [Hold] { try await engine.holds() }
}
