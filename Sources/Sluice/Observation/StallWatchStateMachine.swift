/// Finds stalled queues: pages of statuses in, queues to report out; no SQL, no clock.
///
/// Each queue that does not move gets a mark, at most ``limit``; others wait for one.
struct StallWatchStateMachine {
    /// About a megabyte.
    static let limit = 10_000

    private struct Mark {
        let head: ActionID?
        let attempt: Int
        let since: Duration
        var isReported = false
    }

    private var marks: [QueueName: Mark] = [:]
    /// Where the next page begins; `nil` is the first queue.
    private(set) var next: QueueName?

    var count: Int { marks.count }

    /// Adds a page of statuses, and returns the queues that have stalled, each once until it moves.
    mutating func look(
        at statuses: [QueueStatus],
        isLast: Bool,
        now: Duration,
        threshold: Duration
    ) -> [QueueStatus] {
        next = isLast ? nil : statuses.last?.queue
        return statuses.filter { status in
            guard status.isUnchanged else {
                marks[status.queue] = nil
                return false
            }
            var mark = marks[status.queue]
            if mark?.head != status.head || mark?.attempt != status.attempt { mark = nil }
            if mark == nil && marks.count >= Self.limit && marks[status.queue] == nil { return false }
            var known = mark ?? Mark(head: status.head, attempt: status.attempt, since: now)
            let isDue = !known.isReported && now - known.since >= threshold
            if isDue { known.isReported = true }
            marks[status.queue] = known
            return isDue
        }
    }

    mutating func moved(_ queue: QueueName) { if !marks.isEmpty { marks[queue] = nil } }
    /// Forgets all queues, as there are no observers.
    mutating func forget() { (marks, next) = ([:], nil) }
}
