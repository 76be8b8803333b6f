import Logging
import Sluice
import WorldDisk

/// A process of the world: what it can run, its clock, its files and locks.
// Used by the one thread of the world that runs.
final class SimulatedProcess: @unchecked Sendable {
    unowned let world: World
    let name: String
    let pid: Int64
    /// By how much its wall clock is ahead.
    var clockOffset: Duration
    private(set) var isDead = false
    var isFrozen = false
    var frozenSince: Duration?
    /// What would run if it were not frozen.
    var frozen: [World.Runnable] = []
    var frozenTimers: [() -> Void] = []
    private(set) lazy var executor = SimulatedExecutor(self)
    private(set) lazy var place = SimulatedPlace(self)
    /// Its VFS is registered until the program ends, since a thread of it may have stopped in a call.
    private var files: OpaquePointer?
    /// After so many more steps in calls of the disk it dies, or freezes.
    var fate: (steps: Int, body: () -> Void)?

    init(_ world: World, _ name: String, clockOffset: Duration) {
        (self.world, self.name, self.clockOffset) = (world, name, clockOffset)
        pid = world.nextPID()
    }

    var clock: SimulatedClock { SimulatedClock(process: self) }
    /// The name of its VFS; no other world of the program has it.
    var vfs: String { "\(world.seed).\(name)" }

    /// - Parameter isContained: Whether it has a pid namespace of its own, so that none sees another.
    func identity(isContained: Bool) -> ProcessIdentity {
        let namespace = isContained ? "pid:[\(pid)]" : "pid:[0]"
        mark = "\(World.boot) \(namespace) \(pid)"
        return ProcessIdentity(pid: pid, mark: mark, on: world)
    }

    private(set) var mark = ""

    /// The options of its brokers.
    func options(_ chance: Chance, concurrency: Int) -> BrokerOptions {
        var options = BrokerOptions()
        options.clock = clock
        options.randomness = chance
        options.concurrency = concurrency
        options.handlerExecutor = executor
        options.engine = EngineContext(place, executor)
        options.logger = Logger(label: "world") { [world] _ in TraceLogHandler(world) }
        return options
    }

    func pause(_ duration: Duration) async {
        do { try await clock.sleep(duration) } catch { world.note("a pause was cancelled") }
    }

    /// Gives it files.
    func connect() {
        let calls = world_calls(
            step: { process(at: $0).takeStep() },
            sleep: { process(at: $0).sleep(.nanoseconds($1)) },
            uptime: { Int64(process(at: $0).world.now / .nanoseconds(1)) },
            time: { process(at: $0).clock.wallMicroseconds / 1_000 },
            wrote: { context, path in
                if let path { process(at: context).world.wrote(String(cString: path)) }
            },
            sync_failed: { process(at: $0).diskFails() }
        )
        // Retained for ever, as the VFS is.
        let context = Unmanaged.passRetained(self).toOpaque()
        files = world_process_create(world.disk.pointer, vfs, calls, context)
        world.add(self)
        precondition(files != nil, "SQLite refuses the VFS \(vfs)")
    }

    private func takeStep() { world.step(self) }

    private func sleep(_ duration: Duration) {
        _ = world.wait(until: world.now + duration) { _ in }
    }

    /// Called at each step in a call of the disk, before others run.
    func stepTaken() {
        guard let fate else { return }
        if fate.steps > 0 {
            self.fate = (fate.steps - 1, fate.body)
        } else {
            self.fate = nil
            fate.body()
        }
    }

    func die() {
        isDead = true
        (frozen, frozenTimers, fate) = ([], [], nil)
        if let files { world_process_kill(files) }
    }

    /// When its disk failed for the first time.
    private(set) var faultySince: Duration?
    var hasFaultyDisk: Bool { faultySince != nil }

    private func diskFails() { faultySince = faultySince ?? world.now }

    /// - Parameter ofDatabaseOnly: Whether those of the log succeed.
    func failSyncs(_ count: Int32, ofDatabaseOnly: Bool = false) {
        if count != 0 { diskFails() }
        if let files { world_process_fail_syncs(files, count, ofDatabaseOnly ? 1 : 0) }
    }

    func setFull(_ isFull: Bool) {
        if isFull { diskFails() }
        if let files { world_process_set_full(files, isFull ? 1 : 0) }
    }
}

private func process(at context: UnsafeMutableRawPointer?) -> SimulatedProcess {
    guard let context else { preconditionFailure("a call without a process") }
    return Unmanaged<SimulatedProcess>.fromOpaque(context).takeUnretainedValue()
}

/// The disk of a world.
final class SimulatedDisk {
    let pointer: OpaquePointer

    init() {
        guard let pointer = world_disk_create() else { preconditionFailure("no memory for a disk") }
        self.pointer = pointer
    }

    /// Watches a file until its next change; returns whether there is one.
    func watch(_ path: String) -> Bool { world_disk_watch(pointer, path) != 0 }
    /// At the end of the world.
    func unmount() { world_disk_unmount(pointer) }
    func setQuiet(_ calls: Int) { world_disk_set_quiet(pointer, Int32(calls)) }

    /// Ends the power; returns how many writes were lost or torn.
    func losePower(_ chance: inout Chance) -> Int {
        let lost = withUnsafeMutablePointer(to: &chance) { chance in
            world_disk_lose_power(
                pointer,
                { context, bound in
                    guard let context else { return 0 }
                    return UInt32(context.assumingMemoryBound(to: Chance.self).pointee.below(Int(bound)))
                },
                chance
            )
        }
        precondition(lost >= 0, "the system refuses to take writes back")
        return Int(lost)
    }
}
