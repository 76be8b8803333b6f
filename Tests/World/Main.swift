import Foundation
import WorldDisk

/// Runs worlds from a seed on: `World SEED COUNT`, or `World SEED for SECONDS`.
///
/// `World SEED 1 trace` prints what happened in a world, and `keep` also keeps its file. What follows changes
/// its plan: see ``Plan/change(_:)``. `World SEED shrink` searches the smallest plan that still fails.
@main
struct Main {
    static func main() {
        orderDictionaries()
        precondition(world_prepare() == 0, "SQLite is in use before a world is made")
        var arguments = Array(CommandLine.arguments.dropFirst())
        let changes = arguments.filter { $0.contains("=") }
        arguments.removeAll { $0.contains("=") }
        guard arguments.count >= 2, let seed = UInt64(arguments[0]) else { usage() }
        switch (arguments[1], arguments.count) {
        case ("shrink", 2): Shrinker(seed: seed, changes: changes).run()
        case ("for", 3):
            guard let seconds = Int(arguments[2]) else { usage() }
            let end = ContinuousClock.now + .seconds(seconds)
            run(from: seed, changes, "") { _ in .now > end }
        default:
            guard let count = Int(arguments[1]), arguments.count < 4 else { usage() }
            run(from: seed, changes, arguments.count == 3 ? arguments[2] : "") { $0 == count }
        }
    }

    /// Begins again, if dictionaries have another order each time: a seed gives the same steps with one.
    private static func orderDictionaries() {
        let name = "SWIFT_DETERMINISTIC_HASHING"
        guard getenv(name) == nil else { return }
        setenv(name, "1", 1)
        execv("/proc/self/exe", CommandLine.unsafeArgv)
        preconditionFailure("the program cannot begin again: error \(errno)")
    }

    static func usage() -> Never {
        say("usage: World SEED (COUNT [trace | keep] | for SECONDS | shrink) [part=value ...]")
        exit(2)
    }

    static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    private static func run(
        from first: UInt64,
        _ changes: [String],
        _ mode: String,
        until isOver: (Int) -> Bool
    ) -> Never {
        var tally = (worlds: 0, runs: 0, failed: [UInt64]())
        while !isOver(tally.worlds) {
            let seed = first &+ UInt64(tally.worlds)
            let judge = play(seed, changes, mode)
            (tally.worlds, tally.runs) = (tally.worlds + 1, tally.runs + judge.runCount)
            if !judge.violations.isEmpty { tally.failed.append(seed) }
        }
        let seeds = tally.failed.map { "\($0)" }.joined(separator: ", ")
        say(
            "\(tally.worlds) worlds, \(tally.runs) runs"
                + (tally.failed.isEmpty ? "; all kept their promises" : "; failed: seeds \(seeds)")
        )
        exit(tally.failed.isEmpty ? 0 : 1)
    }

    private static func remove(_ folder: URL) {
        do { try FileManager.default.removeItem(at: folder) } catch { say("\(folder.path) stays: \(error)") }
    }

    private static func play(_ seed: UInt64, _ changes: [String], _ mode: String) -> Judge {
        // In memory, where there is such a place.
        let isThere = FileManager.default.fileExists(atPath: "/dev/shm")
        let place = isThere ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let folder = URL(fileURLWithPath: "\(place)/sluice-world-\(getpid())-\(seed)")
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch { preconditionFailure("no folder for a world: \(error)") }
        let path = folder.appending(path: "file").path
        defer {
            if mode == "keep" { say(path) } else { remove(folder) }
        }
        let world = World(seed: seed)
        world.trace.isKept = mode != ""
        defer { world.disk.unmount() }
        var plan = Plan(&world.random)
        for change in changes where !plan.change(change) { usage() }
        let judge = Judge(world, plan)
        world.pace = plan.pace
        world.director.connect()
        let director = Director(world: world, judge: judge, plan: plan, path: path)
        // Written before the world ends, by the thread that ran then.
        nonisolated(unsafe) var tally = Director.Tally()
        world.run { tally = await director.run() }
        if world.trace.isKept { say(world.trace.text.replacing(path, with: "the file")) }
        if world.trace.isKept || !judge.violations.isEmpty {
            let time = world.now / .seconds(1)
            say("seed \(seed): \(plan); \(tally), \(judge.runCount) runs, \(world.steps) steps, \(time) s")
        }
        for violation in judge.violations.prefix(10) {
            say("  \(violation.replacing(path, with: "the file"))")
        }
        return judge
    }
}
