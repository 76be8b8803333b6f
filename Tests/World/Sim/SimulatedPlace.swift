import Sluice

/// Where a simulated process's engine runs: queues, timers and signals of the world.
final class SimulatedPlace: WorkPlace {
    private unowned let process: SimulatedProcess
    private var world: World { process.world }

    init(_ process: SimulatedProcess) { self.process = process }

    func queue(_ label: String, isUrgent: Bool) -> any WorkQueue { SimulatedQueue(process, label) }
    func signal() -> any WorkSignal { SimulatedSignal(process) }

    func watch(
        _ path: String,
        on queue: any WorkQueue,
        fired: @escaping @Sendable () -> Void
    ) -> (any WorkWatch)? { SimulatedWatch(world, path, queue, fired) }

    var now: Duration { world.now }
    func spread(_ time: Duration) -> Duration { time * (500 + world.random.below(501)) / 1_000 }
    func sleep(for time: Duration) async throws { try await process.clock.sleep(time) }
}

/// Hears of the next change of a file, some time later.
// Used by the one thread of the world that runs.
final class SimulatedWatch: WorkWatch, @unchecked Sendable {
    private let world: World
    private let path: String
    private let queue: any WorkQueue
    private let fired: @Sendable () -> Void
    private var isSet = false

    init(_ world: World, _ path: String, _ queue: any WorkQueue, _ fired: @escaping @Sendable () -> Void) {
        (self.world, self.path, self.queue, self.fired) = (world, path, queue, fired)
    }

    func arm() -> Bool {
        if !isSet { isSet = world.watch(path, self) }
        return isSet
    }

    func heard() {
        queue.add { [self] in
            guard isSet else { return }
            isSet = false
            fired()
        }
    }

    func end(_ ended: @escaping @Sendable () -> Void) {
        isSet = false
        ended()
    }
}

/// Runs one job after the other, each when the world chooses it.
// Used by the one thread of the world that runs.
private final class SimulatedQueue: WorkQueue, @unchecked Sendable {
    private let process: SimulatedProcess
    let label: String
    private var jobs: [@Sendable () -> Void] = []
    private var isBusy = false
    private var suspensions = 0

    init(_ process: SimulatedProcess, _ label: String) { (self.process, self.label) = (process, label) }

    func add(_ job: @escaping @Sendable () -> Void) {
        jobs.append(job)
        proceed()
    }

    private func proceed() {
        guard !isBusy, suspensions == 0, !jobs.isEmpty else { return }
        isBusy = true
        process.world.add(process) { [self] in
            if suspensions == 0 {
                let job = jobs.removeFirst()
                job()
            }
            isBusy = false
            proceed()
        }
    }

    func timer(_ fired: @escaping @Sendable () -> Void) -> any WorkTimer {
        SimulatedTimer(process, self, fired)
    }
    func suspend() { suspensions += 1 }

    func resume() {
        suspensions -= 1
        proceed()
    }

    func checkIsCurrent() { precondition(isBusy, "\(label) is not running") }
}

// Used by the one thread of the world that runs.
private final class SimulatedTimer: WorkTimer, @unchecked Sendable {
    private let process: SimulatedProcess
    private let queue: SimulatedQueue
    private let fired: @Sendable () -> Void
    private var entry: TimerHeap.Entry?

    init(_ process: SimulatedProcess, _ queue: SimulatedQueue, _ fired: @escaping @Sendable () -> Void) {
        (self.process, self.queue, self.fired) = (process, queue, fired)
    }

    deinit { entry?.cancel() }

    func set(_ time: Duration?) {
        entry?.cancel()
        entry = time.map { time in
            process.world.at(max(time, process.world.now), process) { [queue, fired] in queue.add(fired) }
        }
    }
}

// Used by the one thread of the world that runs.
private final class SimulatedSignal: WorkSignal, @unchecked Sendable {
    private let process: SimulatedProcess
    private var count = 0
    private var waiters: [Waiter] = []

    init(_ process: SimulatedProcess) { self.process = process }

    func send() {
        waiters.removeAll(where: \.isDone)
        guard !waiters.isEmpty else {
            count += 1
            return
        }
        process.world.ready(waiters.removeFirst())
    }

    func wait() { _ = wait(until: nil) }
    func wait(atMost time: Duration) -> Bool { wait(until: process.world.now + time) }

    private func wait(until time: Duration?) -> Bool {
        if count > 0 {
            count -= 1
            return true
        }
        return process.world.wait(until: time) { waiters.append($0) }
    }
}
