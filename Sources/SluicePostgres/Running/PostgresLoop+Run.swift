#if PostgreSQL
internal import Logging
internal import Sluice
internal import Synchronization

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

extension PostgresLoop {
    /// Runs the queues until a stop has been requested and no handler runs.
    func run() async throws(SluiceError) {
        var work = LoopWork()
        // Whatever the loop waits for: others may run the queues soon.
        lease.beginWatch { [options, runner] in
            options.logger.warning(
                "no call has succeeded for two thirds of the lease: handlers are cancelled in time"
            )
            runner.cancelClaimed(.stop)
        }
        defer {
            lease.endWatch()
            finish()
        }
        var tries = 0
        while true {
            let due: Timestamp?
            do throws(PostgresFailure) {
                due = try await turn(&work)
                if tries >= Self.triesBeforeWarning { noteSuccess() }
                tries = 0
            } catch {
                tries += 1
                try await recover(from: error, tries, &work)
                if isOver { break }
                continue
            }
            changes.change()
            // A stop does not wait for who has a queue.
            if state.withLock({ $0.givesUp }) { leaveOutcomes(where: \.isBusy) }
            if isOver { break }
            await rest(until: due, &work)
        }
        guard work.epoch != 0 else { return }
        do throws(PostgresFailure) { try await leave(work) } catch {
            // Its lease ends by itself.
            options.logger.notice("the worker could not sign off", metadata: ["error": "\(error)"])
        }
    }

    func start() { state.withLock { ($0.phase, $0.givesUp, $0.sentRoutes) = (.running, false, 0) } }

    /// Claims nothing any more; with `givesUp`, outcomes that cannot be written are left to the next worker.
    func stop(givesUp: Bool) {
        state.withLock { state in
            if state.phase == .running { state.phase = .stopping }
            if givesUp { state.givesUp = true }
        }
        kick()
    }

    private var isOver: Bool { state.withLock { $0.phase == .stopping && $0.isAtRest } }

    /// Ends this worker on the server.
    func leave(_ work: LoopWork) async throws(PostgresFailure) {
        _ = try await connection.call("SELECT @sluice_leave($1)", ["\(work.epoch)"], within: .seconds(10))
        lease.end()
    }

    private func finish() {
        lease.end()
        state.withLock { ($0.phase, $0.refusal) = (.idle, nil) }
        changes.change()
    }

    /// Waits until something is due, for the poll interval at most, or until it is woken.
    private func rest(until due: Timestamp?, _ work: inout LoopWork) async {
        let clock = options.clock
        if let due, due <= clock.now {
            work.pause = LoopWork.shortestPause
            return
        }
        if state.withLock({ $0.isKicked || !$0.outcomes.allAreBusy }) { return }
        // Others are waited for by the place's time, and due actions by the broker's clock.
        let delay = work.pause
        work.pause = min(max(work.pause * 2, LoopWork.shortestPause), server.pollInterval)
        let poll = Task {
            do { try await self.place.sleep(for: delay) } catch { return }
            self.kick()
        }
        let alarm = due.map { due in
            let deadline = clock.uptime + (due - clock.now)
            return Task {
                do { try await clock.sleep(untilUptime: deadline) } catch { return }
                self.kick()
            }
        }
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let isKicked = state.withLock { state in
                if !state.isKicked { state.sleeper = continuation }
                return state.isKicked
            }
            if isKicked { continuation.resume() }
        }
        poll.cancel()
        alarm?.cancel()
    }

    /// After a failed call: ends handlers whose lease may be over, and waits before the next try.
    private func recover(
        from failure: PostgresFailure,
        _ tries: Int,
        _ work: inout LoopWork
    ) async throws(SluiceError) {
        // One that fails again and again is more than a moment's trouble.
        if tries >= Self.triesBeforeWarning { await note(failure, of: work.epoch) }
        let level: Logger.Level = tries == Self.triesBeforeWarning ? .warning : .debug
        options.logger.log(level: level, "a call of the server failed", metadata: ["error": "\(failure)"])
        if failure.isTakenOff {
            options.logger.warning("the worker was taken off: its lease was over, and others run its queues")
            runner.cancelClaimed(.stop)
            // Whether a claim is gone by its outcome or by this is not known: its outcome counts as refused.
            forgetWaiting()
            state.withLock { $0.outcomes.forgetSending() }
            lease.end()
            work = LoopWork(after: work)
            return
        }
        if failure.needsResync, !mutant("server resync") { work.mustResync = true }
        if case .closed = failure { throw failure.error(doing: "running the queues") }
        if failure.endsRun {
            options.logger.error(LogMessages.endOfRun, metadata: ["error": "\(failure)"])
            stop(givesUp: true)
            runner.cancelAll(.stop)
            leaveOutcomes()
            if isOver { throw failure.error(doing: "running the queues") }
        }
        if state.withLock({ $0.givesUp }) { leaveOutcomes() }
        await backOff(tries)
    }

    /// Gives up claims whose handlers wait for the return of earlier ones: others run their queues.
    private func forgetWaiting() {
        let (actions, timers) = state.withLock { state in
            let actions = state.slots.forgetWaiting()
            for action in actions {
                (state.held[action.receipt.claim], state.active[action.receipt.claim]) = (nil, nil)
            }
            return (actions, actions.compactMap { state.timers.removeValue(forKey: $0.receipt.claim) })
        }
        for action in actions { runner.forget(action) }
        for timer in timers { timer.cancel() }
    }

    /// Statuses say why nothing starts here, and in other processes if the server can be written to.
    private func note(_ failure: PostgresFailure, of worker: Int64) async {
        let (text, now) = ("\(failure)", options.clock.now)
        let isNew = state.withLock { state in
            if state.refusal?.error == text { return false }
            state.refusal = (text, now)
            return true
        }
        guard isNew else { return }
        do throws(PostgresFailure) {
            _ = try await connection.call(
                "SELECT @sluice_note_refusal($1, $2, $3, $4)",
                ["\(worker)", workerName, "\(Int64.random(in: .min ... .max))", text],
                within: server.lease / 6
            )
        } catch {
            options.logger.debug("others cannot be told why calls fail", metadata: ["error": "\(error)"])
        }
    }

    private func noteSuccess() {
        state.withLock { $0.refusal = nil }
        options.logger.notice("calls of the server succeed again")
    }

    /// Waits before the next try: after an outage all leases are over, and whoever is late is taken off.
    func backOff(_ tries: Int) async { await place.pause(tries, atMost: min(server.lease / 6, .seconds(5))) }

    /// Leaves outcomes to the next worker, which runs their actions again.
    private func leaveOutcomes(where isLeft: (Outcomes.Outcome) -> Bool = { _ in true }) {
        let outcomes = state.withLock { state in
            let outcomes = state.outcomes.remove(where: isLeft)
            for outcome in outcomes {
                state.active[outcome.action.receipt.claim] = nil
                state.held[outcome.action.receipt.claim] = nil
                if outcome.finish != nil { state.reporting += 1 }
            }
            return outcomes
        }
        for outcome in outcomes { outcome.finish?(.init(result: nil)) }
    }

    /// Makes this process a worker, or sends the server new routes.
    func register(_ work: inout LoopWork) async throws(PostgresFailure) {
        let changes = state.withLock { $0.routeChanges }
        let (sent, routes) = (place.now, RouteFacts.json(book.registrations))
        if work.epoch == 0 {
            let rows = try await connection.call(
                "SELECT @sluice_register($1, $2, $3, $4) AS epoch",
                [workerName, "\(Int64.random(in: .min ... .max))", server.lease.postgresText, routes],
                within: server.lease / 3
            )
            work.epoch = rows.first?.integer("epoch") ?? 0
            work.nextClaim = work.epoch << 32 + 1
            lease.begin(work.epoch, from: sent)
        } else {
            let call = "SELECT @sluice_set_routes($1, $2)"
            do throws(PostgresFailure) {
                _ = try await connection.call(call, ["\(work.epoch)", routes], within: server.lease / 3)
            } catch  where error.isLocked {
                // With the old ones until the next turn: a transaction has a queue, perhaps for long.
                return
            }
        }
        state.withLock { $0.sentRoutes = changes }
    }

    var workerName: String {
        server.workerName
            ?? "\(ProcessInfo.processInfo.hostName)/\(ProcessInfo.processInfo.processIdentifier)"
    }
}
#endif
