import Dispatch
import FaultVFS
import Foundation
import Sluice
import SluiceSQLite
import SluiceTestKit

/// Scenarios in which something fails, or the process is killed; each writes what is wrong, a line each that
/// begins with `violation`, and at the end what was done.
extension CrashChild {
    static func breakSomething(_ verb: String, _ arguments: [String]) async throws {
        switch (verb, arguments.count) {
        case ("faults", 4):
            guard let points = Int(arguments[2]), let seed = UInt64(arguments[3]) else {
                throw CrashChildError.usage
            }
            try await makeFaults(arguments[0], forEver: arguments[1] == "ever", points, seed)
        case ("scarce", 0): try await lackMemory()
        case ("short", 0): try await cutShort()
        case ("fill", 1): try await fillDisk(arguments[0])
        case ("scenario", 2): try await act(file: arguments[0], log: arguments[1], killAt: nil)
        case ("die", 3):
            guard let call = Int32(arguments[2]) else { throw CrashChildError.usage }
            try await act(file: arguments[0], log: arguments[1], killAt: call)
        case ("upgrade", 2):
            guard let call = Int32(arguments[1]) else { throw CrashChildError.usage }
            try await upgrade(file: arguments[0], killAt: call)
        case ("finish", 2): try await finish(file: arguments[0], log: arguments[1])
        default: throw CrashChildError.usage
        }
    }

    /// `faults WHAT once|ever POINTS SEED`: lets one call of a kind fail, or all from there on for a while,
    /// at so many points of the scenario; 0 is at each.
    private static func makeFaults(_ name: String, forEver: Bool, _ points: Int, _ seed: UInt64) async throws
    {
        guard let source = FaultSource(name) else { throw CrashChildError.usage }
        // The fewer of two: once it may have waited for a lock, and asked for it thousands of times.
        let counts = [
            try await suffer(from: source, at: nil, forEver: false).calls,
            try await suffer(from: source, at: nil, forEver: false).calls,
        ]
        let calls = min(counts[0], counts[1])
        let count = points == 0 ? calls : min(points, calls)
        var (faults, reached, missed) = (0, 0, 0)
        var errors: [String: Int] = [:]
        for point in 0..<count {
            // Evenly, each time at another place of its stretch.
            let start = calls * point / count
            let stretch = max(1, calls * (point + 1) / count - start)
            let call = start + Int(truncatingIfNeeded: (seed &+ UInt64(point) &* 7_919) % UInt64(stretch))
            let told = try await suffer(from: source, at: call, forEver: forEver)
            faults += told.faults
            errors.merge(told.errors, uniquingKeysWith: +)
            guard told.calls > call else { continue }
            reached += 1
            if told.faults == 0 { missed += 1 }
        }
        // A point may lie behind the end of a scenario that happens to make fewer calls: who waits for a lock
        // asks for it as often as there is time.
        // At each that it reaches the fault is made.
        if reached == 0 || missed > 0 {
            say("violation: of \(count) points \(reached) were reached, \(missed) of them without a fault")
        }
        let codes = errors.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        say("\(reached) points of \(calls) calls, \(faults) faults; errors: \(codes)")
    }

    /// Runs the scenario with a fault in it.
    private static func suffer(
        from source: FaultSource,
        at call: Int?,
        forEver: Bool
    ) async throws -> (calls: Int, faults: Int, errors: [String: Int]) {
        let file = try TemporaryFile()
        let history = ScenarioHistory()
        let clock = FastClock()
        let point = call.map { "at call \($0)\(forEver ? " for ever" : "")" } ?? "without faults"
        let watchdog = Watchdog(point, history) {
            source.mend()
            let open = history.entries.suffix(8).map(\.line).joined(separator: ", ")
            return "\(history.errors); \(open); \(queues(of: file.path))"
        }
        let options = Scenario.options(vfs: FaultSource.diskName, clock: clock)
        var scenario = Scenario(file: file.path, options: options, history: history)
        scenario.syncs = { source.syncs }
        scenario.onRefusal = { steps in
            source.whole {
                let found = storedAfterCrash(file.path).intersection(steps.map(\.number))
                guard !found.isEmpty else { return }
                history.report("refused, and stored if the machine stops now: \(found.sorted())")
            }
        }
        let (before, madeBefore) = (source.faults, source.made)
        if let call { source.fail(behind: call, forEver: forEver) }
        let mending = Task {
            while !Task.isCancelled, source.faults == before { await clock.pause(.milliseconds(100)) }
            await clock.pause(.seconds(4))
            source.mend()
        }
        try await scenario.work()
        let calls = source.made - madeBefore
        mending.cancel()
        await mending.value
        source.mend()
        watchdog.end()
        let check = ScenarioCheck(entries: history.entries, wasKilled: false)
        for violation in try history.violations + check.violations(in: file.path) {
            say("violation \(point): \(violation)")
        }
        return (calls, source.faults - before, history.errors)
    }

    /// Why the queues of a file do not move.
    private static func queues(of path: String) -> String {
        let connection = try? Connection(path: path, mode: .read)
        let rows = try? connection?.prepare("SELECT queue, state, because FROM sluice_queues").all {
            "\($0.text(0)) \($0.text(1)) \($0.text(2))"
        }
        return (rows ?? ["its queues cannot be read"]).joined(separator: ", ")
    }

    /// The numbers of the actions that a file would hold if the machine stopped now and all that was written
    /// had reached the disk.
    static func storedAfterCrash(_ path: String) -> Set<Int> {
        guard let copy = try? TemporaryFile() else { return [] }
        for suffix in ["-wal", ""] {
            try? FileManager.default.copyItem(atPath: path + suffix, toPath: copy.path + suffix)
        }
        // Not yet a database, or without tables: nothing is stored.
        guard let connection = try? Connection(path: copy.path, mode: .write) else { return [] }
        defer { connection.close() }
        let statement = try? connection.prepare("SELECT payload ->> 'number' FROM sluice_actions")
        return Set((try? statement?.all { $0.int(0) }) ?? [])
    }
}

// MARK: - The system's own ways

extension CrashChild {
    /// `short`: runs the scenario while the system reads and writes less than it is asked to.
    private static func cutShort() async throws {
        guard fault_calls_shorten() == 0 else { throw CrashChildError.usage }
        let file = try TemporaryFile()
        let history = ScenarioHistory()
        let watchdog = Watchdog("with short calls", history)
        try await Scenario(file: file.path, options: Scenario.options(clock: FastClock()), history: history)
            .work()
        watchdog.end()
        let check = ScenarioCheck(entries: history.entries, wasKilled: false)
        for violation in try history.violations + check.violations(in: file.path) {
            say("violation with short calls: \(violation)")
        }
        for (code, count) in history.errors { say("violation with short calls: \(count) times \(code)") }
        say("\(fault_calls_shortened()) calls")
    }

    /// `fill FOLDER`: runs the scenario in a folder whose file system is filled up by another file for a
    /// while, again and again.
    private static func fillDisk(_ folder: String) async throws {
        let history = ScenarioHistory()
        let clock = FastClock()
        let watchdog = Watchdog("on a full disk", history)
        let path = folder + "/queues.sqlite"
        let filler = Task {
            var times = 0
            while !Task.isCancelled {
                fill(folder + "/filler")
                times += 1
                await clock.pause(.seconds(2))
                try? FileManager.default.removeItem(atPath: folder + "/filler")
                await clock.pause(.milliseconds(500))
            }
            return times
        }
        try await Scenario(file: path, options: Scenario.options(clock: clock), history: history).work()
        filler.cancel()
        let times = await filler.value
        try? FileManager.default.removeItem(atPath: folder + "/filler")
        watchdog.end()
        let check = ScenarioCheck(entries: history.entries, wasKilled: false)
        for violation in try history.violations + check.violations(in: path) {
            say("violation on a full disk: \(violation)")
        }
        let codes = history.errors.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        say("\(times) times; errors: \(codes.joined(separator: ", "))")
    }

    /// Writes until there is no room.
    private static func fill(_ path: String) {
        guard FileManager.default.createFile(atPath: path, contents: nil),
            let handle = FileHandle(forWritingAtPath: path)
        else { return }
        for size in [65_536, 4_096, 512] {
            let part = Data(repeating: 1, count: size)
            while (try? handle.write(contentsOf: part)) != nil {}
        }
        try? handle.close()
    }
}

// MARK: - Kills

extension CrashChild {
    /// `scenario FILE LOG` and `die FILE LOG CALL`: runs the scenario, and dies in the midst of a call; a
    /// negative number is none, and tells how many there were.
    private static func act(file: String, log: String, killAt call: Int32?) async throws {
        let vfs = call.map { _ in fault_vfs_create(FaultSource.diskName) } ?? nil
        if let call { fault_vfs_kill(vfs, call < 0 ? .max : call) }
        let history = ScenarioHistory(log: try Log(log, run: "killed"))
        let options = Scenario.options(vfs: call == nil ? nil : FaultSource.diskName, clock: FastClock())
        try await Scenario(file: file, options: options, history: history).work()
        for violation in history.violations { say("violation: \(violation)") }
        if call != nil { say("\(Int32.max - fault_vfs_life(vfs)) calls") }
    }

    /// `upgrade FILE CALL`: opens a file, which brings it up, closes it, and dies in the midst of a call; a
    /// negative number is none, and tells how many there were.
    private static func upgrade(file: String, killAt call: Int32) async throws {
        let vfs = fault_vfs_create(FaultSource.diskName)
        fault_vfs_kill(vfs, call < 0 ? .max : call)
        let options = Scenario.options(vfs: FaultSource.diskName, clock: FastClock())
        try await Broker(file: file, options: options).close()
        say("\(Int32.max - fault_vfs_life(vfs)) calls")
    }

    /// `finish FILE LOG`: runs what is left, and checks all of it.
    private static func finish(file: String, log: String) async throws {
        let history = ScenarioHistory(log: try Log(log, run: "finishing"))
        let watchdog = Watchdog("behind a kill", history)
        let options = Scenario.options(clock: FastClock())
        try await Scenario(file: file, options: options, history: history).finish()
        watchdog.end()
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        let entries = lines.compactMap { line in
            ScenarioHistory.Entry(Array(line.split(separator: " ").dropFirst()))
        }
        if entries.count != lines.count {
            say("violation: the log has \(lines.count - entries.count) bad lines")
        }
        let check = ScenarioCheck(entries: entries, wasKilled: true)
        for violation in try history.violations + check.violations(in: file) {
            say("violation: \(violation)")
        }
        for (code, count) in history.errors { say("violation: \(count) times \(code) behind a kill") }
        say("\(entries.count) entries")
    }
}

/// Ends the process if a scenario goes no further, however long it takes.
final class Watchdog: Sendable {
    /// How long without a step, in seconds: on a machine with much else to do each takes some of them.
    private static let patience = 90

    private let isOver = Flag()

    /// - Parameters:
    ///   - progress: A number that grows with each step.
    ///   - diagnosis: What is said besides.
    init(
        _ point: String,
        progress: @escaping @Sendable () -> Int,
        diagnosis: @escaping @Sendable () -> String = { "" }
    ) {
        let isOver = isOver
        @Sendable func look(after last: Int) {
            DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(Self.patience)) {
                if isOver.isSet { return }
                let steps = progress()
                guard steps == last else { return look(after: steps) }
                CrashChild.say("violation \(point): it is stuck: \(diagnosis())")
                _exit(3)
            }
        }
        look(after: progress())
    }

    convenience init(
        _ point: String,
        _ history: ScenarioHistory,
        diagnosis: @escaping @Sendable () -> String = { "" }
    ) {
        self.init(point, progress: { history.entries.count }, diagnosis: diagnosis)
    }

    func end() { isOver.set() }
}
