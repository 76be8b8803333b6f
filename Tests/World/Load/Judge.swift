import Sluice

/// Knows what every handler, enqueue and act of a world did, and says what breaks a guarantee.
///
/// It knows more than a test of real processes can: who was dead or frozen when, to the step, and what the
/// file holds after the end of the power.
// Used by the one thread of the world that runs.
final class Judge: @unchecked Sendable {
    /// The run of a handler.
    final class Run {
        let process: SimulatedProcess
        let note: Note
        let queue: QueueName
        let id: Int64
        let start: Duration
        var end: Duration?
        var outcome = ""
        /// Whether its process was taken for dead before it began.
        var isLate = false
        /// How long it asked to wait.
        var retryDelay: Duration?

        /// Whether it may have settled its action: one that died may have committed that itself, and so may
        /// one whose commit could not be synced.
        var maySettle: Bool {
            if outcome == "success" { return true }
            guard note.form == .application else { return false }
            return end == nil ? process.isDead : outcome == "refused" && process.hasFaultyDisk
        }

        init(_ process: SimulatedProcess, _ note: Note, _ attempt: Attempt, _ start: Duration) {
            (self.process, self.note, self.start) = (process, note, start)
            (queue, id) = (attempt.queue, attempt.id.rawValue)
        }
    }

    /// What is known of a line.
    struct Line {
        let note: Note
        var id: Int64?
        var isAcknowledged = false
        var acknowledgedAt: Duration = .zero
        var runs: [Run] = []
        var facts = Facts()
        /// Whether it has its place in the order for good.
        var isInOrder = true
        /// Whether somebody was about to remove it.
        var wasOperated = false
        /// How many edits of it have begun.
        var editions = 0
        /// How often it had run when it was about to be moved to the front.
        var runsBeforeAct = 0
        /// Whether a success of it may have been settled, or it may have been removed.
        var mayBeOver: Bool { facts.removal != .none || runs.contains(where: \.maySettle) }
        var hasSucceeded: Bool { runs.contains { $0.outcome == "success" } }
    }

    unowned let world: World
    let plan: Plan
    var lines: [Int: Line] = [:]
    var active: [QueueName: [Run]] = [:]
    /// Of each queue, the lines in order of which no handler has succeeded, by their numbers.
    var waiting: [QueueName: [Int64: Int]] = [:]
    /// Of each queue, the latest action that has run since the last power loss.
    var front: [QueueName: Int64] = [:]
    var bars = Bars()
    var orders = Orders()
    /// Of each queue, the line that has parked it.
    var parkings: [QueueName: Parking] = [:]
    var takings: [Taking] = []
    /// Actions that were skipped before the judge knew whose they are.
    var skippedEarly: Set<Int64> = []
    /// The offsets of all clocks so far: what one has enqueued for a time, another runs at that of its own.
    private var clockOffsets: ClosedRange<Duration>?
    /// Processes in the midst of having all tried again.
    var retrying: [SimulatedProcess] = []
    /// Of each line, when it has ended its process.
    var kills: [Int: [Duration]] = [:]
    /// Of each queue, when all that waited may have failed with a line.
    var failedAt: [QueueName: Duration] = [:]
    /// Of each queue, the line that was moved to its front, and when.
    var fronts: [QueueName: (line: Int, since: Duration)] = [:]
    private(set) var disturbedAt: Duration = .zero
    /// Whether operators have ended.
    var isQuiet = false
    var startsAtRate: [Duration] = []
    var silences: [ObjectIdentifier: [(from: Duration, to: Duration)]] = [:]
    private(set) var violations: [String] = []
    private(set) var runCount = 0

    /// How long a process is silent, at least, when another takes over from it: its lease, less the time
    /// between two renewals.
    static let takeover: Duration = .seconds(20)
    /// How long after a change a handler may begin that was claimed before it.
    static let slack: Duration = .seconds(2)

    init(_ world: World, _ plan: Plan) { (self.world, self.plan) = (world, plan) }

    func runCount(of note: Note) -> Int { lines[note.line]?.runs.count ?? 0 }

    /// Whether nothing is known to be left in the file, or to come.
    var mayAllBeOver: Bool {
        plan.notes.allSatisfy {
            guard let line = lines[$0.line] else { return false }
            return line.isAcknowledged && line.mayBeOver
        }
    }

    // MARK: - Enqueues

    func willEnqueue(_ note: Note, _ options: EnqueueOptions) {
        var line = lines[note.line] ?? Line(note: note)
        line.facts.add(options)
        if !line.facts.isPlain || mayFail(note) { line.isInOrder = false }
        lines[note.line] = line
    }

    func noteClock(_ offset: Duration) {
        let known = clockOffsets ?? offset...offset
        clockOffsets = min(known.lowerBound, offset)...max(known.upperBound, offset)
    }

    /// How much two clocks may have differed, in microseconds.
    var clockSpread: Int64 {
        clockOffsets.map { Int64(($0.upperBound - $0.lowerBound) / .microseconds(1)) } ?? 0
    }

    /// - Parameter id: `nil` if who has enqueued it does not know.
    func acknowledge(_ note: Note, _ id: ActionID?) {
        world.note("stores line \(note.line)" + (id.map { " as action \($0)" } ?? "") + " in \(note.queue)")
        if let id { know(note, id.rawValue) }
        lines[note.line]?.isAcknowledged = true
        lines[note.line]?.acknowledgedAt = world.now
    }

    private func know(_ note: Note, _ id: Int64) {
        var line = lines[note.line] ?? Line(note: note)
        if skippedEarly.remove(id) != nil { line.isInOrder = false }
        if let known = line.id, known != id { report(note, "is action \(known) and action \(id)") }
        if line.id == nil, !line.mayBeOver, line.isInOrder {
            waiting[note.queue, default: [:]][id] = note.line
        }
        line.id = id
        lines[note.line] = line
    }

    // MARK: - Runs

    func begin(_ note: Note, _ attempt: Attempt) -> Run {
        know(note, attempt.id.rawValue)
        let run = Run(world.process, note, attempt, world.now)
        world.note("runs line \(note.line), action \(run.id), of \(run.queue)")
        if fronts[run.queue]?.line == note.line { fronts[run.queue] = nil }
        // One that was taken for dead may begin what it had claimed before.
        run.isLate = hasLost(run.process, since: run.start) || wasSilent(run.process)
        if !run.isLate {
            checkSlots(run)
            checkRepetition(run)
            checkOrder(run)
            checkTimes(run)
            checkFacts(run)
            checkBars(run)
            checkParking(run)
            checkTrial(run)
            checkFront(run)
            checkBatch(run)
            checkLimits(run)
        }
        active[run.queue, default: []].append(run)
        lines[note.line]?.runs.append(run)
        runCount += 1
        return run
    }

    func end(_ note: Note, _ run: Run, _ outcome: String) {
        (run.end, run.outcome) = (world.now, outcome)
        world.note("ends line \(note.line) with \(outcome)")
        active[run.queue]?.removeAll { $0 === run }
        if run.maySettle { leaveOrder(note.line) }
        // It goes behind those that wait now.
        if outcome == "failure" || outcome == "cancelled" && note.isSpecial { takeOutOfOrder(note.line) }
        if outcome == "parking" { parked(run) }
        if outcome == "failure", note.role == .failing { failedWhole(run.queue) }
    }

    /// Others need not wait for a line.
    private func leaveOrder(_ number: Int) {
        guard let line = lines[number], let id = line.id else { return }
        waiting[line.note.queue]?[id] = nil
    }

    func takeOutOfOrder(_ number: Int) {
        leaveOrder(number)
        lines[number]?.isInOrder = false
    }

    private func checkSlots(_ run: Run) {
        let others = (active[run.queue] ?? []).filter { !hasLost($0.process, since: $0.start) }
        let slots = run.note.role == .wide ? Role.slots : 1
        if others.count >= slots, let other = others.first {
            report(run, "overlaps with line \(other.note.line) by \(other.process.name)")
        }
    }

    private func checkRepetition(_ run: Run) {
        for other in lines[run.note.line]?.runs ?? [] where other.outcome == "success" {
            if !other.process.isDead, !other.isLate, !hasLost(other.process, since: other.start),
                !couldNotWrite(other)
            {
                report(run, "repeats what \(other.process.name) did at \(other.start)")
            }
        }
    }

    // MARK: - Processes

    /// Notes that something was done to a process, which may keep for long what it has claimed.
    func disturbed() { disturbedAt = world.now }

    func noteSilence(of process: SimulatedProcess, from: Duration, to: Duration) {
        silences[ObjectIdentifier(process), default: []].append((from, to))
        disturbed()
    }

    /// Whether a process may have lost its queues since a time.
    func hasLost(_ process: SimulatedProcess, since time: Duration) -> Bool {
        if process.isDead { return true }
        let wasSilent = (silences[ObjectIdentifier(process)] ?? []).contains {
            $0.to > time && $0.to - $0.from >= Self.takeover
        }
        return wasSilent || frozenTime(of: process) >= Self.takeover
    }

    /// Whether a disk that failed may have kept a process from settling a run, and from renewing its lease.
    ///
    /// After a failed sync it commits nothing before the log is copied, which readers may prevent for long.
    private func couldNotWrite(_ run: Run) -> Bool {
        guard let since = run.process.faultySince else { return false }
        return world.now - since >= Self.takeover
    }

    private func frozenTime(of process: SimulatedProcess) -> Duration {
        process.frozenSince.map { world.now - $0 } ?? .zero
    }

    /// Whether it has just been let go on, and may begin what it had claimed before.
    private func wasSilent(_ process: SimulatedProcess) -> Bool {
        (silences[ObjectIdentifier(process)] ?? []).contains {
            $0.to - $0.from >= Self.takeover && world.now - $0.to < .seconds(1)
        }
    }

    /// Whether what a process begins now was claimed after a time.
    func isClaimed(by process: SimulatedProcess, after time: Duration) -> Bool {
        world.now > max(time, thaw(of: process)) + Self.slack
    }

    /// When a process was last silent.
    func thaw(of process: SimulatedProcess) -> Duration {
        (silences[ObjectIdentifier(process)] ?? []).map(\.to).max() ?? .zero
    }

    func died(_ process: SimulatedProcess) {
        disturbed()
        for (queue, runs) in active {
            for run in runs where run.process === process {
                if run.maySettle { leaveOrder(run.note.line) }
                if mayHaveCrashed(run.note.line) { takeOutOfOrder(run.note.line) }
            }
            active[queue]?.removeAll { $0.process === process }
        }
        actsEnded(of: process)
    }

    // MARK: - What stands in the file

    /// After the end of the power: what is in the file still has to run, and all that was acknowledged and
    /// has not run is in it.
    func powerLost(remaining: [Int: Int64]) {
        (front, waiting, startsAtRate) = ([:], [:], [])
        bars.powerLost()
        (fronts, parkings) = ([:], [:])
        for (number, line) in lines.sorted(by: { $0.key < $1.key }) {
            let id = remaining[number]
            if line.isAcknowledged, id == nil, !line.mayBeOver {
                report("line \(number): its action \(line.id ?? 0) is lost with the power")
            }
            if id == nil, !line.mayBeOver { lines[number]?.id = nil }
            // Acts need not be safe when they return.
            lines[number]?.facts.powerLost()
            guard let id else { continue }
            lines[number]?.id = id
            guard line.isInOrder else { continue }
            waiting[line.note.queue, default: [:]][id] = number
        }
    }

    /// At the end: all lines have run, and each that has an effect has it once.
    func finish(effects: [Int], remaining: [Int: Int64]) {
        for (line, id) in remaining.sorted(by: { $0.key < $1.key }) {
            report("line \(line): its action \(id) is still in the file")
        }
        let counts = Dictionary(grouping: effects, by: \.self).mapValues(\.count)
        for note in plan.notes {
            guard let line = lines[note.line] else { continue }
            if !line.mayBeOver { report("line \(note.line) has never succeeded") }
            let most = note.form == .none ? 0 : 1
            let least = line.facts.removal == .none ? most : 0
            let count = counts[note.line] ?? 0
            if !(least...most).contains(count) {
                report("line \(note.line): its effect happened \(count) times")
            }
        }
    }

    func report(_ text: String) {
        violations.append(text)
        world.note("VIOLATION: \(text)")
    }

    func report(_ note: Note, _ text: String) {
        report("line \(note.line) of \(note.queue) by \(world.process.name) at \(world.now): \(text)")
    }

    func report(_ run: Run, _ text: String) { report(run.note, "action \(run.id) \(text)") }
}
