import Foundation
import Sluice
import SluiceSQLite

/// Makes the processes of a world, does to them what the seed says, and asks in the end what became of it.
struct Director: Sendable {
    let world: World
    let judge: Judge
    let plan: Plan
    let path: String

    /// What was done.
    struct Tally: Sendable {
        var (kills, freezes, powerLosses, lostWrites) = (0, 0, 0, 0)
        var (jumps, diskFaults, suspensions) = (0, 0, 0)
    }

    /// A place of a process, which has one life after the other.
    // Used by the one thread of the world that runs.
    private final class Seat: @unchecked Sendable {
        var process: SimulatedProcess?
        var broker: Broker?
        var application: Application?
        var life = 0
    }

    func run() async -> Tally {
        var tally = Tally()
        let seats = (0..<plan.processes).map { _ in Seat() }
        do { try prepare() } catch { judge.report("the file cannot be made: \(error)") }
        for index in seats.indices { begin(index, seats[index]) }
        await disturb(seats, &tally)
        await settle(seats)
        return tally
    }

    private func prepare() throws {
        let connection = try Connection(path: path, mode: .create, vfs: world.director.vfs)
        try connection.set(Pragma("journal_mode", "WAL"))
        try connection.execute(Application.table)
        connection.close()
    }

    // MARK: - Lives

    private func begin(_ index: Int, _ seat: Seat) {
        seat.life += 1
        let name = "\(index).\(seat.life)"
        let offset: Duration =
            plan.faults.contains(.clock) ? .milliseconds(world.random.below(2_000)) : .zero
        let process = SimulatedProcess(world, name, clockOffset: offset)
        process.connect()
        (seat.process, seat.broker, seat.application) = (process, nil, nil)
        let share = plan.notes.enumerated().filter { $0.offset % plan.processes == index }.map(\.element)
        let life = Life(process, path, plan, judge, share)
        seat.application = life.application
        Task(executorPreference: process.executor) { await life.live { seat.broker = $0 } }
    }

    private func pause(_ duration: Duration) async {
        do { try await world.director.clock.sleep(duration) } catch {
            judge.report("the director was cancelled")
        }
    }

    private func kill(_ seat: Seat, _ tally: inout Tally) {
        guard let process = seat.process, !process.isDead else { return }
        world.note("kills \(process.name)")
        world.kill(process)
        judge.died(process)
        tally.kills += 1
    }

    // MARK: - What is done to them

    private func disturb(_ seats: [Seat], _ tally: inout Tally) async {
        let end = world.now + .seconds(plan.disturbance)
        while world.now < end {
            await pause(.milliseconds(200 + world.random.below(4_000)))
            for (index, seat) in seats.enumerated() where seat.process?.isDead == true { begin(index, seat) }
            guard let fault = world.random.pick(plan.faults.sorted { $0.rawValue < $1.rawValue }),
                let seat = world.random.pick(seats), let process = seat.process, !process.isFrozen
            else { continue }
            make(fault, seat, process, seats, &tally)
            // Two at a time meet what one alone does not.
            let other = world.random.pick(plan.faults.sorted { $0.rawValue < $1.rawValue })
            if world.random.percent(30), let other { make(other, seat, process, seats, &tally) }
        }
    }

    private func make(
        _ fault: Plan.Fault,
        _ seat: Seat,
        _ process: SimulatedProcess,
        _ seats: [Seat],
        _ tally: inout Tally
    ) {
        judge.disturbed()
        switch fault {
        case .kill: kill(seat, &tally)
        case .killInCall:
            process.fate = (
                world.random.below(40),
                { [world, judge] in
                    world.note("is killed in a call")
                    world.kill(process)
                    judge.died(process)
                }
            )
            tally.kills += 1
        case .freeze, .longFreeze: freeze(process, isLong: fault == .longFreeze, &tally)
        case .freezeInCall:
            let isLong = plan.faults.contains(.longFreeze) && world.random.percent(20)
            let length = lengthOfFreeze(isLong)
            process.fate = (world.random.below(40), { freeze(process, for: length) })
            tally.freezes += 1
        case .losePower:
            for seat in seats { kill(seat, &tally) }
            tally.lostWrites += world.disk.losePower(&world.random)
            tally.powerLosses += 1
            world.note("the power is gone")
            do { judge.powerLost(remaining: try remaining()) } catch {
                judge.report("the file cannot be read after the power was gone: \(error)")
            }
        case .clock:
            let far: Duration = .seconds(plan.jumpsFar ? [-3_600, 0, 3_600][world.random.below(3)] : 0)
            process.clockOffset += far + .milliseconds(world.random.below(10_000) - 5_000)
            tally.jumps += 1
        case .failSyncs:
            process.failSyncs(Int32(1 + world.random.below(3)))
            tally.diskFaults += 1
        case .failSyncsLong:
            process.failSyncs(-1)
            world.at(world.now + .milliseconds(world.random.below(25_000)), world.director) {
                process.failSyncs(0)
            }
            tally.diskFaults += 1
        case .fullDisk:
            process.setFull(true)
            world.at(world.now + .milliseconds(world.random.below(3_000)), world.director) {
                process.setFull(false)
            }
            tally.diskFaults += 1
        case .suspend:
            guard let broker = seat.broker else { return }
            tally.suspensions += 1
            let length = Duration.milliseconds(world.random.below(5_000))
            Task(executorPreference: process.executor) {
                do {
                    await broker.fileEngine.suspend()
                    try await process.clock.sleep(length)
                    try await broker.fileEngine.resume()
                } catch { process.world.note("suspension: \(error)") }
            }
        }
    }

    private func lengthOfFreeze(_ isLong: Bool) -> Duration {
        .milliseconds(isLong ? 31_000 + world.random.below(10_000) : 5 + world.random.below(3_000))
    }

    private func freeze(_ process: SimulatedProcess, isLong: Bool, _ tally: inout Tally) {
        tally.freezes += 1
        freeze(process, for: lengthOfFreeze(isLong))
    }

    private func freeze(_ process: SimulatedProcess, for length: Duration) {
        guard !process.isDead, !process.isFrozen else { return }
        let from = world.now
        world.note("\(process.name) is frozen for \(length)")
        process.frozenSince = from
        world.freeze(process)
        world.at(from + length, world.director) { [world, judge] in
            judge.noteSilence(of: process, from: from, to: world.now)
            process.frozenSince = nil
            world.note("\(process.name) goes on")
            world.thaw(process)
        }
    }

    // MARK: - The end

    /// When the faults have ended, all runs within a bound.
    private func settle(_ seats: [Seat]) async {
        world.note("the faults have ended")
        for seat in seats {
            seat.process?.fate = nil
            seat.process?.failSyncs(0)
            seat.process?.setFull(false)
        }
        judge.isQuiet = true
        let bound = world.now + .seconds(600)
        while world.now < bound {
            await pause(.seconds(1))
            for (index, seat) in seats.enumerated() where seat.process?.isDead == true { begin(index, seat) }
            for seat in seats { await endActs(seat) }
            let isEnqueued = plan.notes.allSatisfy { judge.lines[$0.line]?.isAcknowledged == true }
            if isEnqueued, let left = try? remaining(), left.isEmpty { break }
        }
        if world.now >= bound { await noteStatuses(seats) }
        await close(seats)
        do {
            let connection = try Connection(path: path, mode: .read, vfs: world.director.vfs)
            let effects = try connection.prepare("SELECT line FROM effects ORDER BY id").all { $0.int(0) }
            connection.close()
            judge.finish(effects: effects, remaining: try remaining())
        } catch {
            judge.report("the file cannot be read in the end: \(error)")
        }
    }

    /// Takes back what operators have done, and has dead letters run.
    private func endActs(_ seat: Seat) async {
        guard !plan.acts.isEmpty, let broker = seat.broker, let process = seat.process, !process.isFrozen,
            !process.isDead
        else { return }
        judge.willEndActs()
        let ending = Task(executorPreference: process.executor) {
            do {
                for hold in try await broker.holds() { try await broker.endHold(hold.id) }
                for gate in [Operator.gate, Role.gate] { try await broker.openGate(gate, isPersistent: true) }
                try await broker.purgeDeadLetters(cause: .expired)
                let count = try await broker.requeueAll(.all)
                if count > 0 { process.world.note("puts \(count) dead letters back") }
            } catch { process.world.note("acts are not ended: \(error)") }
        }
        await ending.value
    }

    /// Has the trace say why queues have not drained, as each broker sees it.
    private func noteStatuses(_ seats: [Seat]) async {
        for seat in seats {
            guard let broker = seat.broker, let process = seat.process else { continue }
            let asking = Task(executorPreference: process.executor) {
                do {
                    for status in try await broker.statuses() { process.world.note("\(status)") }
                } catch { process.world.note("no status: \(error)") }
            }
            await asking.value
        }
    }

    private func close(_ seats: [Seat]) async {
        for seat in seats {
            guard let broker = seat.broker, let process = seat.process else { continue }
            let closing = Task(executorPreference: process.executor) {
                await seat.application?.close()
                await broker.close()
            }
            await closing.value
        }
    }

    /// The lines whose actions stand in the file, with their numbers.
    ///
    /// Read past the world's disk, whose files are the system's; it takes no locks there.
    private func remaining() throws -> [Int: Int64] {
        let connection = try Connection(path: path, mode: .read, vfs: world.director.vfs)
        defer { connection.close() }
        let rows = try connection.prepare(
            """
            SELECT json_extract(payload, '$.line'), id FROM sluice_actions
            UNION ALL SELECT json_extract(payload, '$.line'), id FROM sluice_dead
            """
        ).all { ($0.int(0), $0.int64(1)) }
        return Dictionary(rows) { first, _ in first }
    }
}
