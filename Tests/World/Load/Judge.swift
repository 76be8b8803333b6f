import Sluice

/// Knows what every handler and every enqueue of a world did, and says what breaks a guarantee.
///
/// It knows more than a test of real processes can: who was dead or frozen when, to the step, and what the
/// file holds after the end of the power.
// Used by the one thread of the world that runs.
final class Judge: @unchecked Sendable {
    /// The run of a handler.
    final class Run {
        let process: SimulatedProcess
        let line: Int
        let id: Int64
        let start: Duration
        var end: Duration?
        var outcome = ""

        /// Whether it may have settled its action: one that died may have committed that itself.
        var maySettle: Bool {
            let isOwn = Note(line: line).form == .application
            return outcome == "success" || (isOwn && end == nil && process.isDead)
        }

        init(_ process: SimulatedProcess, _ line: Int, _ id: Int64, _ start: Duration) {
            (self.process, self.line, self.id, self.start) = (process, line, id, start)
        }
    }

    /// What is known of a line.
    struct Line {
        var id: Int64?
        var isAcknowledged = false
        var runs: [Run] = []
        /// Whether a success of it may have been settled.
        var maySettle: Bool { runs.contains(where: \.maySettle) }
    }

    private unowned let world: World
    private(set) var lines: [Int: Line] = [:]
    private var active: [Int: [Run]] = [:]
    /// Of each queue, the numbers of actions of which no handler has succeeded.
    private var waiting: [Int: Set<Int64>] = [:]
    /// Of each queue, the latest action that has run since the last power loss.
    private var front: [Int: Int64] = [:]
    private var silences: [ObjectIdentifier: [(from: Duration, to: Duration)]] = [:]
    private(set) var violations: [String] = []
    private(set) var runCount = 0

    /// How long a process is silent, at least, when another takes over from it: its lease, less the time
    /// between two renewals.
    static let takeover: Duration = .seconds(20)

    init(_ world: World) { self.world = world }

    func acknowledge(_ note: Note, _ id: ActionID) {
        know(note, id.rawValue)
        lines[note.line]?.isAcknowledged = true
    }

    private func know(_ note: Note, _ id: Int64) {
        var line = lines[note.line] ?? Line()
        if let known = line.id, known != id { report(note, "is action \(known) and action \(id)") }
        if line.id == nil, !line.maySettle { waiting[note.number, default: []].insert(id) }
        line.id = id
        lines[note.line] = line
    }

    func noteSilence(of process: SimulatedProcess, from: Duration, to: Duration) {
        silences[ObjectIdentifier(process), default: []].append((from, to))
    }

    func begin(_ note: Note, _ attempt: Attempt) -> Run {
        let process = world.process
        let id = attempt.id.rawValue
        know(note, id)
        let run = Run(process, note.line, id, world.now)
        world.note("runs line \(note.line), action \(id), of \(note.queue)")
        let isLost = { (other: Run) in self.hasLost(other.process, since: other.start) }
        let isZombie = isLost(run) || wasSilent(process)
        for other in active[note.number] ?? [] where !isLost(other) && !isZombie {
            report(note, "overlaps with line \(other.line) by \(other.process.name)")
        }
        for other in lines[note.line]?.runs ?? [] where other.outcome == "success" {
            if !other.process.isDead, !isLost(other), !isZombie, !couldNotWrite(other) {
                report(note, "repeats what \(other.process.name) did at \(other.start)")
            }
        }
        if let passed = waiting[note.number]?.filter({ $0 < id }).min(), !isZombie {
            report(note, "action \(id) runs before action \(passed)")
        }
        if let front = front[note.number], id < front, !isZombie {
            report(note, "action \(id) runs behind action \(front)")
        }
        if !isZombie { front[note.number] = max(front[note.number] ?? id, id) }
        active[note.number, default: []].append(run)
        lines[note.line]?.runs.append(run)
        runCount += 1
        return run
    }

    func end(_ note: Note, _ run: Run, _ outcome: String) {
        (run.end, run.outcome) = (world.now, outcome)
        world.note("ends line \(note.line) with \(outcome)")
        active[note.number]?.removeAll { $0 === run }
        if outcome == "success" { waiting[note.number]?.remove(run.id) }
    }

    /// Whether a process may have lost its queues since a time.
    private func hasLost(_ process: SimulatedProcess, since time: Duration) -> Bool {
        if process.isDead { return true }
        let wasSilent = (silences[ObjectIdentifier(process)] ?? []).contains {
            $0.to > time && $0.to - $0.from >= Self.takeover
        }
        return wasSilent || frozenTime(of: process) >= Self.takeover
    }

    /// Whether a disk that failed may have kept a process from settling a run, and from renewing its lease.
    ///
    /// After a failed sync it commits nothing before the log is copied, which a frozen reader prevents.
    private func couldNotWrite(_ run: Run) -> Bool {
        guard run.process.hasFaultyDisk, let end = run.end else { return false }
        return world.now - end >= Self.takeover
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

    func died(_ process: SimulatedProcess) {
        for (queue, runs) in active {
            for run in runs where run.process === process && run.maySettle { waiting[queue]?.remove(run.id) }
            active[queue]?.removeAll { $0.process === process }
        }
    }

    // MARK: - What stands in the file

    /// After the end of the power: what is in the file still has to run, and all that was acknowledged and
    /// has not run is in it.
    func powerLost(remaining: [Int: Int64]) {
        front = [:]
        for (number, line) in lines {
            let id = remaining[number]
            if line.isAcknowledged, id == nil, !line.maySettle {
                violations.append("line \(number): its action \(line.id ?? 0) is lost with the power")
            }
            if id == nil, !line.maySettle { lines[number]?.id = nil }
        }
        waiting = [:]
        for (number, id) in remaining { waiting[Note(line: number).number, default: []].insert(id) }
    }

    /// At the end: all lines have run, and each that has an effect has it once.
    func finish(effects: [Int], remaining: [Int: Int64], all: [Note]) {
        for (line, id) in remaining.sorted(by: { $0.key < $1.key }) {
            violations.append("line \(line): its action \(id) is still in the file")
        }
        let counts = Dictionary(grouping: effects, by: \.self).mapValues(\.count)
        for note in all {
            let line = lines[note.line]
            if line?.maySettle != true { violations.append("line \(note.line) has never succeeded") }
            let expected = note.form == .none ? 0 : 1
            let count = counts[note.line] ?? 0
            if count != expected {
                violations.append("line \(note.line): its effect happened \(count) times")
            }
        }
    }

    func report(_ text: String) {
        violations.append(text)
        world.note("VIOLATION: \(text)")
    }

    private func report(_ note: Note, _ text: String) {
        report("line \(note.line) of \(note.queue) by \(world.process.name) at \(world.now): \(text)")
    }
}
