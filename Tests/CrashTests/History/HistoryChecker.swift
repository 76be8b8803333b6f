#if CommandLineTool
/// Finds in a history what breaks a guarantee: overlap (G3), inversion (G2, G4), loss (G1), repetition for
/// which there was no need (G5), effects that did not happen exactly once or in order (G5), and messages
/// without their actions.
///
/// A process that was stopped beyond its lease may have lost its queues: then a handler of it may overlap
/// with its successor, or begin late. That excuses nothing that stands in the file.
struct HistoryChecker {
    let history: History
    /// How long a process has stood still, at least, when another takes over its queues.
    ///
    /// The lease, less the time between two renewals. `nil`: no other may, however long it stands.
    let takeover: Int64?
    /// The run that has written the effect of a line.
    let settling: [Int: History.Run]
    private let freezes: [History.Process: [History.Freeze]]
    private let cuts: [History.Process: [History.Freeze]]
    private let runsOfProcess: [History.Process: [History.Run]]

    var violations: [String] = []

    static func violations(of history: History, takeover: Int64?) -> [String] {
        var checker = HistoryChecker(history: history, takeover: takeover)
        checker.check()
        return checker.violations
    }

    private init(history: History, takeover: Int64?) {
        self.history = history
        self.takeover = takeover
        freezes = Dictionary(grouping: history.freezes, by: \.process)
        cuts = Dictionary(grouping: history.cuts, by: \.process)
        runsOfProcess = Dictionary(grouping: history.runs, by: \.process)
        let effects = Set(history.effects)
        let settling = history.runs.filter { run in
            effects.contains(History.Effect(line: run.line, process: run.process, run: run.number))
        }
        self.settling = Dictionary(settling.map { ($0.line, $0) }) { first, _ in first }
    }

    private mutating func check() {
        for (queue, runs) in Dictionary(grouping: history.runs, by: \.queue) {
            guard history.lines[queue] != nil else {
                violations.append("\(queue): nobody has enqueued it, and it has run")
                continue
            }
            let sorted = runs.sorted { $0.start < $1.start }
            checkOverlap(queue, sorted)
            checkOrder(queue, sorted)
        }
        for queue in history.lines.keys.sorted() where !history.runs.contains(where: { $0.queue == queue }) {
            violations.append("\(queue): loss: it has never run")
        }
        checkSuccesses()
        checkNumbers()
        checkEffects()
        checkMessages()
    }

    /// Two runs of a queue never overlap, in one process or in two.
    ///
    /// A run without an end has lasted at least until its process was about to be killed.
    private mutating func checkOverlap(_ queue: String, _ runs: [History.Run]) {
        var earlier: [History.Run] = []
        for run in runs {
            for other in earlier where run.start < end(of: other) {
                if run.process != other.process {
                    if hasLost(other, by: run.start) || hasLost(run, by: other.start) { continue }
                }
                violations.append("\(queue): overlap: \(text(run)) with \(text(other))")
            }
            // What has ended before this one cannot overlap with a later one.
            earlier.removeAll { end(of: $0) <= run.start }
            earlier.append(run)
        }
        for run in runs where run.end == nil && history.kills[run.process] == nil {
            violations.append("\(queue): \(text(run)) has no end, and its process was not killed")
        }
    }

    /// What was told to have succeeded is not run any more, but by who had claimed it before it stood still.
    private mutating func checkSuccesses() {
        for run in history.runs {
            guard let time = history.successes[run.id], run.start > time, !hasLost(run, by: run.start)
            else { continue }
            violations.append("\(run.queue): \(text(run)) repeats what was told to have succeeded")
        }
    }

    private func end(of run: History.Run) -> Int64 { run.end ?? history.kills[run.process] ?? .min }
}

// MARK: - Telling

extension HistoryChecker {
    /// A run, with what was done to its process around it; times in milliseconds since the first run.
    func text(_ run: History.Run) -> String {
        let origin = history.runs.map(\.start).min() ?? 0
        func time(_ nanoseconds: Int64) -> Int64 { (nanoseconds - origin) / 1_000_000 }
        let end = run.end.map { "\(time($0)) \(run.outcome ?? "")" } ?? "never"
        var text = "line \(run.line) by \(run.process) as \(run.epoch), \(time(run.start)) to \(end)"
        // A little before it and long behind: what it has said may have waited for the write lock.
        func tell(_ word: String, _ times: [History.Freeze]) {
            let end = run.end ?? run.start
            for still in times
            where still.to > run.start - 5_000_000_000 && still.from < end + 15_000_000_000 {
                text += ", \(word) \(time(still.from)) to \(time(still.to))"
            }
        }
        tell("stopped", freezes[run.process] ?? [])
        tell("cut off", cuts[run.process] ?? [])
        tell("the server down", history.outages)
        if let kill = history.kills[run.process] { text += ", killed \(time(kill))" }
        return text
    }
}

// MARK: - Excuses

extension HistoryChecker {
    /// How long a process that was let go on may take to begin a run that it had claimed before.
    private static let delay: Int64 = 1_000_000_000

    /// Whether the process of a run had stood still for so long, before a time, that it had lost its queues.
    func hasLost(_ run: History.Run, by time: Int64 = .max) -> Bool {
        guard let takeover else { return false }
        // Cut off, its handlers end in time; but a transaction of the application's waits for the server.
        let waits = history.linesWithEffect.contains(run.line) ? cuts[run.process] ?? [] : []
        return ((freezes[run.process] ?? []) + waits).contains {
            $0.from <= run.end ?? .max && mayHaveLost(run, in: $0, by: time, takeover)
                && wasClaimed(run, before: $0)
        }
    }

    /// Whether a process had lost its queues by a time, for having stood still.
    ///
    /// Its last renewal may have come late, for another that stood still with the write lock; and it may have
    /// stood still in parts, with too little time between them to renew. Then half the time is enough, where
    /// the process shows that it was taken for dead: it runs as another, and no longer as what it was.
    private func mayHaveLost(
        _ run: History.Run,
        in freeze: History.Freeze,
        by time: Int64,
        _ takeover: Int64
    ) -> Bool {
        let end = min(freeze.to, time)
        if end - freeze.from >= takeover { return true }
        guard stillTime(of: run.process, from: end - takeover, to: end) >= takeover / 2,
            let runs = runsOfProcess[run.process]
        else { return false }
        return runs.contains { $0.start > freeze.to && $0.epoch > run.epoch }
            && !runs.contains { $0.start > freeze.to + Self.delay && $0.epoch == run.epoch }
    }

    /// For how long, between two times, a process was stopped or cut off, or its server was down.
    private func stillTime(of process: History.Process, from: Int64, to: Int64) -> Int64 {
        let all = (freezes[process] ?? []) + (cuts[process] ?? []) + history.outages
        var (total, counted) = (Int64(0), from)
        for still in all.sorted(by: { $0.from < $1.from }) {
            let (begin, end) = (max(still.from, counted), min(still.to, to))
            if end > begin { (total, counted) = (total + end - begin, end) }
        }
        return total
    }

    /// Whether a run was claimed before its process was stopped.
    ///
    /// One that has begun since has a number of before, as a process that was taken for dead has others.
    private func wasClaimed(_ run: History.Run, before freeze: History.Freeze) -> Bool {
        guard run.start > freeze.from else { return true }
        guard run.start <= freeze.to + Self.delay else { return false }
        let known = runsOfProcess[run.process]?.last { $0.start <= freeze.from }?.epoch
        return known.map { run.epoch == $0 } ?? true
    }

    private func mayHaveDied(_ process: History.Process, by time: Int64) -> Bool {
        history.lastSigns[process].map { $0 <= time } ?? true
    }

    /// Whether what a run has said may not have been settled by a time: since then its process was killed, or
    /// has lost its queues.
    func isCut(_ run: History.Run, by time: Int64) -> Bool {
        // The kill's time is that before its call: until its last sign of life it was not cut.
        if let kill = history.kills[run.process], kill <= time,
            run.end == nil || mayHaveDied(run.process, by: time)
        {
            return true
        }
        guard let takeover else { return false }
        return ((freezes[run.process] ?? []) + (cuts[run.process] ?? []) + history.outages).contains {
            $0.to >= run.start && mayHaveLost(run, in: $0, by: time, takeover)
        }
    }
}

// MARK: - What stands in the file

extension HistoryChecker {
    /// A line has one number, whoever tells it.
    private mutating func checkNumbers() {
        var numbers: [Int: Int64] = [:]
        for (line, id) in history.enqueues.map({ ($0.line, $0.id) }) + history.runs.map({ ($0.line, $0.id) })
        {
            let known = numbers.updateValue(id, forKey: line)
            if let known, known != id {
                violations.append("line \(line) is action \(known) and action \(id)")
            }
        }
        let expected = Set(history.lines.values.joined())
        for line in Set(numbers.keys).subtracting(expected).sorted() {
            violations.append("line \(line) is not of the input")
        }
        for line in expected.subtracting(numbers.keys).sorted() {
            violations.append("line \(line): loss: nobody knows of it")
        }
    }

    /// Nothing excuses an effect that did not happen once, or whose run was not to have one.
    private mutating func checkEffects() {
        let counts = Dictionary(grouping: history.effects, by: \.line).mapValues(\.count)
        for line in Set(history.lines.values.joined()).union(counts.keys).sorted() {
            let expected = history.linesWithEffect.contains(line) ? 1 : 0
            guard counts[line, default: 0] != expected else { continue }
            violations.append(
                "line \(line): its effect happened \(counts[line, default: 0]) times, not \(expected)"
            )
        }
        var places: [Int: (queue: String, place: Int)] = [:]
        for (queue, lines) in history.lines {
            for (place, line) in lines.enumerated() { places[line] = (queue, place) }
        }
        var last: [String: Int] = [:]
        for effect in history.effects {
            guard let run = settling[effect.line], let (queue, place) = places[effect.line] else {
                violations.append("line \(effect.line): \(effect) is of no run")
                continue
            }
            if let outcome = run.outcome, outcome != "success", outcome != "unknown" {
                violations.append("line \(effect.line): \(text(run)) has had its effect")
            }
            if let before = last[queue], before > place {
                violations.append("\(queue): inversion: the effect of line \(effect.line) came too late")
            }
            last[queue] = place
        }
    }

    /// A message and its action were stored together.
    private mutating func checkMessages() {
        var numbers: [Int: Int64] = [:]
        for run in history.runs { numbers[run.line] = run.id }
        for line in history.linesWithMessage.union(history.messages.keys).sorted() {
            let (row, action) = (history.messages[line], numbers[line])
            guard row != action || !history.linesWithMessage.contains(line) else { continue }
            func text(_ id: Int64?) -> String { id.map { "action \($0)" } ?? "none" }
            violations.append("line \(line): its row is of \(text(row)), and it ran as \(text(action))")
        }
    }
}
#endif
