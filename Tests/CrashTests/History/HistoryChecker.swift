/// Finds in a history what breaks a guarantee: overlap (G3), inversion (G2, G4), loss (G1), repetition for
/// which there was no need (G5), and effects that did not happen exactly once (G5).
struct HistoryChecker {
    let history: History
    /// How long a process has stood still, at least, when another takes over its queues.
    ///
    /// The lease, less the time between two renewals. `nil`: no other may, however long it stands.
    let takeover: Int64?

    private(set) var violations: [String] = []

    static func violations(of history: History, takeover: Int64?) -> [String] {
        var checker = HistoryChecker(history: history, takeover: takeover)
        checker.check()
        return checker.violations
    }

    private init(history: History, takeover: Int64?) {
        self.history = history
        self.takeover = takeover
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
        checkNumbers()
        checkEffects()
    }

    /// Two runs of a queue never overlap, in one process or in two.
    ///
    /// A run without an end has lasted at least until its process was about to be killed.
    private mutating func checkOverlap(_ queue: String, _ runs: [History.Run]) {
        var earlier: [History.Run] = []
        for run in runs {
            for other in earlier where !hasLost(other, by: run.start) {
                guard let end = other.end ?? history.kills[other.process] else {
                    violations.append("\(queue): \(other) has no end, and its process was not killed")
                    continue
                }
                if run.start < end { violations.append("\(queue): overlap: \(run) with \(other)") }
            }
            // What has ended before this one cannot overlap with a later one.
            earlier.removeAll { ($0.end ?? history.kills[$0.process] ?? .min) <= run.start }
            earlier.append(run)
        }
        for run in runs where run.end == nil && history.kills[run.process] == nil {
            violations.append("\(queue): \(run) has no end, and its process was not killed")
        }
    }

    /// Whether the process of a run had stood still for so long, at a time, that it had lost its queues.
    private func hasLost(_ run: History.Run, by time: Int64) -> Bool {
        guard let takeover else { return false }
        return history.freezes.contains {
            $0.process == run.process && $0.from <= (run.end ?? .max) && $0.to >= run.start
                && min($0.to, time) - $0.from >= takeover
        }
    }

    /// Each run is that of the first line that has not succeeded, or repeats the last that has, if its
    /// settling was cut.
    private mutating func checkOrder(_ queue: String, _ runs: [History.Run]) {
        let lines = history.lines[queue] ?? []
        var next = 0
        var last: History.Run?
        for (index, run) in runs.enumerated() {
            if next < lines.count, run.line == lines[next] {
                last = nil
            } else if next > 0, run.line == lines[next - 1] {
                if let last, !isCut(last, before: run.start) {
                    violations.append("\(queue): \(run) repeats \(last), which had settled")
                }
            } else {
                let expected = next < lines.count ? "\(lines[next])" : "nothing"
                violations.append("\(queue): inversion: \(run) ran where \(expected) was next")
                continue
            }
            guard run.outcome == "success", !isFenced(run, runs[(index + 1)...]) else { continue }
            if next < lines.count, run.line == lines[next] { next += 1 }
            last = run
        }
        if next < lines.count { violations.append("\(queue): loss: \(lines[next]) has never succeeded") }
    }

    /// Whether what a run has said may not have been settled: its process was killed behind it.
    private func isCut(_ run: History.Run, before time: Int64) -> Bool {
        guard let end = run.end else { return true }
        if let kill = history.kills[run.process], kill <= time, kill >= end { return true }
        return hasLost(run, by: time)
    }

    /// Whether another process had taken over before a run came to its end, so that it settled nothing.
    private func isFenced(_ run: History.Run, _ later: ArraySlice<History.Run>) -> Bool {
        later.contains { other in
            other.process != run.process && other.start < run.end ?? .max && hasLost(run, by: other.start)
        }
    }

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

    private mutating func checkEffects() {
        guard let effects = history.effects else { return }
        for line in Set(history.lines.values.joined()).union(effects.keys).sorted()
        where effects[line] != 1 {
            violations.append("line \(line): its effect happened \(effects[line] ?? 0) times")
        }
    }
}
