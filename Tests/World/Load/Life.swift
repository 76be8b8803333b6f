import Foundation
import Sluice
import SluiceSQLite

/// One life of a process: a broker that runs the queues, what enqueues, and who operates them.
struct Life: Sendable {
    let process: SimulatedProcess
    let path: String
    let plan: Plan
    let judge: Judge
    /// What it has to enqueue, and the special lines that it operates.
    let share: [Note]
    let own: [Note]
    let chance: Chance
    let application: Application

    init(_ process: SimulatedProcess, _ path: String, _ plan: Plan, _ judge: Judge, _ share: [Note]) {
        (self.process, self.path, self.plan, self.judge) = (process, path, plan, judge)
        self.share = share.filter { judge.lines[$0.line]?.isAcknowledged != true }
        own = share.filter(\.isSpecial)
        chance = process.world.random.split()
        application = Application(process, path, opensOften: plan.opensOften)
    }

    var options: BrokerOptions {
        var options = process.options(chance, concurrency: plan.concurrency)
        options.file.vfs = process.vfs
        options.file.identity = process.identity(isContained: plan.areContained)
        options.file.sharesFile = true
        options.file.watchesWAL = plan.haveWatches
        options.file.writeBehind.newest = 4
        options.file.writeBehind.batch = 3
        return options
    }

    /// Runs until it is stopped.
    func live(_ opened: @escaping @Sendable (Broker) -> Void) async {
        let broker = await open()
        do { try route(broker) } catch { return judge.report("\(process.name) cannot route: \(error)") }
        application.use(broker)
        opened(broker)
        if plan.acts.contains(.closeGate) { await openGates(broker) }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await run(broker) }
            group.addTask { await enqueue(broker) }
            group.addTask { await Operator(self, broker).operate() }
        }
    }

    /// A gate is closed until somebody has opened it.
    private func openGates(_ broker: Broker) async {
        for gate in [Operator.gate, Role.gate] {
            judge.gateOpens(gate)
            do { try await broker.openGate(gate, isPersistent: true) } catch {
                process.world.note("gate \(gate) is not opened: \(error)")
            }
        }
    }

    private func open() async -> Broker {
        while true {
            do {
                return try await Broker(file: path, options: options)
            } catch {
                process.world.note("cannot open: \(error)")
                await process.pause(.milliseconds(200))
            }
        }
    }

    private func run(_ broker: Broker) async {
        while true {
            do {
                try await broker.run()
                return
            } catch {
                process.world.note("run has ended: \(error)")
                await process.pause(.milliseconds(200))
            }
        }
    }

    // MARK: - Enqueuing

    private func enqueue(_ broker: Broker) async {
        var chance = chance
        for note in share {
            await process.pause(.milliseconds(chance.below(300)))
            let way = note.isBySQL ? Way.sql : chance.percent(20) ? .transaction : .broker
            await store(note, options(of: note, &chance), broker, by: way)
        }
    }

    /// What a line has besides its payload: a special one may have a time, an end or a gate.
    private func options(of note: Note, _ chance: inout Chance) -> EnqueueOptions {
        let key = DeduplicationKey("line \(note.line)", retention: .seconds(86_400))
        var options = EnqueueOptions(key: key)
        if note.startsGroup { options.startsGroups = [note.group] }
        if note.isMember { options.memberOf = [note.group] }
        guard note.isSpecial else { return options }
        let now = process.clock.wallMicroseconds
        let choice = chance.below(6)
        let (delay, end) = (chance.below(6_000), 200 + chance.below(6_000))
        if choice == 0, plan.acts.contains(.schedule) { options.notBefore = date(now, delay) }
        if choice == 1, plan.acts.contains(.expire) { options.expiresAt = date(now, end) }
        if choice == 2, plan.acts.contains(.closeGate) { options.gate = Operator.gate }
        return options
    }

    private func date(_ now: Int64, _ milliseconds: Int) -> Date {
        Date(timeIntervalSince1970: Double(now / 1_000 + Int64(milliseconds)) / 1_000)
    }

    /// Who enqueues: SQL knows nothing of the library.
    enum Way: CaseIterable { case broker, transaction, sql }

    func store(_ note: Note, _ options: EnqueueOptions, _ broker: Broker, by way: Way) async {
        while !Task.isCancelled {
            judge.willEnqueue(note, options)
            do {
                switch way {
                case .broker: judge.acknowledge(note, try await broker.enqueue(note, options).id)
                case .transaction:
                    let id = try await application.write { connection in
                        try broker.enqueue(note, options, in: connection.rawHandle).id
                    }
                    judge.acknowledge(note, id)
                case .sql:
                    try await application.write { try note.insert($0) }
                    judge.acknowledge(note, nil)
                }
                return
            } catch {
                process.world.note("line \(note.line) is not enqueued: \(error)")
                judge.refused(note, error)
                await process.pause(.milliseconds(300))
            }
        }
    }
}
