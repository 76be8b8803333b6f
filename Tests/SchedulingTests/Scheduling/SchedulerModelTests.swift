import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("The scheduler against a model", .watched(minutes: 3)) struct SchedulerModelTests {
    @Test("G3, G7, G9: whatever happens in whatever order, its promises hold and all work gets done")
    func anyOrder() {
        for seed in Array(1...300) + [Reliability.seed] {
            var model = Model(seed: seed)
            for _ in 0..<400 where model.complaint == nil {
                model.step()
                model.check()
            }
            model.finishAll()
            if let complaint = model.complaint {
                Issue.record("seed \(seed): \(complaint)")
                return
            }
        }
    }
}

/// A file of queues, reduced to what the scheduler can tell, and everything that goes on around it.
private struct Model {
    /// A queue in the file.
    struct Lane {
        var work = 0
        /// `nil`: there is no route for its head.
        var route: RouteID?
        var isSuspect = false
        var crashes = 0
        var retry: (wait: RetryWait, until: Duration)?
        var isParked = false
        /// Another process runs its actions.
        var isElsewhere = false
    }

    /// A claim from its decision to its conclusion.
    struct Claim {
        var order: ClaimRequest
        /// What its transaction found; `nil` before the transaction.
        var result: Result?
    }

    enum Result {
        case run
        case conclusion(ClaimResult)
    }

    static let limits: [RouteID: Int] = [RouteID(rawValue: 1): 1, RouteID(rawValue: 2): 2]
    /// The route with a rate limit.
    static let rated = RouteID(rawValue: 3)

    var generator: SplitMix
    /// Many queues whose actions take milliseconds, or few of which each takes long.
    let isBusy: Bool
    let concurrency: Int
    var machine: Machine
    var lanes: [QueueID: Lane] = [:]
    var claims: [Claim] = []
    var running: [QueueID] = []
    /// Those that were tried and whose outcome is not written: what waits for them starts with that.
    var settlingTried: Set<QueueID> = []
    /// Handlers that have returned and whose outcome is not written, with the claim that goes along.
    var settling: [(queue: QueueID, order: ClaimRequest?)] = []
    var now = Duration.zero
    var lastRetry: Int64 = 0
    /// When the rate limit allows the next start.
    var nextStart = Duration.zero
    /// The runs of routes that limit them: how many each has, and which.
    var use: [RouteID: Int] = [:]
    var limited: [QueueID: RouteID] = [:]
    var isDraining = false
    var complaint: String?

    init(seed: UInt64) {
        generator = SplitMix(seed: seed)
        isBusy = seed.isMultiple(of: 2)
        concurrency = isBusy ? 10 : 4
        machine = Machine(concurrency: concurrency)
        machine.start()
        for queue in 1...(isBusy ? 30 : 9) as ClosedRange<Int64> {
            let queue = QueueID(rawValue: queue)
            lanes[queue] = Lane(
                route: usualRoute(of: queue),
                isSuspect: chance(isBusy ? 1 : 10),
                crashes: Int(queue.rawValue % 3)
            )
        }
    }

    /// Few of many queues have a route with a cap.
    func usualRoute(of queue: QueueID) -> RouteID {
        RouteID(rawValue: isBusy && queue > 2 ? 3 : Int(queue.rawValue % 4))
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &generator) < percent }

    mutating func anyQueue() -> QueueID {
        QueueID(rawValue: Int64.random(in: 1...Int64(lanes.count), using: &generator))
    }

    /// Takes decisions in.
    mutating func take(_ decisions: [SchedulerDecision]) {
        claims += decisions.orders.map { Claim(order: $0) }
        for decision in decisions {
            guard case .survived(let claims) = decision else { continue }
            for claim in claims { lanes[QueueID(rawValue: claim)]?.isSuspect = false }
        }
    }
}

// MARK: - Events

extension Model {
    mutating func step() {
        switch Int.random(in: 0..<100, using: &generator) {
        case 0..<20: enqueue()
        case 20..<26: removeHead()
        case 26..<30: operate()
        case 30..<33: othersRun()
        // Where actions are short, it is the writer that they wait for.
        case ..<(isBusy ? 50 : 60): advanceClaim()
        case ..<72: finishHandler()
        case 72..<84: settle()
        default: passTime()
        }
    }

    mutating func enqueue() {
        let queue = anyQueue()
        lanes[queue]?.work += Int.random(in: 1...3, using: &generator)
        take(machine.wake([queue]))
    }

    mutating func removeHead() {
        let queue = anyQueue()
        guard var lane = lanes[queue], lane.work > 0, !isInHand(queue) else { return }
        lane.work -= 1
        lane.retry = nil
        lane.isSuspect = false
        lane.isParked = false
        lanes[queue] = lane
        take(machine.wake([queue]))
    }

    /// A retry by hand, a change of the head's route, a route that comes or goes.
    mutating func operate() {
        let queue = anyQueue()
        switch Int.random(in: 0..<4, using: &generator) {
        case 0:
            lanes[queue]?.retry = nil
            lanes[queue]?.isParked = false
            take(machine.wake([queue]))
        case 1 where !isInHand(queue):
            // An arrival that sorts earlier, of another route.
            lanes[queue]?.work += 1
            lanes[queue]?.route = RouteID(rawValue: Int.random(in: 0..<4, using: &generator))
            take(machine.wake([queue]))
        case 2 where !isInHand(queue):
            lanes[queue]?.work += 1
            lanes[queue]?.route = nil
            take(machine.wake([queue]))
        default:
            addRoutes()
        }
    }

    mutating func addRoutes() {
        for queue in lanes.keys where lanes[queue]?.route == nil {
            let route = usualRoute(of: queue)
            lanes[queue]?.route = route
        }
        take(machine.routesChanged())
    }

    mutating func advanceClaim() {
        guard let index = claims.indices.randomElement(using: &generator) else { return }
        if claims[index].result == nil {
            claims[index].result = transact(claims[index].order)
        } else {
            conclude(claims.remove(at: index))
        }
    }

    mutating func finishHandler() {
        guard let index = running.indices.randomElement(using: &generator) else { return }
        let queue = running.remove(at: index)
        if machine.trial.group.contains(queue) { settlingTried.insert(queue) }
        let order = machine.finishing(queue, claim: queue.rawValue)
        settling.append((queue, order))
    }

    mutating func settle() {
        guard let index = settling.indices.randomElement(using: &generator) else { return }
        let (queue, order) = settling.remove(at: index)
        settlingTried.remove(queue)
        lanes[queue]?.isSuspect = false
        switch Int.random(in: 0..<(isDraining ? 1 : isBusy ? 20 : 4), using: &generator) {
        case 0, 1, 4...: lanes[queue]?.work -= 1
        case 2:
            let retry = nextRetry()
            lanes[queue]?.retry = retry
        default: lanes[queue]?.isParked = true
        }
        if let route = limited.removeValue(forKey: queue) { use[route, default: 0] -= 1 }
        let result = order.map { transact($0) }
        take(machine.settled(queue, claim: queue.rawValue))
        if let order, let result { conclude(Claim(order: order, result: result)) }
    }

    mutating func nextRetry() -> (wait: RetryWait, until: Duration) {
        lastRetry += 1
        return (wait(lastRetry), now + .seconds(Int.random(in: 1...20, using: &generator)))
    }

    mutating func passTime() {
        let isShort = isBusy && !isDraining && chance(99)
        now += (isShort ? .milliseconds(1) : .seconds(1)) * Int.random(in: 0...5, using: &generator)
        take(machine.timeReached(now))
        take(machine.askAgain(all: chance(50)))
    }

    /// Another process takes a queue, or leaves one with or without work; nobody is told.
    mutating func othersRun() {
        let queue = anyQueue()
        guard var lane = lanes[queue], !isInHand(queue) else { return }
        if lane.isElsewhere { lane.work = Int.random(in: 0...lane.work, using: &generator) }
        lane.isElsewhere.toggle()
        lanes[queue] = lane
    }

    func isInHand(_ queue: QueueID) -> Bool {
        running.contains(queue) || settling.contains { $0.queue == queue }
            || claims.contains { claim in
                if case .run = claim.result { claim.order.queue == queue } else { false }
            }
    }
}

// MARK: - What the file answers

extension Model {
    /// The transaction of a claim.
    mutating func transact(_ order: ClaimRequest) -> Result {
        guard let lane = lanes[order.queue], lane.work > 0, !lane.isParked else {
            return .conclusion(.empty)
        }
        if lane.isElsewhere { return .conclusion(.takenElsewhere) }
        if isDraining == false, chance(3) { return .conclusion(.unfinished) }
        if let retry = lane.retry, order.waitedFor != retry.wait, retry.until > now {
            return .conclusion(.waiting(retry.wait, until: retry.until))
        }
        guard let route = lane.route else { return .conclusion(.unroutable) }
        switch (order.trial, lane.isSuspect) {
        case (.tries, false): return .conclusion(.unfinished)
        case (.waits, true):
            let suspect = CrashSuspect(queue: order.queue, level: lane.crashes, crashes: 0)
            return .conclusion(.awaitsTrial(suspect))
        case (.tries, true), (.waits, false), (.over, _), (.none, _): break
        }
        if let limit = Self.limits[route] {
            guard use[route, default: 0] < limit else {
                return .conclusion(.lacksPermit(route, limit: limit))
            }
            use[route, default: 0] += 1
            limited[order.queue] = route
        }
        if route == Self.rated {
            // A suspect on trial is not refused.
            if case .tries = order.trial {
            } else if nextStart > now {
                return .conclusion(.lacksRate(route, until: nextStart))
            }
            nextStart = now + (isBusy ? .milliseconds(3) : .seconds(2))
        }
        return .run
    }

    mutating func conclude(_ claim: Claim) {
        let queue = claim.order.queue
        switch claim.result {
        case .run:
            lanes[queue]?.retry = nil
            running.append(queue)
            let route = limited[queue]
            take(machine.started(queue, claim: queue.rawValue, route: route, timeOutAt: nil))
        case .conclusion(let conclusion): take(machine.concluded(queue, conclusion))
        case nil: complaint = "a claim was concluded before its transaction"
        }
    }
}

// MARK: - Promises

extension Model {
    mutating func check() {
        let attached = settling.compactMap(\.order?.queue)
        let claiming = claims.map(\.order.queue) + attached
        let permits = claiming.count + running.count
        // A queue whose settling claims its own next head stands in both lists.
        let inHand = claims.map(\.order.queue) + running
        if permits > concurrency { complaint = "\(permits) permits of \(concurrency) are in use" }
        if Set(inHand).count != inHand.count { complaint = "a queue is claimed or runs twice: \(inHand)" }
        if Set(claiming).count != claiming.count { complaint = "a queue is claimed twice: \(claiming)" }
        let tried = machine.trial.group
        if !tried.isEmpty, inHand.contains(where: { !tried.contains($0) }) {
            complaint = "\(inHand) are in hand beside the trial of \(tried)"
        }
        for (route, limit) in Self.limits {
            let count = running.count { lanes[$0]?.route == route }
            if count > limit { complaint = "\(count) handlers of a route with a cap of \(limit)" }
        }
        let isHeldBack = machine.trial.isActive || !settlingTried.isEmpty
        if !isHeldBack, permits < concurrency, machine.readyCount > 0 {
            complaint = "a ready queue is left while a permit is free"
        }
        if let queue = lanes.keys.first(where: isForgotten) {
            complaint = "\(queue) has work and is not known"
        }
    }

    func isForgotten(_ queue: QueueID) -> Bool {
        guard let lane = lanes[queue], lane.work > 0, !lane.isParked else { return false }
        return machine.phases[queue] == nil
    }

    /// Lets everything end, with success: then no queue that could run may have work.
    mutating func finishAll() {
        isDraining = true
        let parked = lanes.keys.filter { lanes[$0]?.isParked == true }
        for queue in lanes.keys {
            lanes[queue]?.isParked = false
            lanes[queue]?.isElsewhere = false
        }
        addRoutes()
        take(machine.wake(parked))
        take(machine.askAgain(all: true))
        var steps = 0
        while complaint == nil,
            !claims.isEmpty || !running.isEmpty || !settling.isEmpty || machine.nextDeadline != nil
        {
            advanceClaim()
            finishHandler()
            settle()
            if claims.isEmpty && running.isEmpty && settling.isEmpty { passTime() }
            check()
            steps += 1
            if steps > 20_000 { complaint = "it does not come to an end" }
        }
        let left = lanes.filter { $0.value.work > 0 }.map { "\($0.key): \(machine.phases[$0.key] as Any)" }
        if complaint == nil, !left.isEmpty { complaint = "queues with work are left behind: \(left)" }
        if complaint == nil, !machine.routeless.isEmpty { complaint = "queues are kept as without a route" }
        if complaint == nil, !machine.isIdle { complaint = "it is not idle: \(machine.phases)" }
    }
}
