import Sluice

/// What attempts that fail, and those who clean up behind them, make of queues.
extension Judge {
    func check(_ attempt: Attempt, _ run: Run, most: Int) {
        if attempt.number > most { report(run, "is tried for the \(attempt.number)th time, \(most) at most") }
    }

    // MARK: - Parked queues

    /// A line that parks its queue, and since when.
    struct Parking {
        let line: Int
        let id: Int64
        let since: Duration
        let process: SimulatedProcess
    }

    /// Whether nothing else can be about to change what parks a queue.
    func mayPark(_ note: Note) -> Bool { note.role == .fifo && lines[note.line]?.facts.queue == nil }

    /// Others wait until somebody has it tried again, or removes it.
    func checkParking(_ run: Run) {
        guard let parking = parkings[run.queue] else { return }
        if parking.line == run.note.line {
            parkings[run.queue] = nil
            // Of a process that died, or could not write, it may not be stored.
            let isStored = !hasLost(parking.process, since: parking.since) && !parking.process.hasFaultyDisk
            if isStored { report(run, "runs again, and has parked its queue") }
        } else if isClaimed(by: run.process, after: parking.since) {
            report(run, "runs, and line \(parking.line) has parked the queue")
        }
    }

    /// Whether a queue may be parked by a line that is still there.
    var mayBeParked: Bool {
        lines.values.contains { line in
            line.facts.removal != .certain && !line.hasSucceeded
                && line.runs.contains { $0.outcome == "parking" }
        }
    }

    func parked(_ run: Run) {
        takeOutOfOrder(run.note.line)
        // An attempt whose end is not stored parks nothing, and a move that waits for its end takes it away.
        let isMoved = lines[run.note.line]?.facts.mayHaveMoved == true
        guard !isMoved, !run.process.hasFaultyDisk, retrying.isEmpty else { return }
        parkings[run.queue] = Parking(
            line: run.note.line,
            id: run.id,
            since: world.now,
            process: run.process
        )
    }

    func willSkip(_ queue: QueueName, _ process: SimulatedProcess) -> Parking? {
        let parking = parkings[queue]
        beginTaking(from: queue, process)
        return parking
    }

    func skipped(_ skip: HeadSkip, _ queue: QueueName, _ parked: Parking?, _ process: SimulatedProcess) {
        endTaking(process)
        if case .skipped(let id) = skip {
            if let number = lines.first(where: { $0.value.id == id.rawValue })?.key {
                takeOutOfOrder(number)
            } else {
                skippedEarly.insert(id.rawValue)
                // It may be any whose number nobody knows.
                let unknown = lines.filter { $0.value.id == nil && $0.value.note.queue == queue }
                for number in unknown.keys { takeOutOfOrder(number) }
            }
            guard let parked, world.now > parked.since + Self.slack, disturbedAt < parked.since else {
                return
            }
            if id.rawValue != parked.id {
                report("\(queue): action \(id) is skipped, and \(parked.id) parks it")
            }
        }
    }

    // MARK: - Clearing

    /// Returns the lines that wait for certain: nobody can have claimed them.
    func willClear(_ queue: QueueName, _ process: SimulatedProcess) -> [Int] {
        let waiting = lines.filter { _, line in
            (line.facts.queue ?? line.note.queue) == queue && line.isAcknowledged && line.id != nil
                && line.isInOrder && line.runs.isEmpty && line.acknowledgedAt > disturbedAt
        }
        beginTaking(from: queue, process)
        mayBeTaken(from: queue)
        return waiting.keys.sorted()
    }

    func cleared(_ queue: QueueName, _ waiting: [Int], _ process: SimulatedProcess) {
        endTaking(process)
        // Also those that came during the call.
        mayBeTaken(from: queue)
        for number in waiting where lines[number]?.runs.isEmpty == true {
            if let note = lines[number]?.note { remove(note) }
        }
    }

    // MARK: - Batches

    /// A batch starts when enough wait, or one has waited for long; a started one goes on.
    func checkBatch(_ run: Run) {
        guard run.note.role == .batched, plan.hasOneClock, let line = lines[run.note.line],
            line.isAcknowledged,
            line.runs.isEmpty, plan.acts.isDisjoint(with: [.runNow, .retryNow]), plan.faults.isEmpty
        else { return }
        let age = world.now - line.acknowledgedAt
        let earlier = lines.values.filter { $0.note.queue == run.queue && $0.note.line != run.note.line }
        // Those that are there already, or were a moment ago.
        let others = earlier.filter { other in
            guard let last = other.runs.last, let end = last.end else { return true }
            return world.now - end < .seconds(1) + age
        }
        if others.isEmpty, age < Role.batchAge - .milliseconds(100) {
            report(run, "starts a batch alone, \(age) after its enqueue")
        }
    }
}
