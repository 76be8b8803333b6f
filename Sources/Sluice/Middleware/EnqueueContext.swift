/// The actions of an enqueue, as a ``Middleware`` sees them: without the payloads (G13).
public struct EnqueueContext: Sendable {
    /// An action to be enqueued.
    public struct Item: Sendable, Hashable {
        /// The action's queue.
        public let queue: QueueName
        /// The action's kind.
        public let kind: String
        /// The version of the kind that the payload is written in.
        public let version: Int
    }

    /// Fields that are stored with each of the actions, for ``AttemptContext/trace``; none by default.
    ///
    /// Such as the `traceparent` of W3C Trace Context. If they exceed 4,096 bytes of JSON, none is stored.
    public var trace: [String: String] = [:]
    private let drafts: [ActionDraft]

    package init(_ drafts: [ActionDraft]) { self.drafts = drafts }
    /// The actions, in their order.
    public var actions: [Item] { drafts.map { Item(queue: $0.queue, kind: $0.kind, version: $0.version) } }
    package var sortKeys: [SortKey] { drafts.map(\.sortKey) }

    var traced: [ActionDraft] {
        guard let text = TraceText.text(of: trace) else { return drafts }
        return drafts.map {
            var draft = $0
            draft.trace = text
            return draft
        }
    }
}
