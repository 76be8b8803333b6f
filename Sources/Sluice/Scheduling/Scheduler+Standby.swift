internal import Logging
internal import Synchronization

/// Another process runs the queues alone for a while.
extension Scheduler {
    /// Until when another process is the primary, as far as is known.
    var standbyUntil: Duration? { machine.withLock { $0.standbyUntil } }

    func standBy(for term: Duration?) { standBy { $0.standBy(for: term, at: $1) } }

    func standBy(for term: Duration?, insteadOf mark: Duration?) {
        standBy { $0.standBy(for: term, at: $1, insteadOf: mark) }
    }

    private func standBy(
        _ change: (inout SchedulerStateMachine, Duration) -> [SchedulerStateMachine.Decision]
    ) {
        let (now, didStandBy) = (clock.uptime, standbyUntil != nil)
        update { change(&$0, now) }
        let standsBy = standbyUntil != nil
        guard standsBy != didStandBy else { return }
        logger.debug(standsBy ? "stands by for another process, the primary" : "stands by no more")
    }

    func looksForOverlooked() -> Int? { machine.withLock { $0.looksForOverlooked() } }

    func wakeOverlooked(_ queues: some Sequence<QueueID>) { update { $0.wakeOverlooked(queues) } }

    func foundOverlooked(_ look: Int) { update { $0.foundOverlooked(look) } }
}
