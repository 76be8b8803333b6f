import Sluice

/// The application's own data beside the queues: rows of messages, and effects of handlers.
protocol Application: Sendable {
    /// Stores a message with its action in one transaction, unless they are there; returns the action.
    ///
    /// - Parameter isInVain: Roll the transaction back, and throw ``HistoryWorkerError/changedItsMind``.
    func store(_ message: Message, isInVain: Bool) async throws -> ActionID

    /// Settles an attempt in a transaction with its effect and what follows; throws `staleReceipt` if it does
    /// not count any more, and ``HistoryWorkerError/unknownCommit`` if nobody has said whether it does.
    func settle(_ attempt: Attempt, _ effect: Effect, then next: Acknowledgement?) async throws

    /// An outcome that writes the effect in the engine's settling transaction; `nil` where there is none.
    func settling(_ effect: Effect, then next: Acknowledgement?) -> Outcome?
}
