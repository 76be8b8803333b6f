#if PostgreSQL
internal import Logging
internal import Sluice
internal import Synchronization

extension PostgresLoop {
    /// Calls the server once; returns when something is due, or the present if there is more to do.
    func turn(_ work: inout LoopWork) async throws(PostgresFailure) -> Timestamp? {
        state.withLock { $0.isKicked = false }
        if work.isUsedUp(server.claimLimit), state.withLock({ $0.isAtRest }) {
            // Its numbers would run into the next worker's.
            try await leave(work)
            work = LoopWork(after: work)
        }
        if work.epoch == 0 || hasNewRoutes { try await register(&work) }
        if work.mustResync { try await resync(&work) }
        doorbell.listen { [weak self] in self?.kick() }
        let isBusy = try await chores(&work)
        try await lookForOversights(&work)
        let limits = book.registrations.compactMap { route in route.concurrency.map { (route.id, $0) } }
        let most = work.isUsedUp(server.claimLimit) ? 0 : options.concurrency
        let (outcomes, free, permits) = state.withLock { $0.takeForCall(most, limits) }
        let sent = place.now
        let rows: PostgresRows
        do throws(PostgresFailure) {
            rows = try await connection.call(
                StepCall.sql,
                StepCall(outcomes, free, permits, isListening: doorbell.isListening)
                    .parameters(work, server.lease, options.crashTrialLimit),
                within: server.lease / 3
            )
        } catch {
            let sender = error.mayHaveCommitted ? work.epoch : nil
            state.withLock { $0.outcomes.putBack(outcomes, mayBeSettledBy: sender) }
            if error == .lost(PostgresFailure.tooLate) { work.wasTooLate(server.lease, options.logger) }
            guard error.isOfData, !outcomes.isEmpty, !mutant("server data") else { throw error }
            takeApart(outcomes, error, &work)
            return options.clock.now
        }
        work.came(rows, in: place.now - sent, of: server.lease / 3)
        state.withLock { $0.outcomes.widen() }
        // This process was frozen: others may have its queues, and it starts nothing.
        guard !lease.isTooLate(from: sent) || mutant("server late answer") else {
            state.withLock { $0.outcomes.putBack(outcomes, mayBeSettledBy: work.epoch) }
            throw .lost("the answer came too late")
        }
        lease.renew(from: sent)
        if work.arrivalsFrom == "0" { work.wholeLook = (place.now, place.now - sent) }
        let due = digest(rows, outcomes, &work)
        return isBusy ? options.clock.now : due
    }

    /// After a call that was refused for the data of an outcome: the next ones find out which.
    ///
    /// That attempt ends as a failed one, so that all others are written.
    private func takeApart(_ outcomes: [Outcomes.Outcome], _ failure: PostgresFailure, _ work: inout LoopWork)
    {
        guard outcomes.count == 1, let outcome = outcomes.first else {
            return state.withLock { $0.outcomes.narrow(outcomes.count) }
        }
        let facts: Logger.Metadata = [
            "queue": "\(outcome.action.queue)", "action": "\(outcome.action.receipt.action)",
            "error": "\(failure)",
        ]
        options.logger.warning("the server refuses the outcome of an attempt, which fails", metadata: facts)
        let policy = book.route(outcome.action.route)?.options.failure.failed ?? .block
        let reason = "the server refuses the outcome of the attempt: \(failure.error(doing: "settling"))"
        let lost = state.withLock { state -> Outcomes.Outcome? in
            let lost = state.outcomes.replaceFirst(.fail(.failed, policy, error: reason))
            if let claim = lost?.action.receipt.claim {
                (state.active[claim], state.held[claim]) = (nil, nil)
                if lost?.finish != nil { state.reporting += 1 }
            }
            return lost
        }
        // Not even that can be written: the action is given back.
        guard let lost else { return }
        work.mustResync = true
        lost.finish?(.init(result: nil))
    }

    /// Does the chores when they are due; returns whether there may be more.
    private func chores(_ work: inout LoopWork) async throws(PostgresFailure) -> Bool {
        let now = place.now
        let isDue = work.due.map { $0 <= options.clock.now } ?? false
        if let last = work.choresDone, !isDue, now - last < server.choreInterval { return false }
        work.due = nil
        var isBusy = false
        do throws(PostgresFailure) {
            let rows = try await connection.call(
                "SELECT * FROM @sluice_chores($1, $2, $3)",
                ["\(work.epoch)", server.lease.postgresText, options.crashTrialLimit.postgresText],
                within: server.lease / 3
            )
            report(rows.dropLast().flatMap { $0.events(at: options.clock.now) })
            isBusy = (rows.last?.integer("done") ?? 0) > 0
        } catch  where error.isLocked {
            // Whoever has the lock must not keep this worker from its steps.
            options.logger.debug("a transaction holds up what is done now and then")
        }
        work.choresDone = isBusy ? nil : now
        work.arrivalsFrom = "0"
        return isBusy
    }

    /// Gives back what the server has claimed in a call whose answer was lost.
    private func resync(_ work: inout LoopWork) async throws(PostgresFailure) {
        // Greater than in all calls before, whose numbers may have been given: those are refused from now on.
        work.nextClaim += Int64(options.concurrency) + Int64(Outcomes.mostInCall)
        let held = state.withLock { Array($0.held.keys) }
        let rows = try await connection.call(
            "SELECT @sluice_resync($1, $2::bigint[], $3) AS claim",
            ["\(work.epoch)", PostgresArray.numbers(held), "\(work.nextClaim)"],
            within: server.lease / 3
        )
        work.mustResync = rows.contains { $0["claim"] == nil }
    }

    /// Reports what the server has done; returns when something is due.
    private func digest(
        _ rows: PostgresRows,
        _ outcomes: [Outcomes.Outcome],
        _ work: inout LoopWork
    ) -> Timestamp? {
        let answer = StepAnswer(rows, now: options.clock.now)
        let (busy, due) = (answer.busy, answer.due)
        for claim in answer.cancelled { runner.cancel(claim: claim, .removal) }
        // The ends come before the starts that follow them.
        report(answer, outcomes)
        var following: [Int64: (action: ClaimedAction, route: Route)] = [:]
        var others: [(action: ClaimedAction, route: Route)] = []
        for row in answer.claimed {
            let claim = row.integer("claim") ?? 0
            work.nextClaim = max(work.nextClaim, claim + 1)
            guard let claimed = claimed(row, claim) else { continue }
            let follows = row.integer("follows")
            if let follows { following[follows] = claimed } else { others.append(claimed) }
        }
        if let block = answer.arrivalsFrom { work.arrivalsFrom = block }
        let locked = outcomes.filter { busy.contains($0.action.receipt.claim) }
        state.withLock { $0.outcomes.putOff(locked) }
        for outcome in outcomes {
            guard let result = answer.result(of: outcome) else { continue }
            let claim = outcome.action.receipt.claim
            let next = following.removeValue(forKey: claim)
            if outcome.finish == nil, let next { others.append(next) }
            state.withLock { state in
                state.held[claim] = nil
                // Its handler starts when the runner has this answer; that of the one before has returned.
                if outcome.finish != nil, let next { _ = state.slots.take(next.action, next.route) }
                if outcome.finish == nil { state.active[claim] = nil } else { state.reporting += 1 }
            }
            outcome.finish?(
                .init(
                    result: result,
                    replacement: outcome.isReplaced ? outcome.settlement : nil,
                    next: outcome.finish == nil ? nil : next
                )
            )
        }
        for next in others where state.withLock({ $0.slots.take(next.action, next.route) }) {
            runner.start(next.action, next.route)
        }
        work.due = due
        let hasWork = outcomes.count > busy.count || !others.isEmpty
        // Vacuum frees earlier blocks, which new arrivals take. A long look, beside an old snapshot, is rare.
        if !hasWork, place.now - work.wholeLook.end >= work.wholeLook.cost * 10 {
            work.arrivalsFrom = mutant("server arrivals") ? work.arrivalsFrom : "0"
        }
        // A call that has noted no wait is followed by one that does.
        if hasWork || !locked.allSatisfy(\.isBusy) { work.pause = server.linger }
        return due
    }

    /// Reports the ends of attempts to observers and the log.
    private func report(_ answer: StepAnswer, _ outcomes: [Outcomes.Outcome]) {
        let now = options.clock.now
        report(answer.reports.flatMap { $0.events(at: now) })
        for outcome in outcomes {
            let isLost = answer.lostEdits.contains(outcome.action.receipt.claim)
            if isLost { report([outcome.action.event(.editLost, at: now)]) }
            guard outcome.finish != nil, let result = answer.result(of: outcome) else { continue }
            report(outcome.action.events(outcome.settlement, result, at: now))
        }
    }

    private func claimed(_ row: PostgresRows.Row, _ claim: Int64) -> (action: ClaimedAction, route: Route)? {
        let route = RouteID(rawValue: Int(row.integer("route") ?? -1))
        let action = ClaimedAction(row, claim, route, now: options.clock.now)
        state.withLock { state in
            state.held[claim] = route
            state.active[claim] = action.receipt.action
        }
        guard let found = book.route(route) else {
            // The route was removed while the call was under way.
            state.withLock { state in
                state.outcomes.add(
                    .init(action: action, settlement: .release(after: .zero), finish: nil)
                )
            }
            return nil
        }
        runner.announce(action)
        setTimer(claim, found)
        report([action.event(.started, at: options.clock.now)])
        return (action, found)
    }
}
#endif
