/// An action that is checked and encoded, to be stored.
package struct ActionDraft: Sendable {
    package let queue: QueueName
    package let kind: String
    package let sortKey: SortKey
    /// Whether the queue's options set the type of the sort key, whatever type the file has.
    package let fixesSortKind: Bool
    /// The payload as one JSON value.
    package let payload: String
    /// The payload's version of the kind.
    package let version: Int
    /// The time at which it gets its place in the order; `nil` for at once.
    package let notBefore: Timestamp?
    /// The most actions that its queue may hold, this one included; `nil` for no limit.
    package let depthLimit: Int?
    /// Values that most actions lack; `nil` if this one has none of them.
    package let extras: DraftExtras?
    /// The trace in which it is enqueued, as JSON.
    package var trace: String?

    package init(
        queue: QueueName,
        kind: String,
        sortKey: SortKey,
        fixesSortKind: Bool = false,
        payload: String,
        version: Int = 1,
        notBefore: Timestamp? = nil,
        depthLimit: Int? = nil,
        extras: DraftExtras? = nil
    ) {
        (self.queue, self.kind, self.sortKey, self.fixesSortKind) = (queue, kind, sortKey, fixesSortKind)
        (self.payload, self.version, self.notBefore) = (payload, version, notBefore)
        (self.depthLimit, self.extras) = (depthLimit, extras)
    }

    /// Whether it has defaults where most actions have them.
    var isPlain: Bool { version == 1 && trace == nil && extras == nil }
}
