#if PostgreSQL
import Sluice
import SluicePostgres

/// Makes the processes of a world with a server, does to them and to it what the seed says, and asks in the
/// end what became of it.
struct ServerDirector: Sendable {
    let world: World
    let plan: ServerPlan
    let server: ModelServer
    let judge: ServerJudge

    init(_ world: World, _ plan: ServerPlan) {
        (self.world, self.plan, server) = (world, plan, ModelServer(world))
        judge = ServerJudge(world, plan, server)
        server.onGivingBack = { [judge] in judge.gaveBack($0) }
    }

    /// A place of a process, which has one life after the other.
    // Used by the one thread of the world that runs.
    private final class Seat: @unchecked Sendable {
        var process: SimulatedProcess?
        var network: SimulatedNetwork?
        var life: ServerLife?
        var broker: Broker?
        var lifeCount = 0
    }

    func run() async {
        let seats = (0..<plan.processes).map { _ in Seat() }
        for index in seats.indices { begin(index, seats[index]) }
        let end = world.now + .seconds(plan.disturbance)
        while world.now < end {
            await pause(.milliseconds(200 + world.random.below(5_000)))
            for (index, seat) in seats.enumerated() where seat.process?.isDead == true { begin(index, seat) }
            let faults = plan.faults.sorted { $0.rawValue < $1.rawValue }
            guard let fault = world.random.pick(faults), let seat = world.random.pick(seats) else { continue }
            make(fault, seat)
            if world.random.percent(30), let other = world.random.pick(faults) { make(other, seat) }
        }
        await settle(seats)
    }

    private func pause(_ duration: Duration) async {
        do { try await world.director.clock.sleep(duration) } catch {
            judge.report("the director was cancelled")
        }
    }

    private func begin(_ index: Int, _ seat: Seat) {
        seat.lifeCount += 1
        let offset = seat.process?.clockOffset ?? .milliseconds(world.random.below(2_000))
        let process = SimulatedProcess(world, "\(index).\(seat.lifeCount)", clockOffset: offset)
        world.add(process)
        let network = SimulatedNetwork(process, server, judge)
        if plan.faults.contains(.slowLink) { network.bandwidth = 12_000 }
        let share = (0..<plan.actions).filter { $0 % plan.processes == index }.map(line)
        let life = ServerLife(process, network, plan, share)
        (seat.process, seat.network, seat.life, seat.broker) = (process, network, life, nil)
        Task(executorPreference: process.executor) { await life.live { seat.broker = $0 } }
    }

    /// Over a slow link the payloads of many actions do not come in time.
    private func line(_ number: Int) -> Line {
        let isLong = plan.faults.contains(.slowLink) && number / plan.queues % 2 == 0
        let padding = isLong ? String(repeating: "x", count: 40_000) : ""
        return Line(number: number, place: plan.queue(of: number), padding: padding)
    }

    // MARK: - Faults

    private func make(_ fault: ServerPlan.Fault, _ seat: Seat) {
        guard let process = seat.process, let network = seat.network, !process.isDead, !process.isFrozen
        else {
            return
        }
        world.note("\(fault) of \(process.name)")
        switch fault {
        case .kill: kill(process)
        case .freeze: freeze(process, for: .milliseconds(5 + world.random.below(3_000)))
        case .longFreeze: freeze(process, for: .milliseconds(15_000 + world.random.below(30_000)))
        case .cut: network.cut()
        case .cutOff:
            // Half of them last longer than a lease.
            let length = world.random.below(30_000) + (world.random.percent(50) ? 30_000 : 0)
            network.cutUntil = max(network.cutUntil, world.now + .milliseconds(length))
            if world.random.percent(50) { network.cut() }
        case .loss: passing { network.loss = $0 ? 30 : 0 }
        case .delay: passing { network.delay = $0 ? 20 : 0 }
        case .pooler: passing { network.poolerLoss = $0 ? 30 : 0 }
        case .slowLink: break
        case .restart:
            server.isDown = true
            server.disconnectAll()
            world.at(world.now + .milliseconds(world.random.below(20_000)), world.director) { [server] in
                server.isDown = false
            }
        case .clock:
            let jump = Duration.milliseconds(world.random.below(7_200_000) - 3_600_000)
            if world.random.percent(50) { server.clockOffset += jump } else { process.clockOffset += jump }
        case .lock: server.lock(&world.random, for: .milliseconds(world.random.below(20_000)))
        }
    }

    private func passing(_ change: @escaping (Bool) -> Void) {
        change(true)
        world.at(world.now + .milliseconds(world.random.below(40_000)), world.director) { change(false) }
    }

    private func kill(_ process: SimulatedProcess) {
        world.kill(process)
        judge.died(process)
        server.disconnect(process)
    }

    private func freeze(_ process: SimulatedProcess, for length: Duration) {
        let from = world.now
        process.frozenSince = from
        world.freeze(process)
        world.at(from + length, world.director) { [world, judge] in
            process.frozenSince = nil
            judge.noteFreeze(of: process, from: from)
            world.note("\(process.name) goes on")
            world.thaw(process)
        }
    }

    // MARK: - The end

    /// When the faults have ended, all runs within a bound.
    private func settle(_ seats: [Seat]) async {
        world.note("the faults have ended")
        judge.isQuiet = true
        let bound = world.now + .seconds(1_200)
        for (index, seat) in seats.enumerated() where seat.process?.isDead == true { begin(index, seat) }
        while world.now < bound, !judge.isDrained { await pause(.seconds(1)) }
        if judge.isDrained { await ping(seats) }
        for seat in seats {
            guard let broker = seat.broker, let process = seat.process else { continue }
            await Task(executorPreference: process.executor) { await broker.close() }.value
        }
        judge.finish()
    }

    /// When nothing is left to do, and nothing is done to anybody, handlers begin at once (G11).
    private func ping(_ seats: [Seat]) async {
        while seats.contains(where: { $0.process?.isFrozen == true }) { await pause(.seconds(1)) }
        // All of them listen again by then, and what kept the server is over.
        await pause(.seconds(60))
        for round in 0..<Self.pings {
            guard let seat = world.random.pick(seats), let life = seat.life, let broker = seat.broker else {
                return
            }
            let lines = (0..<2).map { Line.firstPing + 2 * round + $0 }
                .map { Line(number: $0, place: plan.queue(of: $0)) }
            let (start, isBySQL) = (world.now, world.random.percent(50))
            if isBySQL {
                for line in lines { server.insert(line) }
            } else {
                let pinging = Task(executorPreference: life.process.executor) {
                    for line in lines { await life.store(line, broker) }
                }
                await pinging.value
            }
            let end = world.now + .seconds(12)
            while world.now < end, !lines.allSatisfy(judge.hasBegun) { await pause(.milliseconds(5)) }
            judge.checkAnswer(to: lines, since: start, within: .milliseconds(500))
            await pause(.milliseconds(world.random.below(400)))
        }
    }

    private static let pings = 12
}
#endif
