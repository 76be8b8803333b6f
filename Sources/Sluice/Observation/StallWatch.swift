internal import Synchronization

/// Finds stalled queues: pages of statuses in, queues to report out; no SQL, no clock.
///
/// Each page is a bounded amount of reading. The machine keeps a mark for each queue that does not move, at
/// most ``limit``; other queues get one when some of these have moved.
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

    /// Adds a page of statuses, and returns the queues that have stalled.
    ///
    /// Each is returned once, until it moves.
    mutating func look(
        at statuses: [QueueStatus],
        isLast: Bool,
        now: Duration,
        threshold: Duration
    ) -> [QueueStatus] {
        next = isLast ? nil : statuses.last?.queue
        return statuses.filter { status in
            guard status.standsStill else {
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

    /// Forgets a queue that has moved.
    mutating func moved(_ queue: QueueName) {
        if !marks.isEmpty { marks[queue] = nil }
    }

    /// Forgets all queues, as there are no observers.
    mutating func forget() {
        marks = [:]
        next = nil
    }
}

/// Holds the state machine.
final class StallWatch: Sendable {
    private let machine = Mutex(StallWatchStateMachine())

    /// How many queues one page has.
    static let page = 2_000

    var next: QueueName? { machine.withLock { $0.next } }

    func look(at statuses: [QueueStatus], now: Duration, threshold: Duration) -> [QueueStatus] {
        machine.withLock {
            $0.look(at: statuses, isLast: statuses.count < Self.page, now: now, threshold: threshold)
        }
    }

    func receive(_ events: [QueueEvent]) {
        let moves: Set<QueueEvent.Kind> = [
            .started, .succeeded, .removed, .moved, .deadLettered, .idle,
        ]
        machine.withLock { machine in
            for event in events where moves.contains(event.kind) {
                if let queue = event.queue { machine.moved(queue) }
            }
        }
    }

    func forget() { machine.withLock { $0.forget() } }
}

extension Broker {
    /// Starts the search for stalled queues; called at the start of a run or of an observation.
    func watchForStalls() {
        guard let threshold = options.stallThreshold, isRunning, store.interest.isAny else { return }
        scheduler.schedule(.findStalled, within: threshold / Self.looksPerThreshold)
    }

    /// How many pages are read within the threshold.
    ///
    /// A stall is reported at most a fifth of the threshold late, if one page has all queues.
    static let looksPerThreshold = 5

    /// Reads the next page of queues, and reports the stalled ones.
    func findStalled(_ threshold: Duration) async throws(SluiceError) {
        let after = stalls.next
        let found = try await statuses(of: .prefix([]), in: nil, after: after, limit: StallWatch.page)
        let now = options.clock.now
        let events = stalls.look(at: found, now: options.clock.uptime, threshold: threshold).map { status in
            var event = QueueEvent(.stalled, at: now.date, queue: status.queue)
            event.action = status.head
            event.actionKind = status.headKind
            event.attempt = status.attempt
            event.error = status.lastError
            event.because = status.because.first { $0.isStall }
            return event
        }
        observers.publish(events)
    }
}
