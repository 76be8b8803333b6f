internal import Logging
internal import Synchronization

/// Guards the state machine with a lock, and performs its decisions after the lock has been given up.
package final class Scheduler: AttemptSource {
    /// How long a claim or an outcome waits that the file has refused.
    private static let claimRetryDelay: Duration = .seconds(1)
    /// The longest wait for something scheduled, to notice a wall clock that was set forward.
    static let scheduleInterval: Duration = .seconds(60)

    let machine: Mutex<SchedulerStateMachine>
    let store: Store
    let origin: FileAttemptOrigin
    let routes: Routes
    let clock: any BrokerClock
    private let alarm: Alarm
    let engine: EngineContext
    /// How long everything else waits for suspects after a process has died.
    let crashTrialLimit: Duration
    let logger: Logger
    /// Checks for due scheduled actions that are under way.
    let admissions = Atomic(0)
    /// Chores being performed, and decisions of the timer not performed yet.
    let chores = Atomic(0)
    /// The times until which outcomes wait that could not be written.
    let pauses = Mutex<[Duration]>([])
    let refusals = Refusals()
    /// Actions claimed for a trial after a crash, by claim, since the last trial began.
    let triedActions = Mutex<[Int64: ClaimedAction]>([:])
    let restWaiters: RestWaiters?
    private let connection = Mutex<Delegate?>(nil)

    init(store: Store, routes: Routes, options: BrokerOptions, broker: BrokerReference) {
        (self.store, self.routes) = (store, routes)
        (clock, engine, crashTrialLimit) = (options.clock, options.engine, options.crashTrialLimit)
        let triesSuspects = crashTrialLimit > .zero
        machine = Mutex(SchedulerStateMachine(concurrency: options.concurrency, triesSuspects: triesSuspects))
        origin = FileAttemptOrigin(store, broker)
        alarm = Alarm(clock: options.clock, executor: options.engine.executor)
        (logger, restWaiters) = (options.logger, options.restWaiters)
    }

    /// Sets the delegate that starts handlers and performs chores; nothing may be done before.
    func connect(_ delegate: Delegate) { connection.withLock { $0 = delegate } }

    /// Removes the delegate: no handler is started and no chore performed any more.
    func disconnect() {
        alarm.cancel()
        connect(Delegate())
    }

    var delegate: Delegate {
        if let delegate = connection.withLock({ $0 }) { return delegate }
        preconditionFailure("the scheduler was used before it was connected")
    }

    func reset() { machine.withLock { $0.reset() } }
    /// Accepts wake-ups from now on; decides nothing yet, so that a broker may call it inside its own lock.
    func start() { machine.withLock { $0.start() } }
    /// Stops claiming, without a report before ``stop()``.
    func close() { machine.withLock { $0.close() } }
    func stop() { update { $0.stop() } }
    func wake(_ queues: some Sequence<QueueID>) { update { $0.wake(queues) } }
    func routesChanged() { update { $0.routesChanged() } }
    func holdsChanged() { update { $0.holdsChanged() } }
    func askAgain(all: Bool) { update { $0.askAgain(all: all) } }

    func gatesOpened(_ openings: [GateOpening]) {
        let now = clock.uptime
        update { $0.gatesOpened(openings, at: now) }
    }

    func silence() {
        alarm.cancel()
        refusals.clear()
    }

    package func attempt(for action: ClaimedAction) -> Attempt { Attempt(action, of: origin) }

    package func route(for action: ClaimedAction, after tried: Set<RouteID>) -> Route? {
        guard let route = routes.current.route(for: action, after: tried) else { return nil }
        let time = route.options.timeout.map { clock.uptime + $0 }
        update { $0.timeOut(action.receipt.claim, at: time) }
        return route
    }

    package func retryUndecodable() { schedule(.liftUndecodable, within: .zero) }

    private var isCrowded: Bool { machine.withLock { $0.isCrowded } }

    /// Writes the outcome of a run, claims the next action, and returns it if it is to run.
    ///
    /// It is tried until it is written, whether the caller's task is cancelled or not; `giveUp` ends that.
    ///
    /// `whenWorkFails` makes the settlement to write instead if the application's code in it fails. `written`
    /// gets the settlement and its result, `nil` after giving up, before the broker is reported as idle.
    package func settle(
        _ action: ClaimedAction,
        _ settlement: Settlement,
        giveUp: @Sendable () -> Bool,
        whenWorkFails: (any Error) -> Settlement,
        written: (Settlement, SettleResult?) -> Void
    ) async -> (ClaimedAction, Route)? {
        let receipt = action.receipt
        var settlement = settlement
        var request = machine.withLock { $0.finishing(receipt.queue, claim: receipt.claim) }
        let claimsOwnQueue = request?.queue == receipt.queue
        var suspect: (queue: QueueID, error: SluiceError)?
        var mayBeWritten = false
        while true {
            let routes = routes.current
            switch await write(settlement, of: receipt, thenClaim: request, routes.admission, mayBeWritten) {
            case .success(let done):
                forget(receipt)
                if let suspect { noteRefusal(.claim, of: suspect.queue, suspect.error) }
                if settlement.awaitsTime { schedule(.admitScheduled, within: .zero) }
                written(settlement, done.result)
                if let queue = request?.queue, let claim = done.claim {
                    return conclude(queue, claim, routes, after: receipt)
                }
                update { $0.settled(receipt.queue, claim: receipt.claim) }
                // A postponed claim may have found the slot still taken.
                if claimsOwnQueue { wake(CollectionOfOne(receipt.queue)) }
                return nil
            case .failure(let error):
                logger.debug("not settled", metadata: ["error": "\(error)", "action": "\(receipt.action)"])
                if error.code == .unknownCommit { mayBeWritten = true }
                if let cause = settlement.workFailure(error) {
                    settlement = whenWorkFails(cause)
                    continue
                }
                if let claim = request {
                    // It is made later: the handler's outcome is written, whatever is wrong with the claim.
                    request = nil
                    if !withdraw(claim, behind: receipt) { postponeClaim(claim) }
                    // Writing the outcome alone shows whose rows are at fault (G9).
                    if error.isOfRows {
                        suspect = (claim.queue, error)
                        continue
                    }
                } else if giveUp() || error.endsBroker {
                    forget(receipt)
                    written(settlement, nil)
                    update { $0.settled(receipt.queue, claim: receipt.claim) }
                    return nil
                }
                suspect = nil
                if !error.endsBroker { await pause(behind: error, receipt) }
            }
        }
    }

    @inline(__always)
    private func write(
        _ settlement: Settlement,
        of receipt: Receipt,
        thenClaim request: ClaimRequest?,
        _ admission: Admission,
        _ mayBeWritten: Bool
    ) async -> Result<SettlementAnswer, SluiceError> {
        // Unchecked, since it is made for each action that runs; a write's completion is called once.
        await withUnsafeContinuation { continuation in
            store.settle(
                receipt,
                settlement,
                thenClaim: request,
                by: admission,
                mayBeWritten: mayBeWritten,
                commitsOnWriterThread: isCrowded
            ) { [delegate] answer in
                if case .success(let done) = answer, let next = done.next { delegate.announce(next) }
                continuation.resume(returning: answer)
            }
        }
    }

    private func forget(_ receipt: Receipt) {
        store.ownSettlements.remove(receipt)
        refusals.clear(.outcome(receipt.claim), of: receipt.queue)
    }

    private func pause(behind error: SluiceError, _ receipt: Receipt) async {
        // Before the report, after which a test may advance the time.
        let deadline = clock.uptime + Self.claimRetryDelay
        noteRefusal(.outcome(receipt.claim), of: receipt.queue, error)
        pauses.withLock { $0.append(deadline) }
        restWaiters?.changed()
        defer { pauses.withLock { if let index = $0.firstIndex(of: deadline) { $0.remove(at: index) } } }
        // The settling outlives the cancellation of the handler's task.
        await engine.detached { [clock] in do { try await clock.sleep(untilUptime: deadline) } catch {} }
    }

    private func ring() {
        let now = clock.uptime
        var count = 0
        update { machine in
            let decisions = machine.timeReached(now)
            // From here on, so that they are counted at every moment.
            if decisions.contains(.perform(.admitScheduled)) { admissions.add(1, ordering: .relaxed) }
            count = decisions.count
            chores.add(count, ordering: .relaxed)
            return decisions
        }
        chores.subtract(count, ordering: .relaxed)
        restWaiters?.changed()
    }

    func update(_ change: (inout SchedulerStateMachine) -> [SchedulerDecision]) {
        let (decisions, deadline, rests) = machine.withLock { machine in
            let wasResting = machine.isResting
            return (change(&machine), machine.nextDeadline, machine.isResting && !wasResting)
        }
        if let deadline { alarm.set(deadline) { [weak self] in self?.ring() } }
        for decision in decisions {
            switch decision {
            case .claim(let requests): claim(requests)
            case .timeOut(let claim): delegate.timeOut(claim)
            case .perform(let chore): delegate.perform(chore)
            case .beginTrial(let isLong): beginTrial(isLong: isLong)
            case .survived(let claims): survived(claims)
            case .becameIdle: delegate.rests()
            case .stopped: delegate.stopped()
            }
        }
        if rests { delegate.rests() }
        restWaiters?.changed()
    }

    private func claim(_ requests: [ClaimRequest]) {
        let routes = routes.current
        store.claim(requests, by: routes.admission) { [self] result in
            switch result {
            case .success(let results):
                for (request, result) in zip(requests, results) {
                    if let (action, route) = conclude(request.queue, result, routes) {
                        delegate.start(action, route)
                    }
                }
            case .failure(let error):
                logger.debug("claiming failed", metadata: ["error": "\(error)"])
                if requests.count > 1, error.isOfRows {
                    // One queue at fault must not keep the others from starting (G9).
                    for request in requests { claim([request]) }
                } else {
                    for request in requests {
                        postponeClaim(request)
                        noteRefusal(.claim, of: request.queue, error)
                    }
                }
            }
        }
    }

    /// Reports the end of a claim to the state machine; returns the action if it is to run.
    ///
    /// `routes` are those by which the claim was made, and `receipt` is that of the run whose outcome was
    /// written in the same transaction.
    private func conclude(
        _ queue: QueueID,
        _ result: ClaimResult,
        _ routes: RouteSet,
        after receipt: Receipt? = nil
    ) -> (ClaimedAction, Route)? {
        refusals.clear(.claim, of: queue)
        switch result {
        case .claimed(let action):
            let (claim, route, room) = (action.receipt.claim, routes[action.route], action.room)
            if action.isTried { triedActions.withLock { $0[claim] = action } }
            let timeOutAt = route.options.timeout.map { clock.uptime + $0 }
            let limited = route.options.concurrency == nil ? nil : route.id
            update {
                if let receipt { $0.wroteOutcome(receipt.queue, claim: receipt.claim) }
                return $0.started(queue, claim: claim, route: limited, timeOutAt: timeOutAt, room: room)
            }
            return (action, route)
        case .gated(let gate, let isRouted): if isRouted { delegate.meets(gate) }
        case .held(let end): if case .at(let time) = end { expectEnd(at: time) }
        case .unroutable: delegate.lacksRoute()
        case .awaitsTrial, .empty, .taken, .takenElsewhere, .waiting, .gathering, .parked, .lacksPermit,
            .lacksRate, .unfinished:
            break
        }
        update {
            if let receipt { $0.wroteOutcome(receipt.queue, claim: receipt.claim) }
            if case .awaitsTrial = result { $0.meetsSuspect(at: clock.uptime, limit: crashTrialLimit) }
            return $0.concluded(queue, result)
        }
        delegate.waits(queue)
        return nil
    }

    /// Leaves a queue's next claim to when its outcome is written, unless the queue has several slots.
    private func withdraw(_ request: ClaimRequest, behind receipt: Receipt) -> Bool {
        guard request.queue == receipt.queue else { return false }
        var decisions: [SchedulerDecision]?
        update { machine in
            decisions = machine.withdrawClaim(of: receipt.queue, behind: receipt.claim)
            return decisions ?? []
        }
        return decisions != nil
    }

    private func postponeClaim(_ request: ClaimRequest) {
        let time = clock.uptime + Self.claimRetryDelay
        update { $0.concluded(request.queue, .waiting(request.waitedFor ?? .unwritten, until: time)) }
        delegate.waits(request.queue)
    }

    private func noteRefusal(_ write: Refusals.Write, of queue: QueueID, _ error: SluiceError) {
        if refusals.note(write, of: queue, error, at: clock.now),
            refusals.isToBeLogged(error, at: clock.uptime)
        {
            let isLock = error.code == .databaseLocked
            logger.warning(
                isLock ? "another connection keeps the write lock" : "a write to the file fails",
                metadata: ["error": "\(error)"]
            )
        }
        delegate.waits(queue)
    }
}
