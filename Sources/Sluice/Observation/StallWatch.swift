internal import Synchronization

/// Guards the state machine with a lock.
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
        let moves: Set<QueueEvent.Kind> = [.started, .succeeded, .removed, .moved, .deadLettered, .idle]
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

    /// How many pages are read within the threshold, of which a report is late by at most one part.
    static let looksPerThreshold = 5

    /// Reads the next page of queues, and reports the stalled ones.
    func findStalled(_ threshold: Duration) async throws(SluiceError) {
        let page = StallWatch.page
        let found = try await statuses(of: .prefix([]), in: nil, after: stalls.next, limit: page)
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
