/// Checks and encodes actions to enqueue, by the options of their queues.
final class Drafter: Sendable {
    private let coder: PayloadCoder
    private let routes: Routes
    init(_ coder: PayloadCoder, _ routes: Routes) { (self.coder, self.routes) = (coder, routes) }
    func options(of queue: QueueName) -> QueueOptions? { routes.admission.queues.options(of: queue) }

    /// Drafts an action for a queue, whatever the action says itself; `nil` is as it says.
    func draft<A: Action>(
        _ action: A,
        in queue: QueueName? = nil,
        _ options: EnqueueOptions
    ) throws(SluiceError) -> ActionDraft {
        let extras = options.extras
        if extras != nil { try options.validate() }
        return try draft(action, in: queue, notBefore: options.notBefore.map(Timestamp.init), extras)
    }

    /// Drafts an action whose options are valid.
    func draft<A: Action>(
        _ action: A,
        in queue: QueueName? = nil,
        notBefore: Timestamp?,
        _ extras: DraftExtras?
    ) throws(SluiceError) -> ActionDraft {
        let queue = queue ?? action.queue
        let options = try check(queue, A.kind, A.version, action.sortKey)
        return ActionDraft(
            queue: queue,
            kind: A.kind,
            sortKey: action.sortKey,
            fixesSortKind: options?.sortKey != nil,
            payload: try coder.stored(action),
            version: A.version,
            notBefore: notBefore,
            depthLimit: options?.maximumDepth,
            extras: extras
        )
    }

    func draft(_ action: RawAction, _ extra: EnqueueOptions) throws(SluiceError) -> ActionDraft {
        let options = try check(action.queue, action.kind, action.version, action.sortKey)
        try extra.validate()
        return ActionDraft(
            queue: action.queue,
            kind: action.kind,
            sortKey: action.sortKey,
            fixesSortKind: options?.sortKey != nil,
            payload: try coder.stored(action),
            version: action.version,
            notBefore: extra.notBefore.map(Timestamp.init),
            depthLimit: options?.maximumDepth,
            extras: extra.extras
        )
    }

    /// Refuses an action that no queue can hold, and returns the queue's options.
    private func check(
        _ queue: QueueName,
        _ kind: String,
        _ version: Int,
        _ key: SortKey
    ) throws(SluiceError) -> QueueOptions? {
        try queue.validateForActions()
        try validateKind(kind)
        try validateVersion(version, of: kind)
        if case .real(let value) = key.storage, value.isNaN {
            throw SluiceError(
                .sortKeyNotANumber,
                "the sort key of an action for the queue '\(queue)' is not a number"
            )
        }
        let options = options(of: queue)
        if let kind = options?.sortKey, kind != key.kind {
            throw SluiceError(
                .sortKeyMismatch,
                "the queue '\(queue)' is ordered by \(kind.rawValue), as its options say; the action's key "
                    + "is \(key.kind): give it one of \(kind.rawValue)"
            )
        }
        return options
    }
}
