#if PostgreSQL
import Sluice
import SluicePostgres

/// Knows what every handler and enqueue of a world with a server did, and says what breaks a guarantee.
// Used by the one thread of the world that runs.
final class ServerJudge: @unchecked Sendable {
    /// The run of a handler.
    final class Run {
        let process: SimulatedProcess
        let line: Line
        let queue: String
        let action: Int64
        /// Its claim, if the server has that still.
        let claim: Int64?
        let start: Duration
        var outcome = ""
        /// Whether it goes on when it is cancelled.
        var isStubborn = false

        init(
            _ process: SimulatedProcess,
            _ line: Line,
            _ attempt: Attempt,
            _ claim: Int64?,
            _ start: Duration
        ) {
            (self.process, self.line, self.claim, self.start) = (process, line, claim, start)
            (queue, action) = (attempt.queue.rawValue, attempt.id.rawValue)
        }
    }

    unowned let world: World
    let plan: ServerPlan
    let server: ModelServer
    private var runs: [Int64: [Run]] = [:]
    private var active: [Run] = []
    private var freezes: [ObjectIdentifier: [(from: Duration, to: Duration)]] = [:]
    /// Of each claim that a process has got, when the call was sent and when its answer came.
    private var answers: [Int64: (sent: Duration, came: Duration)] = [:]
    /// How many claims each worker has got.
    private var claimCounts: [Int64: Int] = [:]
    /// Lines whose enqueue has returned, and those of which it is not known whether they are stored.
    private(set) var acknowledged: Set<Int> = []
    private var uncertain: Set<Int> = []
    /// Who enqueues which line.
    private var enqueuing: [Int: SimulatedProcess] = [:]
    /// Whether handlers are to be quick, and nothing is disturbed.
    var isQuiet = false
    private(set) var violations: [String] = []
    private(set) var runCount = 0

    /// Of the workers.
    static let lease: Duration = .seconds(30)
    /// How late an answer may be on whose claims a worker starts handlers.
    private static let patience = lease * 2 / 3

    init(_ world: World, _ plan: ServerPlan, _ server: ModelServer) {
        (self.world, self.plan, self.server) = (world, plan, server)
    }

    // MARK: - Enqueues

    func willEnqueue(_ line: Line) { enqueuing[line.number] = world.process }

    func acknowledge(_ line: Line, _ action: ActionID) {
        enqueuing[line.number] = nil
        acknowledged.insert(line.number)
        let count = server.storedCounts[line.number] ?? 0
        if count == 0 { report("line \(line.number) is acknowledged and not stored") }
        if count > 1, !uncertain.contains(line.number) {
            report("line \(line.number) is stored \(count) times")
        }
    }

    /// An enqueue has failed: unless it says that it does not know, nothing is stored.
    func refused(_ line: Line, _ error: any Error) {
        world.note("line \(line.number) is not enqueued: \(error)")
        if (error as? SluiceError)?.code == .unknownCommit {
            uncertain.insert(line.number)
        } else if server.storedCounts[line.number] != nil, !uncertain.contains(line.number) {
            report("line \(line.number) is refused and stored: \(error)")
        }
    }

    // MARK: - Runs

    func noteAnswer(_ rows: PostgresRows, sent: Duration) {
        for row in rows where row["what"] == "claimed" {
            guard let claim = row["claim"].flatMap({ Int64($0) }) else { continue }
            answers[claim] = (sent, world.now)
            checkNumber(of: claim >> 32)
        }
    }

    /// One call after the limit was reached, nothing is claimed.
    private func checkNumber(of worker: Int64) {
        guard let most = plan.claims else { return }
        claimCounts[worker, default: 0] += 1
        if claimCounts[worker] == most + plan.concurrency + 1 {
            report("worker \(worker) has more than \(most) claims")
        }
    }

    func begin(_ line: Line, _ attempt: Attempt) -> Run {
        let process = world.process
        let held = server.claims.first { $0.value.action == attempt.id.rawValue }
        let isOwn = held.map { server.workers[$0.value.worker]?.name == process.name } ?? false
        let run = Run(process, line, attempt, isOwn ? held?.key : nil, world.now)
        world.note("runs line \(line.number), action \(run.action), of \(run.queue)")
        checkClaim(run)
        if run.claim != nil {
            checkSlot(run)
            checkRepetition(run)
        }
        active.append(run)
        runs[run.action, default: []].append(run)
        runCount += 1
        checkLimits(run)
        return run
    }

    func end(_ run: Run, _ outcome: String) {
        run.outcome = outcome
        world.note("ends line \(run.line.number) with \(outcome)")
        active.removeAll { $0 === run }
    }

    /// A worker that may have lost its queues starts nothing (G3).
    private func checkClaim(_ run: Run) {
        guard let claim = run.claim else {
            // It may be frozen between the answer and the start, but not for a moment only.
            if frozenTime(of: run.process, since: run.start - Self.lease) < Self.lease - Self.patience {
                report(run, "starts without a claim")
            }
            return
        }
        guard let answer = answers[claim] else { return report(run, "starts without an answer") }
        if answer.came - answer.sent > Self.patience { report(run, "starts on an answer that came too late") }
    }

    private func checkSlot(_ run: Run) {
        for other in active where other.queue == run.queue && !other.process.isDead {
            let isExcused =
                other.process !== run.process
                && (other.isStubborn || frozenTime(of: other.process, since: other.start) > .seconds(1))
            if !isExcused { report(run, "overlaps with line \(other.line.number) by \(other.process.name)") }
        }
    }

    private func checkRepetition(_ run: Run) {
        for other in runs[run.action] ?? [] where other.outcome == "success" && !other.process.isDead {
            guard let claim = other.claim, server.losses[claim] == nil else { continue }
            report(run, "repeats what \(other.process.name) did at \(other.start)")
        }
    }

    private func checkLimits(_ run: Run) {
        let own = active.filter { $0.process === run.process }
        if own.count > plan.concurrency, !own.contains(where: \.isStubborn) {
            report(run, "is one of \(own.count) that run in one process")
        }
        let limited = own.filter { $0.queue.hasPrefix("limited") }
        if limited.count > ServerPlan.limit, !limited.contains(where: \.isStubborn) {
            report(run, "is one of \(limited.count) of a route with a limit")
        }
    }

    /// The server gets a claim back that the worker says it has not started.
    func gaveBack(_ claim: Int64) {
        if let run = active.first(where: { $0.claim == claim && !$0.process.isDead }) {
            report(run, "was given back while it ran")
        }
    }

    /// An observer was told that an action has succeeded in its process.
    func heardOfSuccess(_ action: Int64, _ process: SimulatedProcess) {
        if server.ends[action] != .success {
            report("action \(action) is said to have succeeded, and has not")
        } else if let settler = server.settlers[action], settler != process.name {
            report("action \(action) is said to have succeeded in \(process.name), and did in \(settler)")
        }
    }

    // MARK: - Processes

    func noteFreeze(of process: SimulatedProcess, from: Duration) {
        freezes[ObjectIdentifier(process), default: []].append((from, world.now))
    }

    private func frozenTime(of process: SimulatedProcess, since: Duration) -> Duration {
        let past = freezes[ObjectIdentifier(process)] ?? []
        let now = process.frozenSince.map { [(from: $0, to: world.now)] } ?? []
        return (past + now).reduce(.zero) { $0 + max($1.to - max($1.from, since), .zero) }
    }

    func died(_ process: SimulatedProcess) {
        active.removeAll { $0.process === process }
        // Its call may be stored, or be on its way still.
        uncertain.formUnion(enqueuing.filter { $0.value === process }.keys)
    }

    // MARK: - The end

    /// Whether all that was to be enqueued is, and has ended.
    var isDrained: Bool { acknowledged.count >= plan.actions && server.actions.isEmpty }

    func checkAnswer(to lines: [Line], since start: Duration, within limit: Duration) {
        for line in lines {
            let began = runs.values.joined().first { $0.line.number == line.number }?.start
            let time = began.map { $0 - start }
            if time ?? .seconds(3_600) > limit {
                report(
                    "ping \(line.number) has begun after \(time.map { "\($0)" } ?? "no time"), not \(limit)"
                )
            }
        }
    }

    func hasBegun(_ line: Line) -> Bool { runs.values.joined().contains { $0.line.number == line.number } }

    func finish() {
        if !isDrained {
            report(
                "\(plan.actions - acknowledged.count) lines were never stored, \(server.actions.count) left"
            )
        }
        for number in acknowledged.sorted() where !endedLines.contains(number) {
            report("line \(number) has not ended")
        }
    }

    private var endedLines: Set<Int> {
        Set(runs.filter { server.ends[$0.key] != nil }.compactMap { $0.value.first?.line.number })
    }

    func report(_ text: String) {
        violations.append(text)
        world.note("VIOLATION: \(text)")
    }

    private func report(_ run: Run, _ text: String) {
        report("action \(run.action) of \(run.queue) by \(run.process.name) at \(world.now): \(text)")
    }
}
#endif
