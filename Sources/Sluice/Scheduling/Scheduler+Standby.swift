internal import Synchronization

/// Another process runs the queues alone for a while.
extension Scheduler {
    /// Until when another process is the primary, as far as is known.
    var standbyUntil: Duration? { machine.withLock { $0.standbyUntil } }

    func standBy(for term: Duration?) {
        let now = clock.uptime
        update { $0.standBy(for: term, at: now) }
    }

    func standBy(for term: Duration?, insteadOf mark: Duration?) {
        let now = clock.uptime
        update { $0.standBy(for: term, at: now, insteadOf: mark) }
    }

    func looksForOverlooked() -> Int? { machine.withLock { $0.looksForOverlooked() } }

    func wakeOverlooked(_ queues: some Sequence<QueueID>) { update { $0.wakeOverlooked(queues) } }

    func foundOverlooked(_ look: Int) { update { $0.foundOverlooked(look) } }
}
