/// The result of an enqueue: the action's number, and a way to wait for it; it keeps its broker open.
///
/// ```swift
/// let receipt = try await broker.enqueue(message)
/// if try await receipt.settled() == .succeeded { … }
/// ```
public struct EnqueueReceipt: Sendable {
    /// The action's number; with a ``DeduplicationKey``, perhaps that of an existing action.
    public let id: ActionID
    let broker: Broker

    /// Waits until the action has ended, and returns how: see ``Broker/settled(_:)``.
    public func settled() async throws -> ActionEnd { try await broker.settled(id) }
}

/// How an action ended.
///
/// Later versions may add cases: a `switch` of an application needs a `default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum ActionEnd: Sendable, Hashable {
    /// An attempt succeeded.
    case succeeded
    /// It was cancelled, deleted or taken out.
    case removed
    /// It became a dead letter, which can be put back and waited for again.
    case deadLettered(FailureCause)
    /// Not known: it ended long ago, was settled by another process, or never existed.
    case unknown
}

extension Broker {
    /// Waits until an action has ended: succeeded, was removed, or became a dead letter.
    ///
    /// An action that retries, is parked, held or scheduled has not ended. The last ``rememberedOutcomes``
    /// actions that this process has settled are known; for others the result is ``ActionEnd/unknown``, or
    /// ``ActionEnd/deadLettered(_:)``. A broker that does not run polls for the changes of others.
    ///
    /// - Throws: `CancellationError`, ``SluiceError/Code/closed``, errors of the file, and in a handler
    ///   ``SluiceError/Code/waitsForItself`` for an action that cannot end before the handler has returned.
    public func settled(_ action: ActionID) async throws -> ActionEnd {
        try await engine.settled(action)
    }

    /// Returns a way to wait for an action that was enqueued earlier, such as before a restart.
    public func receipt(of action: ActionID) -> EnqueueReceipt { EnqueueReceipt(id: action, broker: self) }

    /// The number of settled actions that the broker remembers: 4,096.
    public static var rememberedOutcomes: Int { SettledActions.capacity }
}

extension ClaimedAction {
    /// The error of its handler, which waits for an action of the same queue.
    package func waitsForItself(_ action: ActionID) -> SluiceError {
        SluiceError(
            .waitsForItself,
            "the handler of action \(receipt.action) would wait for action \(action) of the same "
                + "queue, which cannot start before the handler has returned: wait for it elsewhere"
        )
    }
}
