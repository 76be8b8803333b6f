/// Which of the actions that ran when their process died are tried next, with nothing beside them (G7).
///
/// One of these suspects may be poison, and kill the process again soon after its start. So half of those
/// that are most suspect start first, and everything else waits. If the process dies again, what speaks
/// against that half is raised, and the next start tries a half of the half. If they survive, it is lowered,
/// and the next start begins with those that were not tried and ran when the process died again. So each
/// death halves those that it may have been, and only a death of an action that ran alone is counted as its
/// own. A process that is killed from outside at some later time accuses nobody.
///
/// What has survived runs on; if it has not returned by then, nothing else can be tried alone, and the trial
/// is over. It is over at ``until`` in any case: what has not been tried starts beside the others, still
/// suspect.
package struct CrashTrial: Sendable {
    /// Those that are still to be tried, the most suspect first.
    private(set) var waiting: [CrashSuspect] = []
    /// Queues whose suspects are being claimed or run.
    private(set) var group: Set<QueueID> = []
    /// How many were to start together.
    private(set) var size = 0
    /// The claims of those of the group that run.
    private(set) var claims: [QueueID: Int64] = [:]
    /// Queues whose claims were under way when the trial ended.
    private var late: Set<QueueID> = []
    /// When it is over at the latest.
    var until: Duration?
    /// It has ended before all were tried: until the next death suspects start beside others.
    private(set) var isOver = false

    var isActive: Bool { !waiting.isEmpty || !group.isEmpty }

    mutating func add(_ suspect: CrashSuspect) {
        let index = waiting.firstIndex {
            ($0.level, $0.crashes) < (suspect.level, suspect.crashes)
        }
        waiting.insert(suspect, at: index ?? waiting.endIndex)
    }

    /// Half of the most suspect, to start together.
    ///
    /// - Returns: The queues, and whether it is one action whose process has died while it ran alone: it is
    ///   given all of the time that is left.
    mutating func takeGroup(limit: Int) -> (queues: [QueueID], isLong: Bool)? {
        guard let first = waiting.first else { return nil }
        let top = waiting.prefix { $0.level == first.level }.count
        size = min((top + 1) / 2, limit)
        let queues = waiting.prefix(size).map(\.queue)
        waiting.removeFirst(size)
        group = Set(queues)
        claims = [:]
        return (queues, size == 1 && first.crashes > 0)
    }

    /// A process has died: there is time for trials again.
    mutating func begin(until: Duration) {
        self.until = until
        isOver = false
    }

    mutating func started(_ queue: QueueID, claim: Int64) {
        if group.contains(queue) { claims[queue] = claim }
    }

    /// A queue's suspect has returned, or was not started.
    mutating func left(_ queue: QueueID) {
        group.remove(queue)
        claims[queue] = nil
    }

    /// Ends it.
    ///
    /// - Returns: The claims that have survived, and the queues whose suspects were not tried.
    mutating func end() -> (survivors: [Int64], untried: [QueueID]) {
        defer {
            late.formUnion(group.subtracting(claims.keys))
            (waiting, group, claims) = ([], [], [:])
            isOver = true
        }
        return (claims.values.sorted(), waiting.map(\.queue))
    }

    /// Whether a queue starts what was to be tried, after the trial has ended.
    mutating func isLate(_ queue: QueueID) -> Bool { !late.isEmpty && late.remove(queue) != nil }
}

// MARK: - Facts

extension SchedulerStateMachine {
    /// A process has died, perhaps of one of these heads: they are tried before anything else starts.
    ///
    /// Called before the queues with work are told by ``wake(_:)``.
    package mutating func suspected(
        _ suspects: some Sequence<(queue: QueueID, level: Int, crashes: Int)>,
        until: Duration
    ) -> [SchedulerDecision] {
        guard isOpen else { return [] }
        // A look that finds none again, as they run or wait, gives no more time.
        let known = trial.waiting.count
        var isReady: Set<QueueID> = []
        for suspect in suspects {
            switch phases[suspect.queue] {
            case nil: break
            case .ready: isReady.insert(suspect.queue)
            default: continue
            }
            if obstacles.removeValue(forKey: suspect.queue) == .taken { taken.remove(suspect.queue) }
            phases[suspect.queue] = .suspect
            trial.add(.init(queue: suspect.queue, level: suspect.level, crashes: suspect.crashes))
        }
        if !isReady.isEmpty { ready.removeAll { isReady.contains($0) } }
        if trial.waiting.count > known { trial.begin(until: until) }
        return decide()
    }

    /// The time for what is being tried is over.
    package mutating func endTrial() -> [SchedulerDecision] {
        let (survivors, untried) = trial.end()
        for queue in untried { makeReady(queue) }
        return (survivors.isEmpty ? [] : [.survived(survivors)]) + decide()
    }

    /// What a claim is to do with a queue's head, should that be a suspect.
    func trialRule(for queue: QueueID) -> TrialRule {
        guard triesSuspects else { return .none }
        if trial.group.contains(queue) { return .tries(size: trial.size) }
        return trial.isOver && !trial.isActive ? .none : .waits
    }

    /// Claims the next suspects, when nothing else runs.
    mutating func decideTrial() -> [SchedulerDecision] {
        guard trial.group.isEmpty, permitsInUse == 0 || mutant("alone"), settling == 0 else { return [] }
        guard let (queues, isLong) = trial.takeGroup(limit: concurrency) else { return [] }
        return [.beginTrial(isLong: isLong), .claim(queues.map { order($0) })]
    }
}
