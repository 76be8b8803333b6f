internal import DequeModule

/// Queues that wait for what others do: a route, a gate, the end of a hold.
///
/// Each costs an entry in a table. They are asked again when the obstacle goes, or when an arrival or a
/// change may have given them another head.
extension SchedulerStateMachine {
    /// What keeps a queue from moving until somebody takes it away.
    enum Obstacle: Equatable {
        case route
        case gate(GateName)
        case hold
        /// Another process runs its actions, one after the other.
        case taken
    }

    /// A new route may serve what had none.
    package mutating func routesChanged() -> [Decision] {
        lift { $0 == .route }
        return decide()
    }

    /// Holds have ended, or have come.
    package mutating func holdsChanged() -> [Decision] {
        lift { $0 == .hold }
        return decide()
    }

    /// Gates have been opened: the queues that wait for them are asked again, at once or spread over a time.
    package mutating func gatesOpened(_ openings: [GateOpening], at now: Duration) -> [Decision] {
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
                    deadline: deadlines.add(.queue(queue), at: time)
                )
            }
        }
        return decide()
    }

    /// Asks queues again that other processes had taken: as many as there are permits, and those first that
    /// have not been asked for longest.
    ///
    /// A process keeps a queue while it has work for it, unless more queues are ready there than it may run;
    /// nobody is told of those that it leaves meanwhile. Each that turns out to be free has the next one
    /// asked: what is still taken is asked seldom, and what has been left is found at once, however much it
    /// is. All of them come into the line of a primary, permits or not: those who had them stand by.
    package mutating func retryTaken(all: Bool) -> [Decision] {
        guard isOpen else { return [] }
        let asksAll = all || primary.isPrimary
        askTaken(count: asksAll ? taken.count : min(taken.count, concurrency - permitsInUse))
        return decide()
    }

    private mutating func askTaken(count: Int) {
        var count = count
        while count > 0, let queue = taken.popFirst() {
            guard obstacles[queue] == .taken else { continue }
            count -= 1
            wake(queue)
            taken.asked.insert(queue)
        }
    }

    /// A claim of a queue has been concluded: if it was asked again, and has nothing to do here, the next one
    /// may have been left too.
    ///
    /// Not while it waits, as for a claim that the disk has refused: it comes here once more.
    mutating func askNextTaken(behind queue: QueueID) {
        guard !taken.asked.isEmpty, phases[queue] == nil, taken.asked.remove(queue) != nil else { return }
        if obstacles[queue] != .taken { askTaken(count: 1) }
    }

    mutating func noteTaken(_ queue: QueueID) {
        phases[queue] = nil
        obstacles[queue] = .taken
        taken.append(queue) { [obstacles] in obstacles[$0] == .taken }
    }

    /// Wakes the queues behind an obstacle that has gone.
    private mutating func lift(_ isGone: (Obstacle) -> Bool) {
        for (queue, obstacle) in obstacles where isGone(obstacle) { wake(queue) }
        wakeClaims()
    }

    /// Claims under way may have met an obstacle before it went.
    private mutating func wakeClaims() {
        for queue in phases.keys where isClaiming(queue) { wake(queue) }
    }
}

/// The queues with the obstacle ``SchedulerStateMachine/Obstacle/taken``, in the order in which they are
/// asked again.
struct TakenQueues {
    /// Those that were woken since stand here too, and perhaps twice.
    private var line: Deque<QueueID> = []
    private(set) var count = 0
    /// Those that were asked again, until it is known whether they are free.
    var asked: Set<QueueID> = []

    var isEmpty: Bool { count == 0 }

    /// - Parameter isTaken: Tells the queues of the line that have not been woken.
    mutating func append(_ queue: QueueID, isTaken: (QueueID) -> Bool) {
        count += 1
        line.append(queue)
        guard line.count > 2 * count + 64 else { return }
        var seen: Set<QueueID> = []
        line.removeAll { !isTaken($0) || !seen.insert($0).inserted }
    }

    mutating func popFirst() -> QueueID? { line.popFirst() }

    /// One of them has been woken.
    mutating func remove() { count -= 1 }
}
