internal import DequeModule

/// Notices that wait for an observer, limited by the number of their actions.
struct NoticeBuffer: ObserverBuffer {
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
