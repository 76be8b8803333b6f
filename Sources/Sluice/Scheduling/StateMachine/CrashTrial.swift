/// Chooses which suspects, actions that ran when their process died, are tried with nothing beside them (G7).
///
/// One of them may be poison, and kill the process again soon after its start. So half of the most suspect
/// ones start first, and everything else waits. If the process dies again, the suspicion of that half is
/// raised, and the next start tries a half of it. If they survive, their suspicion is lowered, and the next
/// start begins with those not tried that ran when the process died again. So each death halves the set of
/// possible causes. Only the death of a process with one action on trial counts against that action.
///
/// Survivors continue to run. If one has not returned when the next should start, nothing can be tried alone,
/// and the trial is over. It is over at ``until`` in any case: untried ones start beside others, and remain
/// suspects. What ran in the next process that ends is tried again.
package struct CrashTrial: Sendable {
    /// Suspects to be tried, the most suspect first.
    private(set) var waiting: [CrashSuspect] = []
    /// Queues whose suspects are being claimed or run.
    private(set) var group: Set<QueueID> = []
    /// The size of the group when it was chosen.
    private(set) var size = 0
    /// The claims of the group's running suspects.
    private(set) var claims: [QueueID: Int64] = [:]
    /// Queues whose claims were under way when the trial ended.
    private var late: Set<QueueID> = []
    /// When it ends at the latest; `nil` when it is over, and until the first suspect of a death is met.
    private(set) var until: Duration?
    /// Whether its time is over: suspects start beside others until the next death.
    private(set) var isOver = false
    /// Whether a process has ended since it began.
    private var hasNewDeath = false
    /// Ends of processes that commits have reported.
    private var deaths = 0

    init() {}
    /// The one of a new run, which knows as many ends of processes.
    init(after other: CrashTrial) { deaths = other.deaths }

    var isActive: Bool { !waiting.isEmpty || !group.isEmpty }

    mutating func add(_ suspect: CrashSuspect) {
        let index = waiting.firstIndex { ($0.level, $0.crashes) < (suspect.level, suspect.crashes) }
        waiting.insert(suspect, at: index ?? waiting.endIndex)
    }

    /// Returns half of the most suspect; `isLong`: a single one, whose process has died while it ran alone.
    mutating func takeGroup(limit: Int) -> (queues: [QueueID], isLong: Bool)? {
        guard let first = waiting.first else { return nil }
        let top = waiting.prefix { $0.level == first.level }.count
        size = min((top + 1) / 2, limit)
        let queues = waiting.prefix(size).map(\.queue)
        waiting.removeFirst(size)
        (group, claims) = (Set(queues), [:])
        return (queues, size == 1 && first.crashes > 0)
    }

    /// Starts a new time for trials after a death.
    ///
    /// While some are tried, these have that part of the time whose end is set: what they keep from being
    /// tried by then has a time of its own.
    mutating func begin(until: Duration) {
        (self.until, isOver) = (until, false)
        if group.isEmpty { hasNewDeath = false }
    }

    /// Notes that a process has ended: what ran there has a time of its own, after a trial that goes on.
    mutating func noteDeath(_ number: Int) {
        deaths = number
        guard !mutant("later death") else { return }
        hasNewDeath = true
        if !isActive { rest() }
    }

    /// Notes that all were tried: suspects met before ``until`` are tried too.
    mutating func rest() {
        if hasNewDeath { (until, isOver, hasNewDeath) = (nil, false, false) }
    }

    /// A claim has met a suspect; returns when its trial ends at the latest, if that is new.
    mutating func meets(at now: Duration, limit: Duration) -> Duration? {
        if !isActive { rest() }
        if isOver { return nil }
        if let until {
            if until <= now, !isActive { (self.until, isOver) = (nil, true) }
            return nil
        }
        until = now + limit
        return until
    }

    mutating func started(_ queue: QueueID, claim: Int64) {
        if group.contains(queue) { claims[queue] = claim }
    }

    /// Removes a queue whose suspect has returned, or was not started; returns whether that was the last one.
    mutating func left(_ queue: QueueID) -> Bool {
        claims[queue] = nil
        return group.remove(queue) != nil && group.isEmpty
    }

    /// Ends the trial; returns the claims that have survived, and the queues whose suspects were not tried.
    mutating func end() -> (survivors: [Int64], untried: [QueueID]) {
        defer {
            late.formUnion(group.subtracting(claims.keys))
            (waiting, group, claims, until, isOver) = ([], [], [:], nil, true)
            rest()
        }
        return (claims.values.sorted(), waiting.map(\.queue))
    }

    /// How suspects are handled that are not tried.
    var rule: TrialRule { isOver && !isActive ? .over(deaths: deaths) : .waits }

    /// Returns once whether a queue starts a suspect after the trial has ended.
    mutating func isLate(_ queue: QueueID) -> Bool { !late.isEmpty && late.remove(queue) != nil }
}

extension SchedulerStateMachine {
    /// Adds suspects to be tried before anything else starts; ``wake(_:)`` follows.
    package mutating func suspected(
        _ suspects: some Sequence<(queue: QueueID, level: Int, crashes: Int)>,
        until: Duration
    ) -> [SchedulerDecision] {
        guard isOpen else { return [] }
        // If all are known, as they run or wait, the time is not extended.
        let known = trial.waiting.count
        var isReady: Set<QueueID> = []
        for suspect in suspects {
            switch phases[suspect.queue] {
            case nil, .blocked: break
            case .ready: isReady.insert(suspect.queue)
            default: continue
            }
            unblock(suspect.queue)
            phases[suspect.queue] = .suspect
            trial.add(.init(queue: suspect.queue, level: suspect.level, crashes: suspect.crashes))
        }
        if !isReady.isEmpty { ready.removeAll { isReady.contains($0) } }
        if trial.waiting.count > known {
            trial.begin(until: until)
            // A group that is tried has its part of the time, unless its end was about to be performed.
            let hasEnd = agenda.deadlines.time(of: .endTrial) != nil
            if trial.group.isEmpty || !hasEnd { agenda.schedule(.endTrial, at: until) }
        }
        return decide()
    }

    /// A claim has met a suspect; ``concluded(_:_:)`` follows.
    mutating func meetsSuspect(at now: Duration, limit: Duration) {
        if let until = trial.meets(at: now, limit: limit) { agenda.schedule(.endTrial, at: until) }
    }

    package mutating func noteDeath(_ number: Int) {
        trial.noteDeath(number)
        if trial.until == nil { agenda.schedule(.endTrial, at: nil) }
    }

    /// After all were tried, the time of the trial goes on to its end.
    mutating func restTrial() {
        trial.rest()
        endTrialLater()
    }

    /// Removes a queue whose suspect has returned, or was not started.
    mutating func leaveTrial(_ queue: QueueID) {
        // The end of this part is none of the next one's, for which outcomes may have to be written.
        if trial.left(queue), !mutant("part of a trial") { endTrialLater() }
    }

    private mutating func endTrialLater() {
        // One whose time is reached is about to be ended.
        guard let end = agenda.deadlines.time(of: .endTrial), end != trial.until else { return }
        agenda.schedule(.endTrial, at: trial.until)
    }

    package mutating func endTrial() -> [SchedulerDecision] {
        // Since its time was reached, a process has ended, or another trial has begun.
        guard trial.until != nil, agenda.deadlines.time(of: .endTrial) == nil else { return [] }
        let (survivors, untried) = trial.end()
        for queue in untried { makeReady(queue) }
        return (survivors.isEmpty ? [] : [.survived(survivors)]) + decide()
    }

    func trialRule(for queue: QueueID) -> TrialRule {
        guard triesSuspects else { return .none }
        if trial.group.contains(queue) { return .tries(size: trial.size) }
        return trial.rule
    }

    mutating func decideTrial() -> [SchedulerDecision] {
        guard trial.group.isEmpty, permitsInUse == 0 || mutant("alone") else { return [] }
        // An outcome that is being written may run the application's code.
        guard settling == 0 || mutant("trial beside a settling") else { return [] }
        guard let (queues, isLong) = trial.takeGroup(limit: concurrency) else { return [] }
        return [.beginTrial(isLong: isLong), .claim(queues.map { request($0) })]
    }
}
