import Sluice

/// Which line of a queue may run before which.
extension Judge {
    func checkOrder(_ run: Run) {
        guard let line = lines[run.note.line], line.isInOrder else { return }
        // One that is being taken out may be gone.
        if takings.contains(where: { $0.queue == run.queue }) { return }
        switch run.note.role {
        case .fifo, .rated, .batched, .failing: checkFirst(run)
        case .last: checkLast(run, line)
        case .wide: checkStart(run, line) { $0.id < $1.id }
        case .sorted:
            checkStart(run, line) {
                ($0.note.sortNumber, $0.id) < ($1.note.sortNumber, $1.id)
            }
        case .passes: checkGroup(run)
        }
    }

    /// The head of a queue in order of arrival blocks those behind it (G4).
    private func checkFirst(_ run: Run) {
        if let passed = waiting[run.queue]?.keys.filter({ $0 < run.id }).min() {
            report(run, "runs before action \(passed)")
        }
        if let front = front[run.queue], run.id < front { report(run, "runs behind action \(front)") }
        front[run.queue] = max(front[run.queue] ?? run.id, run.id)
    }

    /// The lines that have waited for longer than a claim takes, and that nobody can have claimed.
    private func ready(_ run: Run) -> [(note: Note, id: Int64)] {
        (waiting[run.queue] ?? [:]).compactMap { id, number in
            guard id != run.id, let line = lines[number], line.runs.isEmpty, line.isAcknowledged,
                line.acknowledgedAt > disturbedAt, isClaimed(by: run.process, after: line.acknowledgedAt)
            else { return nil }
            return (line.note, id)
        }
    }

    private func checkLast(_ run: Run, _ line: Line) {
        guard let passed = ready(run).map(\.id).filter({ $0 > run.id }).max() else { return }
        report(run, "runs before the later action \(passed)")
    }

    private func checkStart(
        _ run: Run,
        _ line: Line,
        _ isBefore: ((note: Note, id: Int64), (note: Note, id: Int64)) -> Bool
    ) {
        // A retry has its place at its time.
        guard line.runs.isEmpty else { return }
        let passed = ready(run).filter { isBefore($0, (run.note, run.id)) }.map(\.id)
        // Of those that are claimed at a time, any may begin first.
        let slots = run.note.role == .wide ? Role.slots : 1
        guard passed.count >= slots, let first = passed.min() else { return }
        report(run, "runs before action \(first)")
    }

    /// A member of a group runs after the start of the group has succeeded.
    private func checkGroup(_ run: Run) {
        guard run.note.isMember, let leader = lines[run.note.leader], let id = leader.id, id < run.id,
            leader.isAcknowledged, leader.isInOrder, !leader.mayBeOver
        else { return }
        report(run, "runs before the start of its group, action \(id)")
    }
}
