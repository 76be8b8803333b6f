import Foundation
import Sluice

/// A simulated machine: one thing runs at a time, and a seed decides which, and when what is done to whom.
///
/// What can run are the parts of tasks, the jobs of queues, and threads that went half through one: at each
/// call of the disk a thread may give way (``step(_:)``), and at a wait it must. Time stands still while
/// anything can run, but for a little at each step, and jumps to the next timer when nothing can.
///
/// All of its state is used by the one thread that runs, which hands it on when it gives way.
// Strictly one thread runs.
final class World: @unchecked Sendable {
    /// The world of this program; there is one at a time.
    private(set) nonisolated(unsafe) static var current = World(seed: 0)

    /// What can run next.
    struct Runnable {
        enum Work {
            case job(() -> Void)
            case strand(Strand)
        }

        let process: SimulatedProcess
        let work: Work
    }

    let seed: UInt64
    var random: Chance
    let disk = SimulatedDisk()
    private(set) var now: Duration = .zero
    private(set) var steps = 0
    private var runnables: [Runnable] = []
    private var timers = TimerHeap()
    private(set) var processes: [Int64: SimulatedProcess] = [:]
    private var watches: [String: [SimulatedWatch]] = [:]
    private var idle: [Strand] = []
    private var lastPID: Int64 = 0
    private var running: Strand
    private let main: Strand
    private var isOver = false
    /// Who makes the others, and is never killed.
    private(set) lazy var director = SimulatedProcess(self, "director", clockOffset: .zero)
    var trace: Trace

    init(seed: UInt64) {
        (self.seed, random, trace) = (seed, Chance(seed), Trace())
        main = Strand()
        running = main
    }

    /// Runs to the end: until what the director does has ended.
    func run(_ body: @escaping @Sendable () async -> Void) {
        Self.current = self
        TaskHook.install()
        Task(executorPreference: director.executor) {
            await body()
            self.isOver = true
        }
        giveWay()
    }

    // MARK: - What can run

    func add(_ process: SimulatedProcess, _ job: @escaping () -> Void) {
        add(Runnable(process: process, work: .job(job)))
    }

    private func add(_ runnable: Runnable) {
        if runnable.process.isDead { return }
        if runnable.process.isFrozen {
            runnable.process.frozen.append(runnable)
        } else {
            runnables.append(runnable)
        }
    }

    /// The process whose code runs.
    var process: SimulatedProcess { running.process ?? director }

    /// Takes what runs next, by the seed.
    private func next() -> Runnable {
        while runnables.isEmpty {
            guard let timer = timers.next() else {
                fail("stands still")
            }
            now = max(now, timer.time)
            timer.fire()
        }
        while let time = timers.nextTime, time <= now { timers.next()?.fire() }
        now += .microseconds(random.below(20))
        steps += 1
        if steps > Self.longest { fail("does not end") }
        let index = random.below(runnables.count)
        runnables.swapAt(index, runnables.count - 1)
        return runnables.removeLast()
    }

    /// Some thirty times what a world takes.
    private static let longest = 1_000_000

    private func fail(_ text: String) -> Never {
        // In a release build, too, it says so.
        fatalError("the world of seed \(seed) \(text), see its trace\n\(trace.text)")
    }

    // MARK: - Threads

    /// Has others run, until what the caller has made runnable is chosen; the main thread until the end.
    ///
    /// A strand that belongs to a dead process never returns from it.
    private func giveWay() {
        let me = running
        while true {
            if isOver {
                if me === main { return }
                hand(to: main)
                me.sleep()
                continue
            }
            let chosen = next()
            switch chosen.work {
            case .strand(let strand) where strand === me:
                return
            case .strand(let strand):
                hand(to: strand)
            case .job(let job):
                let strand = idle.popLast() ?? makeStrand()
                (strand.job, strand.process) = (job, chosen.process)
                hand(to: strand)
            }
            me.sleep()
            if me !== main { return }
        }
    }

    private func hand(to strand: Strand) {
        running = strand
        strand.wake()
    }

    private func makeStrand() -> Strand {
        let strand = Strand()
        strand.start { [unowned self] in live(strand) }
        return strand
    }

    /// What a thread does: one job after the other, for as long as fresh ones are chosen.
    private func live(_ me: Strand) {
        me.sleep()
        while true {
            let job = me.job
            me.job = nil
            job?()
            me.process = nil
            rest(me)
        }
    }

    /// Goes on with a job, or hands on to who is half through one.
    private func rest(_ me: Strand) {
        while true {
            if isOver {
                idle.append(me)
                hand(to: main)
                return me.sleep()
            }
            let chosen = next()
            switch chosen.work {
            case .job(let job):
                (me.job, me.process) = (job, chosen.process)
                return
            case .strand(let strand):
                idle.append(me)
                hand(to: strand)
                return me.sleep()
            }
        }
    }

    // MARK: - Waiting

    /// Lets others run, in the midst of a call.
    func step(_ process: SimulatedProcess) {
        disk.setQuiet(random.below(2 * pace))
        process.stepTaken()
        if process.isDead { return abandon() }
        add(Runnable(process: process, work: .strand(running)))
        giveWay()
    }

    /// How many calls of the disk pass between two steps, on average.
    var pace = 12

    /// The thread of a process that has died: nothing of it runs again.
    private func abandon() {
        giveWay()
        preconditionFailure("a dead process runs, seed \(seed)")
    }

    /// Waits until a condition is made true by who then calls ``ready(_:)``, or a time.
    func wait(until time: Duration? = nil, _ enlist: (Waiter) -> Void) -> Bool {
        let waiter = Waiter(running, process)
        enlist(waiter)
        if let time {
            at(time, process) { [self] in
                guard !waiter.isDone else { return }
                waiter.isDone = true
                add(Runnable(process: waiter.process, work: .strand(waiter.strand)))
            }
        }
        giveWay()
        return waiter.hasCome
    }

    func ready(_ waiter: Waiter) {
        guard !waiter.isDone else { return }
        (waiter.isDone, waiter.hasCome) = (true, true)
        add(Runnable(process: waiter.process, work: .strand(waiter.strand)))
    }

    // MARK: - Time

    /// Does something of a process at a time: later, if it is frozen then, and never, if it is dead.
    @discardableResult
    func at(_ time: Duration, _ process: SimulatedProcess, _ body: @escaping () -> Void) -> TimerHeap.Entry {
        let entry = TimerHeap.Entry(time: time, number: timers.count) {
            if process.isDead { return }
            if process.isFrozen { process.frozenTimers.append(body) } else { body() }
        }
        timers.add(entry)
        return entry
    }

    // MARK: - Watches

    func watch(_ path: String, _ watch: SimulatedWatch) -> Bool {
        guard disk.watch(path) else { return false }
        watches[path, default: []].append(watch)
        return true
    }

    func wrote(_ path: String) {
        for watch in watches.removeValue(forKey: path) ?? [] { watch.heard() }
    }

    // MARK: - What is done to processes

    func add(_ process: SimulatedProcess) { processes[process.pid] = process }
    func nextPID() -> Int64 {
        lastPID += 1
        return lastPID
    }

    func freeze(_ process: SimulatedProcess) {
        guard !process.isDead, !process.isFrozen else { return }
        process.isFrozen = true
        process.frozen += runnables.filter { $0.process === process }
        runnables.removeAll { $0.process === process }
    }

    func thaw(_ process: SimulatedProcess) {
        guard !process.isDead, process.isFrozen else { return }
        process.isFrozen = false
        runnables += process.frozen
        process.frozen = []
        let fired = process.frozenTimers
        process.frozenTimers = []
        for body in fired { body() }
    }

    func kill(_ process: SimulatedProcess) {
        guard !process.isDead else { return }
        process.die()
        runnables.removeAll { $0.process === process }
    }
}

/// A thread in the midst of a job that waits.
final class Waiter {
    let strand: Strand
    let process: SimulatedProcess
    var isDone = false
    var hasCome = false

    init(_ strand: Strand, _ process: SimulatedProcess) { (self.strand, self.process) = (strand, process) }
}
