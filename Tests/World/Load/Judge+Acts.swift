import Sluice

/// What the judge is told by operators: before an act, what may become of it; after it, what is certain.
extension Judge {
    /// Acts that a process is in the midst of.
    struct Taking {
        let process: SimulatedProcess
        let queue: QueueName
        let turn: Int
    }

    func beginTaking(from queue: QueueName, _ process: SimulatedProcess) {
        parkings[queue] = nil
        takings.append(Taking(process: process, queue: queue, turn: frontMayChange(of: queue)))
    }

    func endTaking(_ process: SimulatedProcess) {
        for taking in takings where taking.process === process {
            _ = frontHasChanged(of: taking.queue, taking.turn)
            // What it took may have parked the queue since the act began.
            parkings[taking.queue] = nil
        }
        takings.removeAll { $0.process === process }
    }

    func actsEnded(of process: SimulatedProcess) {
        for taking in takings where taking.process === process { mayBeTaken(from: taking.queue) }
        takings.removeAll { $0.process === process }
        if retrying.contains(where: { $0 === process }) { triedAgain(process) }
    }

    // MARK: - Of queues

    func holdBegan(_ hold: HoldID, on queue: QueueName) { bars.add(hold, on: queue, at: world.now) }

    /// A status that is asked while a hold is on shows it.
    func check(_ status: QueueStatus, under hold: HoldID) {
        guard let bar = bars.holds[status.queue]?[hold], isClaimed(by: world.process, after: bar.since) else {
            return
        }
        if ![.held, .running, .parked, .empty].contains(status.state) {
            report("hold \(hold) is on, and the status of \(status) does not say so")
        }
    }

    func holdEnds(_ hold: HoldID) { bars.end(hold) }
    func gateClosed(_ gate: GateName) { bars.close(gate, at: world.now) }
    func gateOpens(_ gate: GateName) { bars.open(gate) }

    func willRetryNow(_ process: SimulatedProcess) {
        retrying.append(process)
        letRetry()
    }

    func triedAgain(_ process: SimulatedProcess) {
        retrying.removeAll { $0 === process }
        letRetry()
    }

    private func letRetry() {
        parkings = [:]
        for number in lines.keys { lines[number]?.facts.retryNowAt = world.now }
    }

    func willRunNow(_ process: SimulatedProcess) {
        willRetryNow(process)
        for number in lines.keys { lines[number]?.facts.notBefore = nil }
    }

    /// All acts are taken back, and dead letters run without an end.
    func willEndActs(_ process: SimulatedProcess) {
        bars = Bars()
        // A dead letter that is put back is no suspect, and has the place that it had.
        (kills, fronts) = ([:], [:])
        willRetryNow(process)
        for number in lines.keys { lines[number]?.facts.expiresAt = nil }
    }

    /// The queue of some disciplines where most lines wait, if they are several.
    func longestQueue(_ roles: Set<Role>) -> QueueName? {
        let counts = waiting.filter { _, lines in lines.count > 1 }.mapValues(\.count)
        let own = plan.roles.enumerated().filter { roles.contains($0.element) }.map {
            Note.queue($0.offset, $0.element)
        }
        return own.filter { counts[$0] != nil }.max { (counts[$0] ?? 0) < (counts[$1] ?? 0) }
    }

    // MARK: - Copies

    /// Lines that a copy from now on must have, unless they are removed later.
    var acknowledgedLines: [Int] {
        lines.filter { $0.value.isAcknowledged && $0.value.facts.removal == .none }.keys.sorted()
    }

    /// A copy has what was acknowledged before it: an action, or what its success has written, and not both.
    func checkCopy(of known: [Int], since start: Duration, remaining: [Int: Int64], effects: [Int]) {
        let done = Set(effects)
        for number in done.sorted() where remaining[number] != nil {
            report("line \(number) waits and is done in a copy of the file")
        }
        for number in known where remaining[number] == nil && !done.contains(number) {
            guard let line = lines[number] else { continue }
            // It may have been taken out when the copy was made, and be back.
            if !line.mayBeOver || line.note.form != .none, line.facts.removal == .none,
                line.facts.removedAt < start
            {
                report(line.note, "is missing in a copy of the file")
            }
        }
    }

    // MARK: - Taking out

    func took(_ note: Note, by process: SimulatedProcess) {
        takeOutOfOrder(note.line)
        for run in active.values.joined() where run.note.line == note.line {
            if !hasLost(run.process, since: run.start) { report(note, "is taken out while it runs") }
        }
        remove(note)
    }

    /// Any line of a queue may have been taken out.
    func mayBeTaken(from queue: QueueName) {
        for (number, line) in lines
        where ((line.facts.queue ?? line.note.queue) == queue || line.facts.mayHaveMoved)
            && line.facts.removal == .none
        {
            takeOutOfOrder(number)
            lines[number]?.facts.removal = .possible
        }
    }

    func willPutBack(_ note: Note, to queue: QueueName) -> Int {
        let now = world.now
        lines[note.line]?.facts.removal = .possible
        // It waits for no retry any more, and is no suspect.
        kills[note.line] = nil
        lines[note.line]?.facts.retryNowAt = now
        lines[note.line]?.id = nil
        return frontMayChange(of: queue)
    }

    func putBack(_ note: Note, to queue: QueueName, _ id: ActionID, _ turn: Int) {
        _ = frontHasChanged(of: queue, turn)
        guard let line = lines[note.line] else { return }
        lines[note.line]?.id = id.rawValue
        if line.facts.expiresAt == nil, !line.wasOperated { lines[note.line]?.facts.removal = .none }
    }

    /// Until the act has ended, it is not certain which line is at the front.
    private func frontMayChange(of queue: QueueName) -> Int {
        fronts[queue] = nil
        return orders.begin("front \(queue)")
    }

    private func frontHasChanged(of queue: QueueName, _ turn: Int) -> Bool {
        fronts[queue] = nil
        return orders.end("front \(queue)", turn)
    }

    // MARK: - Of lines

    func willRemove(_ note: Note) {
        takeOutOfOrder(note.line)
        fronts = fronts.filter { $0.value.line != note.line }
        parkings = parkings.filter { $0.value.line != note.line }
        lines[note.line]?.wasOperated = true
        lines[note.line]?.facts.removal = .possible
    }

    func cancelled(_ note: Note, _ cancellation: Cancellation) {
        switch cancellation {
        case .removed: remove(note)
        case .signalled:
            let now = world.now
            lines[note.line]?.facts.signalledAt = now
        default: break
        }
    }

    func remove(_ note: Note) {
        lines[note.line]?.facts.removal = .certain
        lines[note.line]?.facts.removedAt = world.now
    }

    func willMove(_ note: Note, to queue: QueueName) -> Int {
        takeOutOfOrder(note.line)
        lines[note.line]?.facts.queue = nil
        lines[note.line]?.facts.mayHaveMoved = true
        fronts = fronts.filter { $0.value.line != note.line }
        parkings = parkings.filter { $0.value.line != note.line }
        return frontMayChange(of: queue)
    }

    func moved(_ note: Note, to queue: QueueName, isDone: Bool, _ turn: Int) {
        _ = frontHasChanged(of: queue, turn)
        guard isDone else { return }
        lines[note.line]?.facts.queue = queue
        lines[note.line]?.facts.movedAt = world.now
    }

    func willChangeFront(of queue: QueueName, _ note: Note) -> Int {
        takeOutOfOrder(note.line)
        let count = runCount(of: note)
        lines[note.line]?.runsBeforeAct = count
        return frontMayChange(of: queue)
    }

    func changedFront(of queue: QueueName, to note: Note?, _ turn: Int) {
        guard frontHasChanged(of: queue, turn), let note,
            lines[note.line]?.runsBeforeAct == runCount(of: note)
        else { return }
        fronts[queue] = (note.line, world.now)
    }

    func checkFront(_ run: Run) {
        guard let front = fronts[run.queue], isClaimed(by: run.process, after: front.since) else { return }
        report(run, "runs before line \(front.line), which was moved to the front")
    }

    func nextEdition(of note: Note) -> Int {
        lines[note.line]?.editions += 1
        return lines[note.line]?.editions ?? 0
    }

    func edited(_ note: Note) {
        lines[note.line]?.facts.edition = note.edition
        lines[note.line]?.facts.editedAt = world.now
    }
}
