import Sluice

/// What acts have to do with runs.
extension Judge {
    func checkFacts(_ run: Run) {
        guard let line = lines[run.note.line] else { return }
        let facts = line.facts
        if facts.removal == .certain, isClaimed(by: run.process, after: facts.removedAt) {
            report(run, "runs, and was removed at \(facts.removedAt)")
        }
        if let time = facts.signalledAt, isClaimed(by: run.process, after: time) {
            report(run, "runs again, and was cancelled at \(time)")
        }
        if run.note.edition < facts.edition, isClaimed(by: run.process, after: facts.editedAt) {
            report(run, "runs with edition \(run.note.edition), and has edition \(facts.edition)")
        }
        if let queue = facts.queue, queue != run.queue, isClaimed(by: run.process, after: facts.movedAt) {
            report(run, "runs in \(run.queue), and was moved to \(queue)")
        }
    }

    func checkBars(_ run: Run) {
        for (hold, bar) in bars.holds[run.queue] ?? [:] where isClaimed(by: run.process, after: bar.since) {
            report(run, "runs under hold \(hold.rawValue)")
        }
        var gates: [GateName] = []
        if let gate = lines[run.note.line]?.facts.gate { gates.append(gate) }
        if run.note.role == .wide { gates.append(Role.gate) }
        for gate in gates {
            guard let bar = bars.gates[gate], isClaimed(by: run.process, after: bar.since) else { continue }
            report(run, "runs behind the closed gate \(gate)")
        }
    }
}
