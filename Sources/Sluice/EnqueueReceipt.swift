/// What enqueuing an action gives: its number, and a way to wait for it.
///
/// ```swift
/// let receipt = try await broker.enqueue(message)
/// if try await receipt.settled() == .succeeded { … }
/// ```
///
/// It keeps its broker open for as long as it is kept itself.
public struct EnqueueReceipt: Sendable {
    /// The action's number; with a ``DeduplicationKey``, perhaps that of an action that was there before.
    public let id: ActionID
    let broker: Broker

    /// Waits until the action has gone, and tells how.
    ///
    /// See ``Broker/settled(_:)``.
    public func settled() async throws -> ActionEnd {
        try await broker.settled(id)
    }
}

/// How an action came to its end.
public enum ActionEnd: Sendable, Hashable {
    /// An attempt succeeded.
    case succeeded
    /// It was cancelled, deleted or taken out.
    case removed
    /// It was set aside. It can be put back, and be waited for again.
    case deadLettered(DeadLetterCause)
    /// It is not there, and this process does not know how it ended: it went long ago, or by the hand of
    /// another process, or it never was.
    case unknown
}

extension Broker {
    /// Waits until an action has gone: succeeded, removed, or set aside as a dead letter.
    ///
    /// An action that retries, is parked, held or scheduled has not gone, and is waited for. The answer comes
    /// from the commit that settles the action, and costs neither thread nor task while it is waited for. The
    /// broker remembers how the last ``rememberedOutcomes`` actions ended that this process has settled, so
    /// that the question may come later than the answer; beyond them, and for what another process has
    /// settled, it is ``ActionEnd/unknown``, or ``ActionEnd/deadLettered(_:)`` where there is a dead letter.
    ///
    /// While the broker runs it learns of what others do as it does otherwise; while it does not, it looks
    /// every ``BrokerOptions/foreignChangeInterval`` for as long as anybody waits.
    ///
    /// A handler cannot wait for its own action, nor for one that starts only behind that, as any other of a
    /// queue with one slot.
    ///
    /// - Throws: `CancellationError` when the task is cancelled, ``SluiceError`` with
    ///   ``SluiceError/Code/waitsForItself`` in a handler that would wait for its own return, with
    ///   ``SluiceError/Code/closed`` when the broker is closed, and errors of the file.
    public func settled(_ action: ActionID) async throws -> ActionEnd {
        if let place = HandlerPlace.own(of: runner) { try await ensureIsNotBehind(place, action) }
        return try await store.settled(action) { [weak self] in self?.lookAtOthers() }
    }

    /// How many settled actions the broker remembers the end of: 4,096.
    public static var rememberedOutcomes: Int { SettledActions.capacity }

    /// Refuses to wait, in a handler, for an action that cannot go before the handler has returned.
    private func ensureIsNotBehind(_ place: HandlerPlace, _ action: ActionID) async throws(SluiceError) {
        let own = place.task.current
        var isBehind = action == own.receipt.action
        if !isBehind, discipline(of: own.queue).slots == 1 {
            isBehind = try await store.isWaiting(action, in: own.receipt.queue)
        }
        guard isBehind else { return }
        throw SluiceError(
            .waitsForItself,
            "the handler of action \(own.receipt.action) would wait for action \(action) of the same "
                + "queue, which cannot go before the handler has returned: wait for it elsewhere"
        )
    }
}
