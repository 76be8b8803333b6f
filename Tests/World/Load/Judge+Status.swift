import Sluice

/// What a broker says of a queue, against what is known of it: each reason is true when it is asked.
extension Judge {
    /// The lines that wait in a queue for certain.
    func certainLines(of queue: QueueName) -> Set<Int> {
        let certain = lines.filter { _, line in
            line.note.queue == queue && line.isAcknowledged && line.isInOrder && line.runs.isEmpty
                && line.facts.removal == .none && !line.facts.mayHaveMoved
        }
        return Set(certain.keys)
    }

    /// - Parameter certain: What waited for certain when it was asked.
    func check(_ status: QueueStatus, certain: Set<Int>) {
        let left = certain.intersection(certainLines(of: status.queue))
        if status.depth < left.count {
            report("\(status.queue) is said to have \(status.depth) actions, and has \(left.count)")
        }
        for reason in status.because {
            if let objection = objection(to: reason, of: status) {
                report("\(status.queue) is said to be \(reason), and \(objection)")
            }
        }
    }

    /// What speaks against a reason.
    private func objection(to reason: WaitReason, of status: QueueStatus) -> String? {
        let head = status.head.flatMap { id in lines.values.first { $0.id == id.rawValue } }
        switch reason {
        case .undecodable, .unknownKind, .noRoute: return "nothing in it is"
        case .parked(let action, _, _, _):
            let line = lines.values.first { $0.id == action.rawValue }
            guard let line, !line.runs.contains(where: { $0.outcome == "parking" }) else { return nil }
            return "line \(line.note.line) has not parked it"
        case .held: return plan.acts.contains(.hold) ? nil : "nobody holds it"
        case .gate(let gate, _):
            return plan.acts.contains(.closeGate) ? nil : "nobody has closed \(gate)"
        case .retry:
            guard let head, head.runs.isEmpty else { return nil }
            return "line \(head.note.line) has not run"
        case .scheduled:
            let gathers = status.queue.rawValue.hasPrefix(Role.batched.rawValue)
            return plan.acts.contains(.schedule) || gathers ? nil : "nothing in it is"
        case .running:
            guard let head, !isRunning(head) else { return nil }
            return "line \(head.note.line) does not run"
        default: return nil
        }
    }

    /// Whether a line may run, or be about to, or its end about to be written.
    private func isRunning(_ line: Line) -> Bool {
        guard let last = line.runs.last else { return true }
        guard let end = last.end else { return true }
        let isRecent = world.now < max(end, disturbedAt, thaw(of: last.process)) + Self.slack
        // A process that is suspended writes nothing.
        return isRecent || last.process.isDead || last.process.isFrozen || last.process.hasFaultyDisk
            || plan.faults.contains(.suspend) || hasLost(last.process, since: last.start)
    }
}
