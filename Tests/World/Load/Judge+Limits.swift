import Sluice

/// How many run at a time, how many start in a time, and when.
extension Judge {
    func checkLimits(_ run: Run) {
        let beside = active.values.joined().filter { $0.process === run.process }.count
        if beside >= plan.concurrency { report(run, "runs beside \(beside) of its process") }
        switch run.note.role {
        case .wide:
            let own = active.values.joined().filter { $0.process === run.process && $0.note.role == .wide }
            if own.count >= Role.permits { report(run, "runs beside \(own.count) of its route") }
        case .rated: checkRate(run)
        default: break
        }
    }

    private func checkRate(_ run: Run) {
        // A handler that begins late begins near those behind it; clocks that differ count differently.
        // One that may have ended its process is tried though the limit is reached.
        guard plan.hasOneClock, plan.isPrompt, !mayHaveCrashed(run.note.line) else { return }
        let window: Duration = .seconds(5)
        startsAtRate.removeAll { $0 < world.now - window }
        startsAtRate.append(world.now)
        // One more for its burst, one for a begin that came late.
        let most = Role.rate.starts * 5 + 2
        if startsAtRate.count > most { report(run, "is one of \(startsAtRate.count) starts in \(window)") }
    }

    func checkTimes(_ run: Run) {
        guard let line = lines[run.note.line] else { return }
        let wall = run.process.clock.wallMicroseconds
        let tolerance = clockSpread
        if let time = line.facts.notBefore, wall + tolerance < time {
            report(run, "runs \((time - wall) / 1_000) ms before its time")
        }
        if let time = line.facts.expiresAt, wall > time + tolerance + 2_000_000,
            isClaimed(by: run.process, after: world.now - .microseconds(wall - time))
        {
            report(run, "runs \((wall - time) / 1_000) ms after its end")
        }
        checkRetry(run, line)
    }

    private func checkRetry(_ run: Run, _ line: Line) {
        guard let last = line.runs.last, let end = last.end, let delay = last.retryDelay else { return }
        checkLateness(run, last, due: end + delay)
        guard retrying.isEmpty, line.facts.retryNowAt.map({ $0 < end }) ?? true, !last.isLate,
            !last.process.isDead, plan.hasOneClock,
            !hasLost(last.process, since: last.start), !last.process.hasFaultyDisk
        else { return }
        // Times in the file have whole microseconds.
        if world.now + .microseconds(1) < end + delay {
            report(run, "runs \(end + delay - world.now) before it may be tried again")
        }
    }

    /// Nobody waits for longer than asked, however clocks are set (G8).
    private func checkLateness(_ run: Run, _ last: Run, due: Duration) {
        let quiet: Set<Plan.Act> = [.hold, .closeGate, .take, .front, .move, .fail, .hang]
        guard run.note.role == .fifo, plan.acts.isDisjoint(with: quiet),
            lines[run.note.line]?.isInOrder == true,
            !last.process.isDead, last.start > disturbedAt, world.now > due + .seconds(5)
        else { return }
        report(run, "runs \(world.now - due) after it might be tried again")
    }
}
