/// A change of actions of a queue, in one commit.
///
/// Every action that enters the queue is reported as ``QueueNoticeKind/added``, and every action that leaves
/// it once, as removed, cancelled or processed. ``QueueNoticeKind/failed`` reports an attempt: the action is
/// still there, unless `removed` follows. Other processes' changes are ``QueueNoticeKind/changed``: they may
/// concern this queue, so an observer that shows its contents reads them again. While this broker runs, an
/// `INSERT` or `DELETE` by SQL is reported as added or cancelled.
public struct QueueNotice<A: Action>: Sendable {
    /// The kind of change.
    public let kind: QueueNoticeKind
    /// The queue.
    public let queue: QueueName
    /// The actions, in order; empty for ``QueueNoticeKind/changed``.
    public let actions: [QueuedAction<A>]
    /// The numbers of further actions that cannot be shown: of another kind, not decodable, or gone.
    public let unreadable: [ActionID]
    /// The text of the handler's error, if the kind is ``QueueNoticeKind/failed``; otherwise `nil`.
    public let error: String?
    /// How many actions were in later notices that were lost, because this observer is slower than its queue.
    public let lost: Int

    init(_ draft: NoticeDraft, of queue: QueueName, _ reader: PayloadReader) {
        var actions: [QueuedAction<A>] = []
        var unreadable: [ActionID] = []
        for subject in draft.subjects {
            let action = subject.action.flatMap { try? reader.queued(A.self, from: $0, in: queue).get() }
            if let action { actions.append(action) } else { unreadable.append(subject.id) }
        }
        (kind, error, lost) = (draft.kind, draft.error, draft.lost)
        (self.queue, self.actions, self.unreadable) = (queue, actions, unreadable)
    }
}

/// A kind of change of a queue's actions.
public enum QueueNoticeKind: String, Sendable, Hashable, CaseIterable {
    /// They were enqueued, put back, or moved here.
    case added
    /// They were taken out or cleared, became dead letters, or were moved to another queue.
    case removed
    /// They were cancelled or deleted.
    case cancelled
    /// An attempt succeeded, and the action is removed.
    case processed
    /// An attempt ended with an error or a retry, or the action expired.
    case failed
    /// Other processes or connections have committed, and the queue's contents may have changed.
    ///
    /// The file is polled every ``FileOptions/foreignChangeInterval``, by a running broker once a second at
    /// most.
    case changed

    /// Makes the kind of an event for a queue; `nil` if the event is of no such kind or about other queues.
    init?(_ event: QueueEvent, for queue: QueueName) {
        if event.target == queue {
            self = .added
            return
        }
        guard event.queue == queue else { return nil }
        switch event.kind {
        case .enqueued, .requeued: self = .added
        case .taken, .deadLettered, .moved: self = .removed
        case .removed: self = .cancelled
        case .succeeded: self = .processed
        case .retrying, .failed, .expired: self = .failed
        default: return nil
        }
    }
}
