import TestSupport
import Testing

@testable import Sluice

typealias Machine = SchedulerStateMachine

extension QueueID: ExpressibleByIntegerLiteral {
    /// A queue by its number.
    public init(integerLiteral value: Int64) { self.init(rawValue: value) }
}

extension [SchedulerDecision] {
    /// The claims to be made, in their order.
    var orders: [ClaimRequest] {
        flatMap { decision -> [ClaimRequest] in
            if case .claim(let orders) = decision { orders } else { [] }
        }
    }

    /// The queues to be claimed, in their order.
    var claimed: [QueueID] { orders.map(\.queue) }
}

extension SchedulerStateMachine {
    /// How many queues stand in the line.
    var readyCount: Int { phases.values.count { $0 == .ready } }
}

/// A state machine by reference, because `#expect` calls no mutating methods, with shorthands.
final class TestMachine {
    private var machine: Machine
    /// What the store knows of routes that limit their runs: those of heads that may run, of runs, and how
    /// many each has.
    private var admitted: [QueueID: RouteID] = [:]
    private var runs: [Int64: RouteID] = [:]
    private var use: [RouteID: Int] = [:]
    private var deaths = 0

    init(concurrency: Int = 64, isStarted: Bool = true) {
        machine = Machine(concurrency: concurrency)
        if isStarted { machine.start() }
    }

    /// The phases of the queues that are not blocked.
    var phases: [QueueID: QueuePhase] { machine.phases.filter { $0.value.block == nil } }
    var isIdle: Bool { machine.isIdle }
    var isCrowded: Bool { machine.isCrowded }
    var nextDeadline: Duration? { machine.nextDeadline }
    var readyCount: Int { machine.readyCount }
    var workAhead: RemainingWork { machine.workAhead(at: .zero) }

    func start() {
        machine.reset()
        machine.start()
    }
    func stop() -> [SchedulerDecision] { machine.stop() }
    func wake(_ queues: [QueueID]) -> [SchedulerDecision] { machine.wake(queues) }
    func routesChanged() -> [SchedulerDecision] { machine.routesChanged() }
    func holdsChanged() -> [SchedulerDecision] { machine.holdsChanged() }
    func standing(_ queue: QueueID) -> SchedulerStateMachine.Standing { machine.standing(of: queue) }
    func expectEnd(at end: Duration, noLaterThan limit: Duration) -> [SchedulerDecision] {
        machine.expectEnd(at: end, noLaterThan: limit)
    }

    func askAgain(all: Bool) -> [SchedulerDecision] { machine.askAgain(all: all) }

    func opened(
        _ gate: GateName,
        spread: Duration = .zero,
        at now: Duration = .zero
    ) -> [SchedulerDecision] {
        machine.gatesOpened([GateOpening(gate: gate, spread: spread)], at: now)
    }

    /// A run has been written; those that the tests start bear their queue's number.
    func settled(_ queue: QueueID, claim: Int64? = nil) -> [SchedulerDecision] {
        machine.settled(queue, claim: claim ?? queue.rawValue)
    }

    func withdrawClaim(_ queue: QueueID) -> [SchedulerDecision] {
        machine.withdrawClaim(of: queue, behind: queue.rawValue) ?? []
    }

    func timeReached(_ now: Duration) -> [SchedulerDecision] { machine.timeReached(now) }

    /// A handler has returned, and its outcome goes to the file; runs that the tests start bear their queue's
    /// number.
    func finishing(_ queue: QueueID, claim: Int64? = nil) -> ClaimRequest? {
        let claim = claim ?? queue.rawValue
        if let route = runs.removeValue(forKey: claim) { use[route, default: 0] -= 1 }
        return machine.finishing(queue, claim: claim)
    }

    func started(
        _ queue: QueueID,
        timeOutAt: Duration? = nil,
        claim: Int64? = nil,
        room: SlotRoom = .single
    ) -> [SchedulerDecision] {
        let (claim, route) = (claim ?? queue.rawValue, admitted.removeValue(forKey: queue))
        if let route {
            runs[claim] = route
            use[route, default: 0] += 1
        }
        return machine.started(queue, claim: claim, route: route, timeOutAt: timeOutAt, room: room)
    }

    func concluded(_ queue: QueueID, _ conclusion: ClaimResult) -> [SchedulerDecision] {
        machine.concluded(queue, conclusion)
    }

    func schedule(_ chore: Chore, at time: Duration?) -> [SchedulerDecision] {
        machine.schedule(chore, at: time)
    }

    func schedule(_ chore: Chore, noLaterThan time: Duration) -> [SchedulerDecision] {
        machine.schedule(chore, noLaterThan: time)
    }

    func admitNext(at due: Duration?, insteadOf mark: Duration) -> [SchedulerDecision] {
        machine.admitNext(at: due, noLaterThan: .seconds(3_600), insteadOf: mark)
    }

    /// What the store answers to a claim that has found a head; `nil`: it may run.
    func admit(
        _ queue: QueueID,
        route: Int = 0,
        limit: Int? = nil,
        isSuspect: Bool = false,
        crashes: Int = 0,
        level: Int = 0
    ) -> ClaimResult? {
        let route = RouteID(rawValue: route)
        switch (machine.trialRule(for: queue), isSuspect) {
        case (.tries, false): return .unfinished
        case (.waits, true): return .awaitsTrial(.init(queue: queue, level: level, crashes: crashes))
        case (.tries, true), (.waits, false), (.over, _), (.none, _): break
        }
        guard let limit else { return nil }
        guard use[route, default: 0] < limit else { return .lacksPermit(route, limit: limit) }
        admitted[queue] = route
        return nil
    }

    func suspected(
        _ suspects: [(queue: QueueID, level: Int, crashes: Int)],
        until: Duration
    ) -> [SchedulerDecision] {
        machine.suspected(suspects, until: until)
    }

    func endTrial() -> [SchedulerDecision] {
        machine.agenda.schedule(.endTrial, at: nil)
        return machine.endTrial()
    }
    func noteDeath() {
        deaths += 1
        machine.noteDeath(deaths)
    }
    /// When the trial ends.
    var trialEnd: Duration? { machine.agenda.deadlines.time(of: .endTrial) }
    func meetsSuspect(at now: Duration) { machine.meetsSuspect(at: now, limit: .seconds(5)) }

    /// Claims a queue's head: starts it, or concludes with what speaks against it.
    func claim(
        _ queue: QueueID,
        route: Int = 0,
        limit: Int? = nil,
        isSuspect: Bool = false,
        crashes: Int = 0,
        level: Int = 0,
        timeOutAt: Duration? = nil
    ) -> [SchedulerDecision] {
        let refusal = admit(
            queue,
            route: route,
            limit: limit,
            isSuspect: isSuspect,
            crashes: crashes,
            level: level
        )
        if let refusal { return concluded(queue, refusal) }
        return started(queue, timeOutAt: timeOutAt)
    }

    /// Wakes queues and runs all that are claimed.
    func runAll(_ queues: [QueueID]) {
        for queue in wake(queues).claimed { _ = claim(queue) }
    }

    /// A handler returns and is written; tells the claim of that transaction, and what follows.
    func finish(_ queue: QueueID) -> (order: ClaimRequest?, decisions: [SchedulerDecision]) {
        let order = finishing(queue)
        return (order, settled(queue))
    }
}

/// The wait of an action for a retry whose time in the file does not matter.
func wait(_ action: Int64 = 1) -> RetryWait {
    RetryWait(action: ActionID(rawValue: action), nextAttemptAt: Timestamp(microseconds: 0))
}
