import Sluice

/// What the ends of processes make of the actions that ran then (G7).
extension Judge {
    /// How often an action may end its process while it runs alone.
    static let crashLimit = 3
    /// How often it may besides, while several are tried: each death halves them, and others come between.
    private static let searches = 9
    /// How long suspects are tried for, less what it takes to see a death.
    private static let trial: Duration = .seconds(4)
    /// How long those may take that are tried together.
    private static let trialPart: Duration = .milliseconds(990)

    /// A handler is about to end its process.
    func willDie(_ run: Run) {
        let line = run.note.line
        kills[line, default: []].append(world.now)
        let count = kills[line]?.count ?? 0
        if plan.countsDeaths, plan.acts.isDisjoint(with: [.retryNow, .runNow]),
            count > Self.crashLimit + Self.searches
        {
            report(run, "ends its process for the \(count)th time")
        }
    }

    /// Whether so many processes have ended while it ran that it may count as what ends them.
    func mayHaveCrashed(_ number: Int) -> Bool {
        // One that has returned may not have been settled.
        (lines[number]?.runs ?? []).count(where: \.process.isDead) >= Self.crashLimit
    }

    /// An action that has ended its process runs with nothing beside it but others that ran when one ended.
    func checkTrial(_ run: Run) {
        guard plan.countsDeaths, let death = kills[run.note.line]?.last, world.now < death + Self.trial,
            lines[run.note.line]?.runs.last?.start ?? .zero <= death
        else { return }
        let own = active.values.joined().filter { $0.process === run.process }
        func isTried(_ other: Run) -> Bool {
            (lines[other.note.line]?.runs ?? []).contains(where: \.process.isDead)
        }
        // One that does not return ends the trial of those behind it.
        if own.contains(where: { isTried($0) && world.now - $0.start > Self.trialPart }) { return }
        if let other = own.first(where: { !isTried($0) }) {
            report(run, "has ended its process, and is tried beside line \(other.note.line)")
        }
    }

    // MARK: - Failures of whole queues

    /// All that wait in a queue may become dead letters.
    func failedWhole(_ queue: QueueName) {
        failedAt[queue] = world.now
        for (number, line) in lines where line.note.queue == queue {
            takeOutOfOrder(number)
            // A dead letter that is put back is due at once.
            lines[number]?.facts.notBefore = nil
        }
    }

    /// Whether a line that is enqueued now may be among those that fail with another.
    func mayFail(_ note: Note) -> Bool {
        guard note.role == .failing else { return false }
        guard plan.faults.isEmpty else { return true }
        return failedAt[note.queue].map { world.now < $0 + Self.slack } ?? false
    }

    // MARK: - Dead letters

    /// Each dead letter has a reason (G10).
    func checkDead(_ number: Int, cause: String) {
        guard let line = lines[number] else { return report("a dead letter of line \(number)") }
        func ended(with outcome: String) -> Bool { line.runs.contains { $0.outcome == outcome } }
        let isRight =
            switch cause {
            case "failed": ended(with: "failure")
            case "exhausted": !line.runs.isEmpty
            case "expired": line.facts.expiresAt != nil || line.facts.removal != .none
            case "crashed": mayHaveCrashed(number)
            case "behind": line.note.role == .failing && failedAt[line.note.queue] != nil
            case "skipped": line.facts.removal != .none || !line.isInOrder
            default: false
            }
        if !isRight { report(line.note, "is a dead letter for the reason \(cause)") }
    }

    // MARK: - Refusals

    /// An enqueue fails only for what is in its way.
    func refused(_ note: Note, _ error: any Error) {
        if plan.letsCommit { report(note, "is not enqueued: \(error)") }
    }
}
