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
        let decisions = schedule(.endStandby, at: standbyUntil)
        guard overlooked.isNeeded, standbyUntil == nil else { return decisions }
        return decisions + schedule(.findOverlooked, noLaterThan: now)
    }

    /// A look at the file has found how long another process is the primary, which was known to be it until
    /// `mark`: a commit may have told of something newer meanwhile.
    package mutating func standBy(
        for term: Duration?,
        at now: Duration,
        insteadOf mark: Duration?
    ) -> [Decision] {
        standbyUntil == mark ? standBy(for: term, at: now) : []
    }

    /// What was overlooked is about to be looked for.
    ///
    /// - Returns: The number of the look; `nil` while it stands by, as the end of that has it looked for.
    package mutating func looksForOverlooked() -> Int? {
        standbyUntil == nil && overlooked.isNeeded ? overlooked.need() : nil
    }

    /// Queues with work: those of them that were overlooked are not known here.
    ///
    /// What is known comes by itself. Were it claimed once more, each standby would cost as many claims in
    /// vain as there are queues behind a gate, a hold or a wait.
    package mutating func wakeOverlooked(_ queues: some Sequence<QueueID>) -> [Decision] {
        guard isOpen else { return [] }
        for queue in queues where phases[queue] == nil && obstacles[queue] == nil { wake(queue) }
        return decide()
    }

    /// A look is over: all that was overlooked before it has been told.
    package mutating func foundOverlooked(_ look: Int) -> [Decision] {
        overlooked.end(look)
        return decide()
    }

    /// Whether so many queues are ready while it stands by that no further one is noted.
    ///
    /// The primary runs most of them meanwhile. Were each that is told of kept, and claimed in vain when the
    /// standby is over, a long one would cost without bound (G12). As many as there are permits are enough
    /// to begin with: the rest is found by a look at the file, which the end of the standby asks for.
    var isLineFull: Bool { roomInLine == 0 }

    /// How many queues that become ready are noted.
    var roomInLine: Int { standbyUntil == nil ? .max : max(concurrency - ready.count, 0) }

    /// Whether something waits here that another process might run: for a route, or for a permit of one.
    private mutating func needsOthers(at now: Duration) -> Bool {
        routeless.mayBeOthers(at: now) || routes.hasLines
    }
}
