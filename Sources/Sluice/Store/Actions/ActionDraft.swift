/// An action on its way into the file: checked and encoded.
package struct ActionDraft: Sendable {
    package let queue: QueueName
    package let kind: String
    package let sortKey: SortKey
    /// Its queue's options give the type of its key: it holds whatever type the file has.
    package let fixesSortKind: Bool
    /// One JSON value.
    package let payload: String
    /// The version of the kind that the payload is written in.
    package let version: Int
    /// When it gets its place in the order; `nil` is at once.
    package let notBefore: Timestamp?
    /// The most actions that its queue may hold with it; `nil` is no limit.
    package let depthLimit: Int?
    /// What most actions do not have; `nil` where this one has none of it.
    package let extras: DraftExtras?
    /// The trace that it is enqueued in, as JSON.
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
        self.fixesSortKind = fixesSortKind
        self.queue = queue
        self.kind = kind
        self.sortKey = sortKey
        self.payload = payload
        self.version = version
        self.notBefore = notBefore
        self.depthLimit = depthLimit
        self.extras = extras
    }
}

extension ActionDraft {
    /// Whether it leaves at its default what most actions do.
    var isPlain: Bool { version == 1 && trace == nil && extras == nil }

    /// Whether it can be stored by one statement with another that is plain.
    func isPlain(like other: ActionDraft) -> Bool {
        isPlain && sortKey.kind == other.sortKey.kind
    }
}
