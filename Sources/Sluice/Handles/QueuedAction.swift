#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action that waits in a queue, or was taken out of it.
public struct QueuedAction<A: Action>: Sendable, Identifiable, CustomStringConvertible {
    /// The action.
    public let action: A
    let stored: StoredAction
    /// The action's number.
    public var id: ActionID { stored.id }
    /// The action's sort key; in order of arrival ``SortKey/arrival``, even if it was moved to the front.
    public var sortKey: SortKey { SortKey(stored.key, stored.sortKind) }
    /// When the action was enqueued.
    public var enqueuedAt: Date { stored.enqueuedAt.date }
    /// The idempotency key, as in ``Attempt/idempotencyKey``; unchanged when the action is put back.
    public var idempotencyKey: String { stored.id.idempotencyKey(of: stored.nonce) }
    /// The action's tag, if any.
    public var tag: String? { stored.tag }
    /// Number and kind, without the payload (G13).
    public var description: String { "action \(id) (\(stored.kind))" }
}

extension PayloadReader {
    /// Decodes an action as a type, or returns the reason of the failure without the payload (G13).
    func queued<A: Action>(
        _ type: A.Type,
        from stored: StoredAction,
        in queue: QueueName
    ) -> Result<QueuedAction<A>, SluiceError> {
        read(A.self, from: stored)
            .map { QueuedAction(action: $0, stored: stored) }
            .mapError { SluiceError(.undecodable, "action \(stored.id) of '\(queue)': \($0.reason)") }
    }
}
