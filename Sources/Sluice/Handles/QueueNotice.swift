internal import DequeModule
internal import Synchronization

/// A change of actions of a queue, in one commit.
///
/// Every action that enters the queue is reported as ``QueueNoticeKind/added``, and every action that leaves
/// it once, as removed, cancelled or processed. ``QueueNoticeKind/failed`` reports an attempt: the action is
/// still there, unless `removed` follows.
///
/// While this broker runs, an `INSERT` or `DELETE` by SQL is reported as added or cancelled. Other changes by
/// other processes and connections are ``QueueNoticeKind/changed``: they may concern this queue, so an
/// observer that shows its contents reads them again.
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
    /// The file is polled every ``BrokerOptions/foreignChangeInterval``; while this broker runs, at most once
    /// a second.
    case changed
}

extension QueueNotice {
    /// Decodes the actions of a draft.
    init(_ draft: NoticeDraft, of queue: QueueName, _ reader: PayloadReader) {
        var actions: [QueuedAction<A>] = []
        var unreadable: [ActionID] = []
        for subject in draft.subjects {
            let action = subject.action.flatMap { try? reader.queued(A.self, from: $0, in: queue).get() }
            if let action { actions.append(action) } else { unreadable.append(subject.id) }
        }
        self.init(
            kind: draft.kind,
            queue: queue,
            actions: actions,
            unreadable: unreadable,
            error: draft.error,
            lost: draft.lost
        )
    }
}

/// A notice whose actions are not decoded yet.
struct NoticeDraft: Sendable {
    /// An action, as far as it is known.
    struct Subject: Sendable {
        let id: ActionID
        let action: StoredAction?
    }

    let kind: QueueNoticeKind
    var subjects: [Subject]
    let error: String?
    var lost = 0
}

extension NoticeDraft {
    /// Returns the notices of a commit's events for a queue.
    ///
    /// There are none if the transaction had begun before the observation.
    static func all(
        of queue: QueueName,
        in events: [QueueEvent],
        _ contents: ObservedContents
    ) -> [NoticeDraft] {
        guard contents.queues.contains(queue) else { return [] }
        var drafts: [NoticeDraft] = []
        for (index, event) in events.enumerated() {
            guard let id = event.action, let kind = QueueNoticeKind(event, for: queue) else { continue }
            let subject = Subject(id: id, action: contents.actions[index])
            append(kind, subject, kind == .failed ? event.error : nil, to: &drafts)
        }
        return drafts
    }

    private static func append(
        _ kind: QueueNoticeKind,
        _ subject: Subject,
        _ error: String?,
        to drafts: inout [NoticeDraft]
    ) {
        if let last = drafts.last, last.kind == kind, last.error == error {
            drafts[drafts.count - 1].subjects.append(subject)
        } else {
            drafts.append(NoticeDraft(kind: kind, subjects: [subject], error: error))
        }
    }
}

extension QueueNoticeKind {
    /// Makes the kind of an event for a queue; `nil` if the event is of no such kind or about other queues.
    fileprivate init?(_ event: QueueEvent, for queue: QueueName) {
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

/// Notices that wait for an observer, limited by the number of their actions.
struct NoticeBuffer: ObserverBuffer {
    /// The most actions.
    private let limit: Int
    private var drafts: Deque<NoticeDraft> = []
    private var count = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    mutating func add(_ draft: NoticeDraft) {
        if draft.kind == .changed, drafts.last?.kind == .changed { return }
        // An empty buffer has room for a notice of any size.
        guard drafts.isEmpty || count + draft.subjects.count <= limit else {
            drafts[drafts.count - 1].lost += draft.subjects.count
            return
        }
        drafts.append(draft)
        count += draft.subjects.count
    }

    mutating func pop() -> NoticeDraft? {
        guard let draft = drafts.popFirst() else { return nil }
        count -= draft.subjects.count
        return draft
    }

    mutating func removeAll() {
        drafts.removeAll()
        count = 0
    }
}

/// A registration for the actions of a queue's events, which ends once.
final class ContentsRegistration: Sendable {
    private let interest: Interest
    private let queue: QueueName
    private let hasEnded = Atomic(false)

    /// Registers; call it before the subscription.
    init(_ interest: Interest, _ queue: QueueName) {
        self.interest = interest
        self.queue = queue
        interest.begin(contentsOf: queue)
    }

    func end() {
        if !hasEnded.exchange(true, ordering: .relaxed) { interest.end(contentsOf: queue) }
    }
}
