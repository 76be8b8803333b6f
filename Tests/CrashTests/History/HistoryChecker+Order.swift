#if CommandLineTool
extension HistoryChecker {
    /// How far a queue may have come.
    ///
    /// Mostly one is known. There are two where a process was killed or stopped behind a success of which the
    /// file holds no trace: what runs next shows whether that was settled.
    private struct Position: Hashable {
        /// How many lines have been settled.
        var count: Int
        /// The run that has settled the last of them.
        var last: History.Run?
        /// A success of the next line that is taken to have settled nothing.
        var vain: History.Run?
    }

    /// Each run is that of the first line that has not been settled; but a process that has lost its queues
    /// may still run what it had claimed.
    mutating func checkOrder(_ queue: String, _ runs: [History.Run]) {
        let lines = history.lines[queue] ?? []
        var positions: Set<Position> = [Position(count: 0)]
        for run in runs {
            let next = Set(positions.flatMap { follow(run, from: $0, lines) })
            if next.isEmpty { report(run, at: positions, lines, queue) } else { positions = next }
        }
        let reached = positions.map(\.count).max() ?? 0
        if reached < lines.count {
            violations.append("\(queue): loss: \(lines[reached]) has never succeeded")
        }
    }

    /// Where the queue may stand behind a run; nowhere, if it cannot have begun.
    private func follow(_ run: History.Run, from position: Position, _ lines: [Int]) -> [Position] {
        let hasEffect = settling[run.line] == run
        var next: [Position] = []
        // It was taken over, and settles nothing.
        if hasLost(run), !hasEffect { next.append(position) }
        guard position.count < lines.count, run.line == lines[position.count] else { return next }
        if let vain = position.vain, !isCut(vain, by: run.start) { return next }
        let behind = Position(count: position.count + 1, last: run)
        var before = Position(count: position.count, last: position.last)
        if history.linesWithEffect.contains(run.line) { return next + [hasEffect ? behind : before] }
        guard run.outcome == "success" else { return next + [before] }
        before.vain = run
        return next + [behind, before]
    }

    private mutating func report(
        _ run: History.Run,
        at positions: Set<Position>,
        _ lines: [Int],
        _ queue: String
    ) {
        guard let position = positions.max(by: { $0.count < $1.count }) else { return }
        if let last = position.last, last.line == run.line {
            violations.append("\(queue): \(text(run)) repeats \(text(last)), which had settled")
        } else {
            let expected = position.count < lines.count ? "\(lines[position.count])" : "nothing"
            violations.append("\(queue): inversion: \(text(run)) ran where \(expected) was next")
        }
    }
}
#endif
