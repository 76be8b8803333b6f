/// Queues that wait for what others do: a route, a gate, the end of a hold.
///
/// Each costs an entry in a table. They are asked again when the obstacle goes, or when an arrival or a
/// change may have given them another head.
extension SchedulerStateMachine {
    /// A new route may serve what had none.
    package mutating func routesChanged() -> [SchedulerDecision] {
        // What has none still comes again with its claim.
        routeless = RoutelessQueues()
        lift { $0 == .route }
        return decide()
    }

    /// Holds have ended, or have come.
    package mutating func holdsChanged() -> [SchedulerDecision] {
        lift { $0 == .hold }
        return decide()
    }

    /// Gates have been opened: the queues that wait for them are asked again, at once or spread over a time.
    package mutating func gatesOpened(_ openings: [GateOpening], at now: Duration) -> [SchedulerDecision] {
        guard isOpen else { return [] }
        for opening in openings {
            guard opening.spread > .zero else {
                lift { $0 == .gate(opening.gate) }
                continue
            }
            wakeClaims()
            let queues = obstacles.filter { $0.value == .gate(opening.gate) }.keys.sorted()
            for (index, queue) in queues.enumerated() {
                obstacles[queue] = nil
                let time = now + opening.spread * index / queues.count
                let wait = RetryWait(
                    action: ActionID(rawValue: 0),
                    nextAttemptAt: Timestamp(microseconds: 0)
                )
                phases[queue] = .waiting(
                    wait,
                    until: time,
                    deadline: agenda.deadlines.add(.queue(queue), at: time)
                )
            }
        }
        return decide()
    }

    /// Asks queues again that other processes had taken: as many as there are permits left, and those first
    /// that have not been asked for longest.
    ///
    /// A process keeps a queue while it has work for it, unless more queues are ready there than it may run;
    /// nobody is told of those that it leaves meanwhile. Each that turns out to be free has the next one
    /// asked: what is still taken is asked seldom, and what has been left is found at once, however much it
    /// is.
    ///
    /// Some of those without a route are asked too (``RoutelessQueues``).
    package mutating func askAgain(all: Bool) -> [SchedulerDecision] {
        guard isOpen else { return [] }
        askTaken(count: all ? taken.count : concurrency - permitsInUse)
        for _ in 0..<min(Self.probeCount, routeless.count) { askNextRouteless() }
        return decide()
    }

    private mutating func askNextRouteless() {
        if let queue = routeless.next() { wake(queue) }
    }

    /// A claim has been concluded, which may tell whether there is a route.
    mutating func noteRoute(of queue: QueueID, _ conclusion: ClaimConclusion) {
        switch conclusion {
        case .unroutable: routeless.append(queue)
        // Routes were not asked.
        case .takenElsewhere: routeless.runsElsewhere(queue)
        default: hasRoute(queue)
        }
    }

    /// A queue has got a route, or nothing to do: who has seen to it may have seen to more.
    mutating func hasRoute(_ queue: QueueID) {
        if routeless.remove(queue) { askNextRouteless() }
    }

    /// How many queues are asked again at a time to find out whether something has changed.
    private static let probeCount = 8

    private mutating func askTaken(count: Int) {
        for _ in 0..<count {
            guard let queue = taken.popFirst() else { break }
            wake(queue)
            if phases[queue] != nil { askedAgain.insert(queue) }
        }
    }

    /// A claim of a queue has been concluded: if it was asked again, and has nothing to do here, the next one
    /// may have been left too.
    ///
    /// Not while it waits, as for a claim that the disk has refused: it comes here once more.
    mutating func askNextTaken(behind queue: QueueID) {
        guard !askedAgain.isEmpty, phases[queue] == nil, askedAgain.remove(queue) != nil else { return }
        if obstacles[queue] != .taken { askTaken(count: 1) }
    }

    mutating func noteTaken(_ queue: QueueID) {
        phases[queue] = nil
        obstacles[queue] = .taken
        taken.append(queue)
    }

    /// Wakes the queues behind an obstacle that has gone.
    private mutating func lift(_ isGone: (QueueObstacle) -> Bool) {
        for (queue, obstacle) in obstacles where isGone(obstacle) { wake(queue) }
        wakeClaims()
    }

    /// Claims under way may have met an obstacle before it went.
    private mutating func wakeClaims() {
        for queue in phases.keys where isClaiming(queue) { wake(queue) }
    }
}
