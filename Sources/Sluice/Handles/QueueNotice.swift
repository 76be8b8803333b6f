internal import DequeModule
internal import Synchronization

/// What has happened to actions of a queue, in one commit.
///
/// All that comes to the queue is ``QueueNoticeKind/added``, and all that leaves it is told once, as removed,
/// cancelled or processed. ``QueueNoticeKind/failed`` tells of an attempt: the action is still there, unless
/// `removed` follows.
///
/// Of what other processes and connections do, an `INSERT` and a `DELETE` by SQL while this broker runs are
/// told as added and cancelled. All else is ``QueueNoticeKind/changed``: somebody else has committed
/// something, which may concern this queue; who shows what is in it reads it again.
public struct QueueNotice<A: Action>: Sendable {
    /// What has happened.
    public let kind: QueueNoticeKind
    /// The queue.
    public let queue: QueueName
    /// To whom, in order; empty for ``QueueNoticeKind/changed``.
    public let actions: [QueuedAction<A>]
    /// The numbers of actions that it has also happened to and that cannot be shown: of another kind, not
    /// decodable, or gone.
    public let unreadable: [ActionID]
    /// Why it has failed, in the words of the error that the handler threw; `nil` for all other kinds.
    public let error: String?
    /// To how many actions something has happened behind this that was lost, because this observer is slower
    /// than its queue.
    public let lost: Int
}

/// What can happen to an action of a queue.
public enum QueueNoticeKind: String, Sendable, Hashable, CaseIterable {
    /// It has been enqueued, put back, or moved here.
    case added
    /// It has been taken out or cleared, set aside, or moved to another queue.
    case removed
    /// It has been cancelled or deleted.
    case cancelled
    /// An attempt has ended with success, and the action is gone.
    case processed
    /// An attempt has ended with an error or a retry, or the action's time was over.
    case failed
    /// Other processes or connections have committed, and the queue may hold something else than before.
    ///
    /// It is looked for every ``BrokerOptions/foreignChangeInterval``, while this broker runs not more often
    /// than every second.
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
    /// What the events of a commit mean for a queue; nothing, if the transaction had begun before anybody
    /// asked.
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
    /// What an event means for a queue; `nil` where it is none of these, or about others.
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

/// Notices that wait for an observer, as many as their actions allow.
struct NoticeBuffer: ObserverBuffer {
    /// The most actions.
    private let limit: Int
    private var drafts: Deque<NoticeDraft> = []
    private var count = 0

    init(limit: Int) { self.limit = max(limit, 1) }

    mutating func add(_ draft: NoticeDraft) {
        if draft.kind == .changed, drafts.last?.kind == .changed { return }
        // Where nothing waits there is room for one of any size.
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

/// Somebody's asking for the actions of a queue, which ends once.
final class ContentsRegistration: Sendable {
    private let interest: Interest
    private let queue: QueueName
    private let hasEnded = Atomic(false)

    /// Begins to ask; to be made before the subscription.
    init(_ interest: Interest, _ queue: QueueName) {
        self.interest = interest
        self.queue = queue
        interest.begin(contentsOf: queue)
    }

    func end() {
        if !hasEnded.exchange(true, ordering: .relaxed) { interest.end(contentsOf: queue) }
    }
}
