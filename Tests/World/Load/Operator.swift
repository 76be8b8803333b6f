import Sluice
import SluiceSQLite

/// Does to lines and queues what operators and applications do, and has the judge know it.
struct Operator {
    /// The gate that special lines may have.
    static let gate: GateName = "special"
    private let life: Life
    private let broker: Broker
    private var chance: Chance

    private var judge: Judge { life.judge }
    private var world: World { life.process.world }

    init(_ life: Life, _ broker: Broker) {
        (self.life, self.broker) = (life, broker)
        var source = life.chance
        for _ in 0..<3 { _ = source.next() }
        chance = source.split()
    }

    consuming func operate() async {
        let acts = life.plan.acts.sorted { $0.rawValue < $1.rawValue }
        guard !acts.isEmpty else { return }
        while !judge.isQuiet {
            await life.process.pause(.milliseconds(100 + chance.below(1_500)))
            guard let act = chance.pick(acts) else { continue }
            do { try await perform(act) } catch { world.note("\(act) is refused: \(error)") }
        }
    }

    private mutating func perform(_ act: Plan.Act) async throws {
        switch act {
        case .schedule, .expire, .fail, .exhaust, .park, .hang, .die: break
        case .backUp: try await backUp()
        case .ask:
            guard let queue = queue(Set(Role.allCases)) else { return }
            let certain = judge.certainLines(of: queue)
            judge.check(try await broker.status(of: queue), certain: certain)
        case .clear: try await clear()
        case .skip: try await skip()
        case .closeGate: try await closeGate()
        case .hold: try await hold()
        case .cancel: try await cancel()
        case .move: try await move()
        case .front: try await moveToFront()
        case .edit: try await edit()
        case .take: try await take()
        case .retryNow:
            judge.willRetryNow(life.process)
            defer { judge.triedAgain(life.process) }
            try await broker.retryNow()
        case .runNow:
            judge.willRunNow(life.process)
            defer { judge.triedAgain(life.process) }
            try await broker.runNow(includingRetries: chance.percent(50))
        }
    }

    // MARK: - Of queues

    private mutating func queue(_ roles: Set<Role>) -> QueueName? {
        let all = life.plan.roles.enumerated().filter { roles.contains($0.element) }
        return chance.pick(all).map { Note.queue($0.offset, $0.element) }
    }

    private mutating func hold() async throws {
        guard let queue = queue(Set(Role.allCases)) else { return }
        let hold = try await broker.hold(QueuePattern(queue.rawValue), by: "operator")
        judge.holdBegan(hold, on: queue)
        world.note("hold \(hold) on \(queue)")
        let length = Duration.milliseconds(chance.below(7_000))
        await life.process.pause(length)
        let status = try await broker.status(of: queue)
        judge.check(status, under: hold)
        judge.holdEnds(hold)
        world.note("ends hold \(hold) on \(queue)")
        try await broker.endHold(hold)
    }

    private mutating func closeGate() async throws {
        let gate = chance.percent(50) ? Self.gate : Role.gate
        let turn = judge.orders.begin("gate \(gate)")
        try await broker.closeGate(gate, isPersistent: true)
        if judge.orders.end("gate \(gate)", turn) { judge.gateClosed(gate) }
        world.note("closes gate \(gate)")
        await life.process.pause(.milliseconds(chance.below(7_000)))
        judge.gateOpens(gate)
        world.note("opens gate \(gate)")
        let opening = judge.orders.begin("gate \(gate)")
        try await broker.openGate(gate, isPersistent: true)
        _ = judge.orders.end("gate \(gate)", opening)
    }

    /// Takes the next action out, and perhaps puts it back.
    private mutating func take() async throws {
        guard let queue = queue([.fifo, .last, .sorted]) else { return }
        let handle = broker.queue(queue, of: Note.self)
        judge.beginTaking(from: queue, life.process)
        let taken: QueuedAction<Note>?
        do { taken = try await handle.removeNext() } catch {
            judge.actsEnded(of: life.process)
            throw error
        }
        judge.endTaking(life.process)
        guard let taken else { return }
        judge.took(taken.action, by: life.process)
        world.note("takes line \(taken.action.line), action \(taken.id), from \(queue)")
        await life.process.pause(.milliseconds(chance.below(3_000)))
        let putting = judge.willPutBack(taken.action, to: queue)
        let id = try await handle.putBack(taken)
        judge.putBack(taken.action, to: queue, id, putting)
        world.note("puts line \(taken.action.line) back as action \(id)")
    }

    private mutating func clear() async throws {
        guard let queue = judge.longestQueue([.fifo, .last, .wide]) else { return }
        let waiting = judge.willClear(queue, life.process)
        world.note("clears \(queue)")
        do { try await broker.queue(queue, of: Note.self).clear() } catch {
            judge.actsEnded(of: life.process)
            throw error
        }
        judge.cleared(queue, waiting, life.process)
    }

    private mutating func skip() async throws {
        guard let queue = queue([.fifo]) else { return }
        let parked = judge.willSkip(queue, life.process)
        let skip: HeadSkip
        do { skip = try await broker.skipHead(of: queue) } catch {
            judge.actsEnded(of: life.process)
            throw error
        }
        world.note("skips the head of \(queue): \(skip)")
        judge.skipped(skip, queue, parked, life.process)
    }

    /// Copies the file, and has the judge compare the copy.
    private mutating func backUp() async throws {
        let copy = "\(life.path)-copy-\(life.process.name)-\(chance.below(1_000_000))"
        let (known, start) = (judge.acknowledgedLines, world.now)
        try await broker.file?.backup(to: copy)
        world.note("has made a copy")
        let connection = try Connection(path: copy, mode: .read, vfs: life.process.vfs)
        defer { connection.close() }
        judge.checkCopy(
            of: known,
            since: start,
            remaining: try connection.remainingLines(),
            effects: try connection.effects()
        )
    }

    // MARK: - Of special lines

    /// A line of its own, which no other process operates.
    private mutating func line(_ roles: Set<Role> = Set(Role.allCases)) -> Judge.Line? {
        // One that runs is changed as often as all that wait.
        let isRunning = chance.percent(50)
        let running = judge.active.values.joined().map(\.note.line)
        let own = life.own.filter { isRunning == running.contains($0.line) }.compactMap {
            judge.lines[$0.line]
        }.filter {
            roles.contains($0.note.role) && $0.isAcknowledged && $0.id != nil && !$0.mayBeOver
        }
        return chance.pick(own)
    }

    private mutating func cancel() async throws {
        guard let line = line(), let id = line.id else { return }
        judge.willRemove(line.note)
        world.note("cancels line \(line.note.line), action \(id)")
        if chance.percent(30) {
            try await life.application.write { connection -> Void in
                try connection.prepare("DELETE FROM sluice_actions WHERE id = ?1").bind(1, id).run()
            }
        } else {
            let cancellation = try await broker.cancel(ActionID(rawValue: id))
            judge.cancelled(line.note, cancellation)
        }
    }

    private mutating func move() async throws {
        guard let line = line([.fifo, .last, .sorted, .wide, .rated]), let id = line.id,
            let target = queue([line.note.role])
        else { return }
        let turn = judge.willMove(line.note, to: target)
        let change = try await broker.move(ActionID(rawValue: id), to: target)
        world.note("moves line \(line.note.line), action \(id), to \(target): \(change)")
        judge.moved(line.note, to: target, isDone: change == .done, turn)
    }

    private mutating func moveToFront() async throws {
        guard let line = line([.fifo]), let id = line.id, line.facts.isPlain else { return }
        guard line.facts.queue != nil || !line.facts.mayHaveMoved else { return }
        let queue = line.facts.queue ?? line.note.queue
        let turn = judge.willChangeFront(of: queue, line.note)
        let change = try await broker.moveToFront(ActionID(rawValue: id))
        world.note("moves line \(line.note.line), action \(id), to the front: \(change)")
        judge.changedFront(of: queue, to: change == .done ? line.note : nil, turn)
    }

    private mutating func edit() async throws {
        guard let line = line(), let id = line.id else { return }
        var note = line.note
        note.edition = judge.nextEdition(of: note)
        let change = try await broker.edit(ActionID(rawValue: id), to: note)
        world.note("edits line \(note.line), action \(id): \(change)")
        if change == .done || change == .deferred { judge.edited(note) }
    }
}
