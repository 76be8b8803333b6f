/// A notice whose actions are not decoded yet.
struct NoticeDraft: Sendable {
    struct Subject: Sendable {
        let id: ActionID
        let action: StoredAction?
    }

    let kind: QueueNoticeKind
    var subjects: [Subject]
    let error: String?
    var lost = 0

    /// The notices of a commit's events for a queue; none if the transaction began before the observation.
    static func all(of queue: QueueName, in events: [QueueEvent], _ contents: ObservedContents) -> [Self] {
        guard contents.queues.contains(queue) else { return [] }
        var drafts: [NoticeDraft] = []
        for (index, event) in events.enumerated() {
            guard let id = event.action, let kind = QueueNoticeKind(event, for: queue) else { continue }
            let subject = Subject(id: id, action: contents.actions[index])
            let error = kind == .failed ? event.error : nil
            if let last = drafts.last, last.kind == kind, last.error == error {
                drafts[drafts.count - 1].subjects.append(subject)
            } else {
                drafts.append(NoticeDraft(kind: kind, subjects: [subject], error: error))
            }
        }
        return drafts
    }
}
