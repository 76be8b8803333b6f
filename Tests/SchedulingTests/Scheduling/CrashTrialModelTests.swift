import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The scheduler's trials over many deaths of the process, beside a file that is reduced to what they write.
///
/// `SLUICE_TRIAL_KILLS` says how many kills from outside there are: 2,000 in `make test-all`, 100,000 in
/// `make test-reliability`.
@Suite("Trials after deaths of the process", .watched) struct CrashTrialModelTests {
    /// How handlers take their time.
    enum Pace: CaseIterable, Sendable { case quick, slow, mixed }

    @Test(
        "G7: a poison action among others is set aside within ten deaths, and no neighbour loses an attempt",
        arguments: Pace.allCases
    )
    func poison(_ pace: Pace) {
        var worst = 0
        for lanes in [1, 2, 3, 5, 33, 64] {
            for poison in stride(from: 0, to: lanes, by: lanes > 5 ? 7 : 1) {
                var model = CrashTrialModel(seed: UInt64(lanes * 100 + poison), lanes: lanes, pace: pace)
                model.poison = poison
                var deaths = 0
                while model.setAside.isEmpty, deaths < 20 {
                    model.live()
                    deaths = model.deaths
                }
                worst = max(worst, deaths)
                #expect(model.setAside == [poison], "\(lanes) lanes, \(pace)")
                #expect(model.lostAttempts == 0, "\(lanes) lanes, \(pace)")
                #expect(model.longestWait <= .seconds(5), "\(lanes) lanes, \(pace)")
            }
        }
        #expect(worst <= 10)
    }

    @Test(
        "G7, G9: kills from outside at random times set nothing aside, and others wait five seconds at most"
    )
    func kills() {
        let count = Reliability.number("SLUICE_TRIAL_KILLS", usually: 2_000, short: 400)
        var kills = 0
        var lost = 0
        for round in 0..<100 {
            let lanes = [1, 2, 4, 16, 64][round % 5]
            var model = CrashTrialModel(seed: Reliability.seed &+ UInt64(round), lanes: lanes, pace: .mixed)
            for _ in 0..<count / 100 { model.live() }
            kills += model.deaths
            lost += model.lostAttempts
            #expect(model.setAside == [], "\(lanes) lanes, seed \(Reliability.seed)")
            #expect(model.longestWait <= .seconds(5))
        }
        #expect(kills >= count)
        Reliability.report("trials", "\(kills) kills from outside: nothing set aside, \(lost) attempts lost")
    }
}

/// Queues with an action each, a process that is killed again and again, and what stands in the file.
private struct CrashTrialModel {
    struct Action {
        var isSuspect = false
        var level = 0
        var crashes = 0
        var left: Duration
    }

    struct Run {
        var start: Duration
        var trialSize: Int
    }

    /// As `RouteOptions` has it.
    static let crashLimit = 3
    /// As `BrokerOptions` has it.
    static let limit = Duration.seconds(5)

    let pace: CrashTrialModelTests.Pace
    var poison: Int?
    private(set) var setAside: [Int] = []
    private(set) var deaths = 0
    /// Attempts that actions without fault have lost.
    private(set) var lostAttempts = 0
    /// For how long nothing but suspects could start, in one life.
    private(set) var longestWait = Duration.zero
    private var generator: SplitMix
    private var actions: [Int: Action] = [:]
    private var running: [Int: Run] = [:]
    private var machine = Machine(concurrency: 64)
    private var now = Duration.zero
    /// The poison has killed the process.
    private var isDead = false

    init(seed: UInt64, lanes: Int, pace: CrashTrialModelTests.Pace) {
        generator = SplitMix(seed: seed)
        self.pace = pace
        for lane in 0..<lanes {
            let left = duration()
            actions[lane] = Action(left: left)
        }
    }

    private mutating func duration() -> Duration {
        let isQuick = pace == .quick || (pace == .mixed && Bool.random(using: &generator))
        return .milliseconds(Int.random(in: isQuick ? 1...200 : 2_000...600_000, using: &generator))
    }

    /// Starts the process, and kills it: by its poison, or from outside at a random time, about once an hour.
    mutating func live() {
        machine = Machine(concurrency: 64)
        machine.start()
        (now, running, isDead) = (.zero, [:], false)
        let share = Double.random(in: 0..<1, using: &generator)
        let end = poison == nil ? Duration.seconds(7_200 * share * share) : .seconds(86_400)
        let suspects = actions.filter(\.value.isSuspect).sorted { $0.key < $1.key }
        if !suspects.isEmpty {
            take(
                machine.suspected(
                    suspects.map { (QueueID(rawValue: Int64($0.key)), $0.value.level, $0.value.crashes) },
                    until: Self.limit
                )
            )
        }
        take(machine.wake(actions.keys.sorted().map { QueueID(rawValue: Int64($0)) }))
        while !isDead, let next = nextEvent(before: end) { happen(next) }
        longestWait = max(longestWait, machine.trial.isActive ? (poison == nil ? end : now) : .zero)
        if isDead || poison == nil { die(at: isDead ? now : end) }
    }

    private enum Event {
        case returned(Int)
        case trialOver, poisoned
    }

    /// What happens next; `nil` when the process is killed first, or nothing is held up any more.
    private func nextEvent(before end: Duration) -> (time: Duration, event: Event)? {
        var events: [(time: Duration, event: Event)] = []
        for (lane, run) in running where lane != poison {
            events.append((run.start + (actions[lane]?.left ?? .zero), .returned(lane)))
        }
        if let poison, let run = running[poison] {
            events.append((run.start + .milliseconds(poison % 5 * 100 + 1), .poisoned))
        }
        if let end = machine.nextDeadline, machine.trial.isActive { events.append((end, .trialOver)) }
        guard let next = events.min(by: { $0.time < $1.time }), next.time < end else { return nil }
        // When all run that can, only the end of this life is of interest.
        if poison == nil ? !machine.trial.isActive : !setAside.isEmpty { return nil }
        return next
    }

    private mutating func happen(_ next: (time: Duration, event: Event)) {
        now = max(now, next.time)
        switch next.event {
        case .poisoned: isDead = true
        case .trialOver:
            take(machine.timeReached(now))
            take(machine.endTrial())
            if !machine.trial.isActive { longestWait = max(longestWait, now) }
        case .returned(let lane):
            let queue = QueueID(rawValue: Int64(lane))
            running[lane] = nil
            let order = machine.finishing(queue, claim: Int64(lane))
            // It succeeded, and another one waits behind it.
            let left = duration()
            actions[lane] = Action(left: left)
            let decisions = machine.settled(queue, claim: Int64(lane))
            if let order { claim(order) }
            take(decisions)
        }
    }

    private mutating func take(_ decisions: [SchedulerDecision]) {
        for decision in decisions {
            switch decision {
            case .beginTrial(let isLong):
                // As the scheduler does.
                let until = machine.trial.until ?? now + Self.limit
                machine.agenda.schedule(.endTrial, at: isLong ? until : min(until, now + Self.limit / 5))
            case .survived(let claims):
                for claim in claims {
                    let lane = Int(claim)
                    actions[lane]?.isSuspect = false
                    actions[lane]?.crashes = 0
                    actions[lane]?.level -= 1
                    running[lane]?.trialSize = 0
                }
            case .claim(let orders): for order in orders { claim(order) }
            default: break
            }
        }
    }

    private mutating func claim(_ order: ClaimRequest) {
        let lane = Int(order.queue.rawValue)
        guard let action = actions[lane], !setAside.contains(lane) else {
            return take(machine.concluded(order.queue, .empty))
        }
        guard action.crashes < Self.crashLimit else {
            setAside.append(lane)
            return take(machine.concluded(order.queue, .empty))
        }
        let suspect = CrashSuspect(queue: order.queue, level: action.level, crashes: action.crashes)
        var trialSize = 0
        switch (order.trial, action.isSuspect) {
        case (.tries(let size), true): trialSize = size
        case (.tries, false): return take(machine.concluded(order.queue, .unfinished))
        case (.waits, true): return take(machine.concluded(order.queue, .awaitsTrial(suspect)))
        case (.waits, false), (.over, _), (.none, _): break
        }
        running[lane] = Run(start: now, trialSize: trialSize)
        take(machine.started(order.queue, claim: order.queue.rawValue, timeOutAt: nil))
    }

    /// What the next process finds of this one.
    private mutating func die(at end: Duration) {
        deaths += 1
        for (lane, run) in running {
            guard let action = actions[lane] else { continue }
            if lane != poison, run.trialSize == 0, end - run.start > action.left {
                // It has ended long ago, and another one runs, or none.
                let left = duration()
                actions[lane] = Action(isSuspect: Bool.random(using: &generator), left: left)
                continue
            }
            if action.isSuspect { actions[lane]?.level += 1 }
            actions[lane]?.isSuspect = true
            guard run.trialSize == 1 else { continue }
            actions[lane]?.crashes += 1
            if lane != poison { lostAttempts += 1 }
        }
    }
}
