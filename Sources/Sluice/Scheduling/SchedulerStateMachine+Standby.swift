/// One of several processes runs the queues alone for a while, and the others stand by (``PrimaryPlan``).
extension SchedulerStateMachine {
    /// An outcome is about to be written, and other processes run the queues too.
    ///
    /// - Returns: Whether this process is to ask, with the same commit, to be the primary.
    package mutating func asksToBePrimary(at now: Duration) -> Bool {
        guard isOpen, standbyUntil == nil else { return false }
        let asks = primary.settles(
            at: now,
            handlers: handlers,
            of: permitsInUse,
            isFit: isCrowded && !needsOthers(at: now),
            lacksQueues: !ready.isEmpty || !taken.isEmpty
        )
        isPrimary = primary.isPrimary(at: now)
        if asks { probeTaken() }
        return asks
    }

    /// Another process is the primary for so long, or none is: nothing is claimed as long as one is.
    package mutating func standBy(for term: Duration?, at now: Duration) -> [Decision] {
        if term != nil { primary.standsBy(at: now) } else { primary.standsByNoMore(at: now) }
        isPrimary = primary.isPrimary(at: now)
        standbyUntil = term.map { now + $0 }
        return schedule(.endStandby, at: standbyUntil)
    }

    /// Whether something waits here that another process might run: for a route, or for a permit of one.
    private mutating func needsOthers(at now: Duration) -> Bool {
        routeless.mayBeOthers(at: now) || routes.hasLines
    }
}
