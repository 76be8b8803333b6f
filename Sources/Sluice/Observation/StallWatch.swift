internal import Synchronization

/// Finds stalled queues: pages of statuses in, queues to report out; no SQL, no clock.
final class StallWatch: Sendable {
    /// The most marks of queues that do not move, of about a megabyte; others wait for one.
    static let limit = 10_000
    static let page = 2_000

    private struct Mark {
        let head: ActionID?
        let attempt: Int
        let since: Duration
        var isReported = false
    }

    private struct State {
        var marks: [QueueName: Mark] = [:]
        /// Where the next page begins; `nil` is the first queue.
        var next: QueueName?
    }

    private let state = Mutex(State())

    var next: QueueName? { state.withLock { $0.next } }
    var count: Int { state.withLock { $0.marks.count } }

    /// Adds a page of statuses, and returns the queues that have stalled, each once until it moves.
    func look(at statuses: [QueueStatus], isLast: Bool, now: Duration, threshold: Duration) -> [QueueStatus] {
        state.withLock { state in
            state.next = isLast ? nil : statuses.last?.queue
            return statuses.filter { status in
                let known = state.marks.removeValue(forKey: status.queue)
                guard status.isUnchanged else { return false }
                var mark = Mark(head: status.head, attempt: status.attempt, since: now)
                if let known, known.head == mark.head, known.attempt == mark.attempt { mark = known }
                if known == nil, state.marks.count >= Self.limit { return false }
                let isDue = !mark.isReported && now - mark.since >= threshold
                if isDue { mark.isReported = true }
                state.marks[status.queue] = mark
                return isDue
            }
        }
    }

    func receive(_ events: [QueueEvent]) {
        let moves: Set<QueueEvent.Kind> = [.started, .succeeded, .removed, .moved, .deadLettered, .idle]
        state.withLock { state in
            if state.marks.isEmpty { return }
            for event in events where moves.contains(event.kind) {
                if let queue = event.queue { state.marks[queue] = nil }
            }
        }
    }

    func forget() { state.withLock { $0 = State() } }
}
