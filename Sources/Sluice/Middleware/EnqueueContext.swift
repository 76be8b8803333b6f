/// What is to be enqueued, as a ``Middleware`` sees it: without the payloads (G13).
public struct EnqueueContext: Sendable {
    /// An action that is to be enqueued.
    public struct Item: Sendable, Hashable {
        /// The queue that it is to wait in.
        public let queue: QueueName
        /// Its kind.
        public let kind: String
        /// The version of the kind that its payload is written in.
        public let version: Int
    }

    /// Fields that are stored with each of the actions, for ``AttemptContext/trace``; none by default.
    ///
    /// They are for what leads from an attempt back to its enqueuer, such as the `traceparent` of W3C Trace
    /// Context. Fields that make more than 4,096 bytes of JSON are not stored, none of them.
    public var trace: [String: String] = [:]

    private let drafts: [ActionDraft]

    init(_ drafts: [ActionDraft]) {
        self.drafts = drafts
    }

    /// The actions, in their order.
    public var actions: [Item] {
        drafts.map { Item(queue: $0.queue, kind: $0.kind, version: $0.version) }
    }

    /// What each action is ordered by inside its queue.
    package var sortKeys: [SortKey] { drafts.map(\.sortKey) }

    /// What is to be stored, with the trace.
    var traced: [ActionDraft] {
        guard let text = TraceText.text(of: trace) else { return drafts }
        return drafts.map {
            var draft = $0
            draft.trace = text
            return draft
        }
    }
}
