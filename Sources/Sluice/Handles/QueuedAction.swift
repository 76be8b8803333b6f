#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// An action that waits in a queue, or was taken out of it.
public struct QueuedAction<A: Action>: Sendable, Identifiable {
    /// The action itself.
    public let action: A
    let stored: StoredAction

    /// Its number.
    public var id: ActionID { stored.id }

    /// What it is ordered by in its queue; in the order of arrival ``SortKey/arrival``, also where it was
    /// put to the front.
    public var sortKey: SortKey { SortKey(stored.key, stored.sortKind) }

    /// When it was enqueued.
    public var enqueuedAt: Date { stored.enqueuedAt.date }

    /// As ``Attempt/idempotencyKey``: the same when it is put back.
    public var idempotencyKey: String { stored.id.idempotencyKey(of: stored.nonce) }

    /// Its tag, if it has one.
    public var tag: String? { stored.tag }
}

extension QueuedAction: CustomStringConvertible {
    /// Number and kind, without the payload (G13).
    public var description: String { "action \(id) (\(stored.kind))" }
}

extension PayloadReader {
    /// An action as a type, or why it cannot be read, without what is in it (G13).
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
