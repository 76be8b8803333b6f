internal import Logging
internal import Synchronization

/// The times of chores, the state of the scheduler and its queues, and trials after a crash.
extension Scheduler {
    /// Performs a chore at a time, instead of the time set before.
    func schedule(_ chore: Chore, at time: Duration) { update { $0.schedule(chore, at: time) } }
    func schedule(_ chore: Chore, after delay: Duration) { schedule(chore, at: clock.uptime + delay) }

    /// Performs a chore at a time, or at its own time if that is earlier.
    func schedule(_ chore: Chore, noLaterThan time: Duration) {
        update { $0.schedule(chore, noLaterThan: time) }
    }

    /// Ends holds and opens gates at a time; if the wall clock is set forward, somewhat later than that.
    func expectEnd(at time: Duration) {
        let limit = clock.uptime + Self.scheduleInterval
        update { $0.expectEnd(at: time, noLaterThan: limit) }
    }

    func schedule(_ chore: Chore, within delay: Duration) {
        schedule(chore, noLaterThan: clock.uptime + delay)
    }

    /// Performs a chore now, if it has a time.
    func hasten(_ chore: Chore) { if time(of: chore) != nil { schedule(chore, within: .zero) } }
    func time(of chore: Chore) -> Duration? { machine.withLock { $0.agenda.deadlines.time(of: chore) } }

    /// Sets the next check for due actions: see ``Agenda/admitNext(at:noLaterThan:insteadOf:)``.
    func admitNext(after delay: Duration?, noLaterThan limit: Duration, insteadOf mark: Duration) {
        let now = clock.uptime
        update { $0.admitNext(at: delay.map { now + $0 }, noLaterThan: now + limit, insteadOf: mark) }
    }

    func endAdmission() { admissions.subtract(1, ordering: .relaxed) }

    /// Records a chore that continues after the call that began it, until ``choreEnded()``.
    func choreBegan() { chores.add(1, ordering: .relaxed) }

    func choreEnded() {
        chores.subtract(1, ordering: .relaxed)
        restWaiters?.changed()
    }

    // MARK: - The state of the scheduler and its queues

    /// Whether it is idle, and only somebody can change that; `false` while a chore may.
    var isIdle: Bool {
        machine.withLock { chores.load(ordering: .relaxed) == 0 && $0.isIdle && !$0.awaitsEnd }
    }
    /// Whether nothing can be done now; queues may wait for a time or another process.
    var isResting: Bool { machine.withLock { $0.isResting } }

    var workAhead: RemainingWork {
        let now = clock.uptime
        return machine.withLock { machine in
            admissions.load(ordering: .relaxed) > 0 ? .now : machine.workAhead(at: now)
        }
    }

    /// Whether all work possible at this time is done, except for `held` attempts in their handlers.
    func isAtRest(butFor held: Int) -> Bool {
        let now = clock.uptime
        // These outcomes are written when time has passed.
        let paused = pauses.withLock { $0.count { $0 > now } }
        return machine.withLock { machine in
            chores.load(ordering: .relaxed) == 0 && machine.isAtRest(at: now, butFor: held, paused: paused)
        }
    }

    /// The next time at which a queue, an attempt, a scheduled time, an expiry or the end of a hold is due.
    var nextDueTime: Duration? { dueTime(ofChores: true) }
    /// The next time at which a queue or an attempt is due.
    var nextQueueTime: Duration? { dueTime(ofChores: false) }

    private func dueTime(ofChores: Bool) -> Duration? {
        let now = clock.uptime
        return machine.withLock { $0.agenda.deadlines.nextDueTime(after: now, ofChores: ofChores) }
    }

    /// Returns why the file refuses the queue's claims or outcomes.
    func refusal(of queue: QueueID) -> (error: String, since: Timestamp)? {
        refusals.refusal(of: queue).map { ("\($0.error)", $0.since) }
    }

    /// Whether the queue has nothing to claim before something else happens, as far as is known.
    func rests(_ queue: QueueID) -> Bool {
        machine.withLock { machine in
            guard let phase = machine.phases[queue] else { return true }
            return phase.block.map { $0 != .taken } ?? false
        }
    }

    func standing(of queue: QueueID) -> SchedulerStateMachine.Standing {
        machine.withLock { $0.standing(of: queue) }
    }

    /// Records the due scheduled actions without a place: these and no others.
    func keepPlaces(_ unplaced: [UnplacedAction]) {
        for queue in refusals.keepPlaces(unplaced, at: clock.now) { delegate.waits(queue) }
    }

    // MARK: - Trials after a crash: see ``CrashTrial``

    /// Suspects whose process has not died while they ran alone are tried for this part of the whole time.
    private static let part = 5

    /// Tries the suspects of the file before anything else starts.
    func suspected(_ suspects: [(queue: QueueID, level: Int, crashes: Int)]) {
        guard !suspects.isEmpty, crashTrialLimit > .zero else { return }
        let until = clock.uptime + crashTrialLimit
        update { $0.suspected(suspects, until: until) }
    }

    /// One of the actions on trial; `nil` while none runs.
    var tried: TriedAction? {
        let claims = machine.withLock { $0.trial.claims }
        guard let claim = claims.min(by: { $0.key < $1.key })?.value else { return nil }
        return triedActions.withLock { $0[claim] }.map { action in
            TriedAction(queue: action.queue, action: action.receipt.action, otherCount: claims.count - 1)
        }
    }

    /// A process has ended, or is ending.
    func noteDeath(_ number: Int) { machine.withLock { $0.noteDeath(number) } }
    func endTrial() { update { $0.endTrial() } }

    func beginTrial(isLong: Bool) {
        triedActions.withLock { $0 = [:] }
        let now = clock.uptime
        let until = machine.withLock { $0.trial.until } ?? now + crashTrialLimit
        update { $0.schedule(.endTrial, at: isLong ? until : min(until, now + crashTrialLimit / Self.part)) }
    }

    /// Records that these runs have not killed their process; unwritten, the next start tries them again.
    func survived(_ claims: [Int64]) {
        Task(executorPreference: engine.executor) { [store, logger] in
            do { try await store.survived(claims) } catch {
                logger.debug("the end of a trial was not written", metadata: ["error": "\(error)"])
            }
        }
    }
}
