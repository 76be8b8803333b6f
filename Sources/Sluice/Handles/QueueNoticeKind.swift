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
