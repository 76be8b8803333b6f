internal import DequeModule
internal import HeapModule

/// Decides which queue's head is claimed next: facts in, decisions out; no SQL, no clock, no waiting.
///
/// It knows the active queues, not their actions: the claim reads the head in its transaction, and its result
/// is reported as a fact. A queue with nothing to do, or parked, is forgotten: idle queues cost nothing.
///
/// ```
///             wake                claim                admitted           handler returned
/// (unknown) ────▶ ready ───────────────▶ claiming ───────────▶ running ────────────────▶ settling ─▶ ready
///                     ▲                       │ nothing to run, parked: forgotten
///                     │ time reached          ├─▶ waiting (retry)
///                     │ permit released       ├─▶ lacking a permit of its route, or its rate limit
///                     │ nothing runs          └─▶ waiting for its trial (a suspect, G7)
/// ```
package struct SchedulerStateMachine {
    package let concurrency: Int
    /// Whether suspects are tried with nothing beside them (``CrashTrial``).
    let triesSuspects: Bool

    var phases: [QueueID: QueuePhase] = [:]
    var ready: Deque<QueueID> = []
    /// How many queues are blocked.
    var blockedCount = 0
    /// The gates that blocked queues wait for.
    var gates: [QueueID: GateName] = [:]
    /// Queues that other processes run.
    var taken = QueueLine()
    /// Those polled, until it is known whether they are free.
    var askedAgain: Set<QueueID> = []
    var trial = CrashTrial()
    /// Waits of queues that are polled again: a wall clock that was set back cannot restart them (G8).
    var waits: [QueueID: (wait: RetryWait, until: Duration, isOver: Bool)] = [:]
    var lines = RouteLines()
    var rates = RateLines()
    /// The claims of runs of queues with several slots.
    ///
    /// The phase of such a queue is that of its next claim: a wake-up costs one vain claim, not one a slot.
    var beside: Set<Int64> = []
    /// Those of them whose outcome is being written.
    var settlingBeside: Set<Int64> = []
    var agenda = Agenda()
    /// Claims under way and handlers that run.
    var permitsInUse = 0
    /// Outcomes that are being written.
    var settling = 0
    var routeless = RoutelessQueues()
    private(set) var isOpen = false
    private var isStopping = false

    package init(concurrency: Int, triesSuspects: Bool = true) {
        (self.concurrency, self.triesSuspects) = (concurrency, triesSuspects)
    }

    /// Forgets an earlier run, before the file is read for a new one: later commits report what it missed.
    package mutating func reset() {
        precondition(permitsInUse == 0 && settling == 0, "the scheduler was reset while handlers ran")
        forget()
    }

    /// Starts claiming; ``wake(_:)`` follows with the queues that have work.
    package mutating func start() { isOpen = true }

    /// Stops claiming; ``stop()`` follows, which may report at once that nothing runs.
    package mutating func close() { isOpen = false }

    /// Stops claiming, and reports when nothing runs.
    package mutating func stop() -> [SchedulerDecision] {
        close()
        isStopping = true
        return decide()
    }

    package mutating func wake(_ queues: some Sequence<QueueID>) -> [SchedulerDecision] {
        // When it starts, it gets all queues with work.
        guard isOpen else { return [] }
        for queue in queues { wake(queue) }
        return decide()
    }

    /// Records that a claim is committed and its handler starts; `route`: its route, if that has a limit.
    package mutating func started(
        _ queue: QueueID,
        claim: Int64,
        route: RouteID? = nil,
        timeOutAt: Duration?,
        room: SlotRoom = .single
    ) -> [SchedulerDecision] {
        precondition(isClaiming(queue), "a queue started that was not being claimed")
        waits[queue] = nil
        if let route { lines.began(claim, of: route) }
        endCall(of: queue, hasTaken: route)
        endTurn(of: queue)
        hasRoute(queue)
        trial.started(queue, claim: claim)
        if room != .single { beside.insert(claim) }
        switch room {
        case .single: phases[queue] = .running
        case .more: makeReady(queue)
        case .full: phases[queue] = .full
        }
        if let timeOutAt { agenda.deadlines.add(.attempt(claim), at: timeOutAt) }
        return (trial.isLate(queue) ? [.survived([claim])] : []) + decide()
    }

    /// A claim ended without a run, for any other reason than ``ClaimResult/claimed(_:)``.
    package mutating func concluded(_ queue: QueueID, _ result: ClaimResult) -> [SchedulerDecision] {
        guard case .claiming(let wasWoken) = phases[queue] else {
            preconditionFailure("a claim was concluded that was not under way")
        }
        permitsInUse -= 1
        leaveTrial(queue)
        _ = trial.isLate(queue)
        // A wait that has ended returns only from a claim that failed after it, with a delay of its own.
        let known = waits.removeValue(forKey: queue).flatMap { $0.isOver ? nil : $0 }
        noteRoute(of: queue, result)
        if wasWoken && result.isOutdatedByWake && !mutant("wake during a claim") {
            makeReady(queue)
            return decide()
        }
        switch result {
        case .claimed: preconditionFailure("a claim was concluded that has a run")
        case .empty, .taken, .parked: phases[queue] = nil
        case .unfinished: makeReady(queue)
        case .waiting(let wait, let time), .gathering(let wait, let time):
            postpone(queue, wait, until: known?.wait == wait ? min(time, known?.until ?? time) : time)
        case .lacksPermit(let route, let limit):
            phases[queue] = .lackingPermit(route)
            // A permit may have been freed between the transaction and now.
            if !lines.enqueue(queue, for: route, limit: limit) { makeReady(queue) }
        case .lacksRate(let limit, let time): awaitTurn(queue, at: limit, until: time)
        case .awaitsTrial(let suspect):
            phases[queue] = .suspect
            // The trial may have ended between the transaction and now.
            if trial.isOver { makeReady(queue) } else { trial.add(suspect) }
        case .unroutable: block(queue, by: .route)
        case .gated(let gate, isRouted: _):
            block(queue, by: .gate)
            gates[queue] = gate
        case .held: block(queue, by: .hold)
        case .takenElsewhere:
            block(queue, by: .taken)
            taken.append(queue)
        }
        endCall(of: queue, hasTaken: nil)
        if !result.keepsTurn { endTurn(of: queue) }
        askNextTaken(behind: queue)
        return decide()
    }

    /// Records that a handler has returned and its outcome is about to be written.
    ///
    /// Returns the claim to make in the same transaction: the next ready queue's, or its own queue's.
    package mutating func finishing(_ queue: QueueID, claim: Int64) -> ClaimRequest? {
        let isBeside = beside.contains(claim)
        if isBeside {
            beside.remove(claim)
            settlingBeside.insert(claim)
        } else {
            precondition(phases[queue] == .running, "a queue finished that was not running")
            leaveTrial(queue)
            phases[queue] = .settling
        }
        agenda.deadlines.removeAttempt(claim)
        endRun(claim)
        settling += 1
        // Its permit passes to the next claim, or is returned.
        permitsInUse -= 1
        guard isOpen, !trial.isActive else { return nil }
        if let next = ready.popFirst() { return request(next) }
        if isBeside { return phases[queue] == .full ? request(queue) : nil }
        settling -= 1
        return request(queue)
    }

    /// The outcome has been written; the queue may have more to do.
    package mutating func settled(_ queue: QueueID, claim: Int64) -> [SchedulerDecision] {
        wroteOutcome(queue, claim: claim)
        return decide()
    }

    /// The outcome has been written, with a claim whose end is reported next.
    mutating func wroteOutcome(_ queue: QueueID, claim: Int64) {
        endedRun(claim)
        if settlingBeside.remove(claim) != nil {
            settling -= 1
            // A slot is free.
            if phases[queue] == .full { makeReady(queue) } else { wake(queue) }
        } else if phases[queue] == .settling {
            settling -= 1
            makeReady(queue)
        }
    }

    /// Withdraws the claim of a queue's next action until its outcome is written; `nil` if it has more slots.
    package mutating func withdrawClaim(of queue: QueueID, behind claim: Int64) -> [SchedulerDecision]? {
        if settlingBeside.contains(claim) { return nil }
        precondition(isClaiming(queue), "a claim was withdrawn that was not under way")
        permitsInUse -= 1
        leaveTrial(queue)
        endCall(of: queue, hasTaken: nil)
        waits[queue] = nil
        phases[queue] = .settling
        settling += 1
        return decide()
    }

    func isClaiming(_ queue: QueueID) -> Bool { if case .claiming = phases[queue] { true } else { false } }

    mutating func wake(_ queue: QueueID) {
        switch phases[queue] {
        case nil: makeReady(queue)
        case .blocked:
            unblock(queue)
            makeReady(queue)
        case .claiming: phases[queue] = .claiming(wasWoken: true)
        case .waiting(let wait, let until, let deadline):
            agenda.deadlines.remove(deadline)
            makeReady(queue)
            waits[queue] = (wait, until, isOver: false)
        // Its head may be another one now, of another route.
        case .lackingPermit, .lackingRate: makeReady(queue)
        // These check the head again in any case.
        case .ready, .running, .full, .settling, .suspect: break
        }
    }

    mutating func makeReady(_ queue: QueueID) {
        phases[queue] = .ready
        ready.append(queue)
    }

    mutating func decide() -> [SchedulerDecision] {
        guard isOpen else {
            guard isStopping, permitsInUse == 0, settling == 0 else { return [] }
            forget()
            return [.stopped]
        }
        if trial.isActive { return decideTrial() }
        if trial.until != nil { restTrial() }
        var requests: [ClaimRequest] = []
        while permitsInUse < concurrency || mutant("permits"), let queue = ready.popFirst() {
            requests.append(request(queue))
        }
        if !requests.isEmpty { return [.claim(requests)] }
        return isIdle ? [.becameIdle] : []
    }

    mutating func request(_ queue: QueueID) -> ClaimRequest {
        permitsInUse += 1
        phases[queue] = .claiming(wasWoken: false)
        let known = waits[queue]
        let waitedFor = known?.isOver == true ? known?.wait : nil
        return ClaimRequest(queue: queue, waitedFor: waitedFor, trial: trialRule(for: queue))
    }

    /// Forgets everything but the sync of earlier writes, and how many processes have ended.
    private mutating func forget() {
        let (sync, trial) = (agenda.deadlines.time(of: .sync), CrashTrial(after: trial))
        self = Self(concurrency: concurrency, triesSuspects: triesSuspects)
        self.trial = trial
        agenda.deadlines.set(.sync, at: sync)
    }
}
