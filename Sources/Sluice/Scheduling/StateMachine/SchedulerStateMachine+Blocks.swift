/// Queues that wait for a route, a gate or the end of a hold, polled when that or their head changes.
extension SchedulerStateMachine {
    /// Routes were added or removed: any queue may have another one now, or none.
    package mutating func routesChanged() -> [SchedulerDecision] {
        // Those without a route still come again with their claims.
        routeless = RoutelessQueues()
        lift { block in
            switch block {
            case .route, .gate: true
            case .hold, .taken: false
            }
        }
        let haveTurn = rates.queuesWithTurn
        rates = RateLines()
        for queue in haveTurn { wake(queue) }
        for (queue, phase) in phases {
            switch phase {
            case .lackingPermit, .lackingRate: wake(queue)
            default: break
            }
        }
        return decide()
    }

    package mutating func holdsChanged() -> [SchedulerDecision] {
        lift { $0 == .hold }
        return decide()
    }

    /// Gates have been opened: the queues that wait for them are polled, at once or spread over a time.
    package mutating func gatesOpened(_ openings: [GateOpening], at now: Duration) -> [SchedulerDecision] {
        guard isOpen else { return [] }
        for opening in openings {
            guard opening.spread > .zero else {
                for (queue, gate) in gates where gate == opening.gate { wake(queue) }
                wakeClaims()
                continue
            }
            wakeClaims()
            let queues = gates.filter { $0.value == opening.gate }.keys.sorted()
            for (index, queue) in queues.enumerated() {
                unblock(queue)
                postpone(queue, .unwritten, until: now + opening.spread * index / queues.count)
            }
        }
        return decide()
    }

    /// Polls queues that other processes had taken, those first whose last poll is longest ago.
    ///
    /// Without `all`, as many as there are free permits; and some without a route. A process with more ready
    /// queues than it may run leaves some without a report. Each found free causes a poll of the next.
    package mutating func askAgain(all: Bool) -> [SchedulerDecision] {
        guard isOpen else { return [] }
        askTaken(count: all ? taken.count : concurrency - permitsInUse)
        for _ in 0..<min(8, routeless.count) { askNextRouteless() }
        return decide()
    }

    private mutating func askNextRouteless() { if let queue = routeless.next() { wake(queue) } }

    mutating func noteRoute(of queue: QueueID, _ result: ClaimResult) {
        switch result {
        case .unroutable: routeless.append(queue)
        // Routes were not checked.
        case .takenElsewhere: routeless.runsElsewhere(queue)
        default: hasRoute(queue)
        }
    }

    /// Removes a queue with a route or nothing to do; polls the next, to which the same change may apply.
    mutating func hasRoute(_ queue: QueueID) { if routeless.remove(queue) { askNextRouteless() } }

    private mutating func askTaken(count: Int) {
        for _ in 0..<count {
            guard let queue = taken.popFirst() else { break }
            wake(queue)
            askedAgain.insert(queue)
        }
    }

    /// Polls the next taken queue, if this one was polled, has nothing to do here, and does not wait.
    mutating func askNextTaken(behind queue: QueueID) {
        guard !askedAgain.isEmpty else { return }
        let block = phases[queue]?.block
        guard phases[queue] == nil || block != nil, askedAgain.remove(queue) != nil else { return }
        if block != .taken { askTaken(count: 1) }
    }

    mutating func block(_ queue: QueueID, by block: QueuePhase.Block) {
        phases[queue] = .blocked(block)
        blockedCount += 1
    }

    mutating func unblock(_ queue: QueueID) {
        guard let block = phases[queue]?.block else { return }
        phases[queue] = nil
        blockedCount -= 1
        if block == .taken { taken.remove(queue) }
        if block == .gate { gates[queue] = nil }
    }

    mutating func postpone(_ queue: QueueID, _ wait: RetryWait, until time: Duration) {
        let deadline = agenda.deadlines.add(.queue(queue), at: time)
        phases[queue] = .waiting(wait, until: time, deadline: deadline)
    }

    private mutating func lift(_ isGone: (QueuePhase.Block) -> Bool) {
        for (queue, phase) in phases { if let block = phase.block, isGone(block) { wake(queue) } }
        wakeClaims()
    }

    /// Wakes queues whose current claims may have met the obstacle before it ended.
    private mutating func wakeClaims() { for queue in phases.keys where isClaiming(queue) { wake(queue) } }
}

extension RetryWait {
    /// A wait that nothing in the file asks for.
    static let unwritten = RetryWait(action: .init(rawValue: 0), nextAttemptAt: .init(microseconds: 0))
}
