import Foundation
import Sluice
import SluiceSQLite

/// Makes the processes of a world, does to them what the seed says, and asks in the end what became of it.
struct Director: Sendable {
    let world: World
    let judge: Judge
    let plan: Plan
    let path: String
    let file: OpenFile

    init(_ world: World, _ judge: Judge, _ plan: Plan, path: String) {
        (self.world, self.judge, self.plan, self.path) = (world, judge, plan, path)
        file = OpenFile(path, world.director)
    }

    /// What was done.
    struct Tally: Sendable, CustomStringConvertible {
        var (kills, freezes, powerLosses, lostWrites) = (0, 0, 0, 0)
        var (jumps, diskFaults, suspensions) = (0, 0, 0)

        static func += (total: inout Tally, one: Tally) {
            total.kills += one.kills
            total.freezes += one.freezes
            total.powerLosses += one.powerLosses
            total.lostWrites += one.lostWrites
            total.jumps += one.jumps
            total.diskFaults += one.diskFaults
            total.suspensions += one.suspensions
        }

        var description: String {
            "\(kills) kills, \(freezes) freezes, \(powerLosses) losses of power with \(lostWrites) writes, "
                + "\(jumps) jumps of clocks, \(diskFaults) faults of disks, \(suspensions) suspensions"
        }
    }

    /// A place of a process, which has one life after the other.
    // Used by the one thread of the world that runs.
    final class Seat: @unchecked Sendable {
        var process: SimulatedProcess?
        var broker: Broker?
        var lastLife: Life?
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
        for table in Application.tables { try connection.execute(table) }
        connection.close()
    }

    // MARK: - Lives

    func begin(_ index: Int, _ seat: Seat) {
        seat.life += 1
        let name = "\(index).\(seat.life)"
        // The clock is the machine's: a life finds it as the one before has left it.
        let offset: Duration =
            seat.process?.clockOffset
            ?? (plan.faults.contains(.clock) ? .milliseconds(world.random.below(2_000)) : .zero)
        judge.noteClock(offset)
        let process = SimulatedProcess(world, name, clockOffset: offset)
        process.connect()
        (seat.process, seat.broker) = (process, nil)
        let share = plan.notes.enumerated().filter { $0.offset % plan.processes == index }.map(\.element)
        let life = Life(process, path, plan, judge, share)
        seat.lastLife = life
        Task(executorPreference: process.executor) { await life.live { seat.broker = $0 } }
    }

    func pause(_ duration: Duration) async {
        do { try await world.director.clock.sleep(duration) } catch {
            judge.report("the director was cancelled")
        }
    }

    func kill(_ seat: Seat, _ tally: inout Tally) {
        guard let process = seat.process, !process.isDead else { return }
        world.note("kills \(process.name)")
        world.kill(process)
        judge.died(process)
        tally.kills += 1
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
        var second = 0
        var hasEndedActs = plan.acts.isEmpty
        while world.now < bound {
            await pause(.seconds(1))
            second += 1
            for (index, seat) in seats.enumerated() where seat.process?.isDead == true { begin(index, seat) }
            if second % 5 == 1 {
                checkDeadLetters()
                for seat in seats where await endActs(seat) { hasEndedActs = true }
            }
            // A hold may be left on a queue that has drained.
            if hasEndedActs, judge.mayAllBeOver, isDrained() { break }
        }
        if world.now < bound { await ping(seats) } else { await noteStatuses(seats) }
        // The last of the processes to close the file is one of theirs.
        file.close()
        await close(seats)
        defer { file.close() }
        do {
            judge.finish(effects: try read { try $0.effects() }, remaining: try remaining())
        } catch {
            judge.report("the file cannot be read in the end: \(error)")
        }
    }

    /// Takes back what operators have done, and has dead letters run; returns whether it has.
    private func endActs(_ seat: Seat) async -> Bool {
        guard !plan.acts.isEmpty, let broker = seat.broker, let process = seat.process, !process.isFrozen,
            !process.isDead
        else { return false }
        // One whose parking action is gone goes on by itself.
        let isParked = judge.mayBeParked
        judge.willEndActs(process)
        let ending = Task(executorPreference: process.executor) {
            do {
                for hold in try await broker.holds() {
                    // One that has begun since the others ended.
                    judge.holdEnds(hold.id)
                    try await broker.endHold(hold.id)
                }
                for gate in [Operator.gate, Role.gate] {
                    let turn = judge.orders.begin("gate \(gate)")
                    judge.gateOpens(gate)
                    try await broker.openGate(gate, isPersistent: true)
                    _ = judge.orders.end("gate \(gate)", turn)
                }
                try await broker.purgeDeadLetters(cause: .expired)
                if isParked { try await broker.retryNow() }
                let count = try await broker.requeueAll(.all)
                if count > 0 { process.world.note("puts \(count) dead letters back") }
                return true
            } catch {
                process.world.note("acts are not ended: \(error)")
                return false
            }
        }
        let hasEnded = await ending.value
        judge.triedAgain(process)
        return hasEnded
    }

    /// Has the trace say why queues have not drained, as each broker sees it.
    func noteStatuses(_ seats: [Seat]) async {
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
                await seat.lastLife?.application.close()
                await broker.close()
            }
            await closing.value
        }
    }

    /// The lines whose actions stand in the file, with their numbers.
    func remaining() throws -> [Int: Int64] { try read { try $0.remainingLines() } }

    /// Whether nothing is left in the file, and nobody has a slot.
    ///
    /// A process that died may have one until its lease ends.
    private func isDrained() -> Bool {
        do {
            return try read { try $0.remainingLines().isEmpty && !$0.hasClaims() }
        } catch {
            world.note("the file cannot be read: \(error)")
            return false
        }
    }

    /// Asks the judge about each dead letter; a disk may still have to recover.
    private func checkDeadLetters() {
        let query: StaticString = "SELECT json_extract(payload, '$.line'), cause FROM sluice_dead"
        do {
            for dead in try read({ try $0.cached(query).all { ($0.int(0), $0.text(1)) } }) {
                judge.checkDead(dead.0, cause: dead.1)
            }
        } catch { world.note("dead letters cannot be read: \(error)") }
    }

    private func read<Output>(_ body: (Connection) throws -> Output) throws -> Output {
        try body(try file.connection())
    }
}

/// The file as another process of the world reads it.
///
/// Opened once: most of a short read is SQLite's reading of the schema.
// Used by the one thread of the world that runs.
final class OpenFile: @unchecked Sendable {
    private let path: String
    private let process: SimulatedProcess
    private var opened: Connection?

    init(_ path: String, _ process: SimulatedProcess) { (self.path, self.process) = (path, process) }

    func connection() throws -> Connection {
        if let opened { return opened }
        let connection = try Connection(path: path, mode: .read, vfs: process.vfs)
        opened = connection
        return connection
    }

    func close() {
        opened?.close()
        opened = nil
    }
}
