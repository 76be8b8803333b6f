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
