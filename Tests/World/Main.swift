import Foundation
import WorldDisk

/// Runs worlds from a seed on: `World SEED COUNT`, or `World SEED for SECONDS`.
///
/// `World server SEED COUNT` has a model of a server in place of a file. `World SEED 1 trace` prints what
/// happened in a world, and `keep` also keeps its file. What follows changes its plan: see
/// ``Plan/change(_:)`` and ``ServerPlan/change(_:)``. `World SEED shrink` searches the smallest plan that
/// still fails.
@main
struct Main {
    static func main() {
        orderDictionaries()
        precondition(world_prepare() == 0, "SQLite is in use before a world is made")
        var arguments = Array(CommandLine.arguments.dropFirst())
        let changes = arguments.filter { $0.contains("=") }
        arguments.removeAll { $0.contains("=") }
        let isOnServer = arguments.first == "server"
        if isOnServer { arguments.removeFirst() }
        guard arguments.count >= 2, let seed = UInt64(arguments[0]) else { usage() }
        switch (arguments[1], arguments.count) {
        case ("shrink", 2): shrink(seed, changes, isOnServer)
        case ("for", 3):
            guard let seconds = Int(arguments[2]) else { usage() }
            let end = ContinuousClock.now + .seconds(seconds)
            run(from: seed, changes, "", isOnServer) { _ in .now > end }
        default:
            guard let count = Int(arguments[1]), arguments.count < 4 else { usage() }
            run(from: seed, changes, arguments.count == 3 ? arguments[2] : "", isOnServer) { $0 == count }
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
        say("usage: World [server] SEED (COUNT [trace | keep] | for SECONDS | shrink) [part=value ...]")
        exit(2)
    }

    static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    private static func shrink(_ seed: UInt64, _ changes: [String], _ isOnServer: Bool) -> Never {
        #if PostgreSQL
        if isOnServer { Shrinker<ServerPlan>(seed: seed, changes: changes, command: ["server"]).run() }
        #endif
        Shrinker<Plan>(seed: seed, changes: changes, command: []).run()
    }

    private static func run(
        from first: UInt64,
        _ changes: [String],
        _ mode: String,
        _ isOnServer: Bool,
        until isOver: (Int) -> Bool
    ) -> Never {
        var tally = (worlds: 0, runs: 0, failed: [UInt64]())
        var disturbances = Director.Tally()
        while !isOver(tally.worlds) {
            let seed = first &+ UInt64(tally.worlds)
            let result = isOnServer ? playOnServer(seed, changes, mode) : play(seed, changes, mode)
            disturbances += result.disturbances
            (tally.worlds, tally.runs) = (tally.worlds + 1, tally.runs + result.runs)
            if !result.violations.isEmpty { tally.failed.append(seed) }
        }
        let seeds = tally.failed.map { "\($0)" }.joined(separator: ", ")
        say(
            "\(tally.worlds) worlds, \(tally.runs) runs" + (isOnServer ? "" : ", \(disturbances)")
                + (tally.failed.isEmpty ? "; all kept their promises" : "; failed: seeds \(seeds)")
        )
        exit(tally.failed.isEmpty ? 0 : 1)
    }

    private static func remove(_ folder: URL) {
        do { try FileManager.default.removeItem(at: folder) } catch { say("\(folder.path) stays: \(error)") }
    }

    private typealias Result = (violations: [String], runs: Int, disturbances: Director.Tally)

    private static func prepare<Plan: ShrinkablePlan>(
        _ seed: UInt64,
        _ changes: [String],
        _ mode: String
    ) -> (World, Plan) {
        let world = World(seed: seed)
        world.trace.isKept = mode != ""
        var plan = Plan(&world.random)
        for change in changes where !plan.change(change) { usage() }
        return (world, plan)
    }

    private static func playOnServer(_ seed: UInt64, _ changes: [String], _ mode: String) -> Result {
        #if PostgreSQL
        let (world, plan): (World, ServerPlan) = prepare(seed, changes, mode)
        defer { world.disk.unmount() }
        let director = ServerDirector(world, plan)
        world.run { await director.run() }
        let judge = director.judge
        let facts = "\(plan); \(judge.runCount) runs, \(director.server.callCount) calls"
        show(world, facts, judge.violations)
        return (judge.violations, judge.runCount, Director.Tally())
        #else
        say("server: this build has no trait PostgreSQL")
        exit(2)
        #endif
    }

    private static func show(_ world: World, _ facts: String, _ violations: [String], path: String = "/") {
        func hidden(_ text: String) -> String { path == "/" ? text : text.replacing(path, with: "the file") }
        if world.trace.isKept { say(hidden(world.trace.text)) }
        if world.trace.isKept || !violations.isEmpty {
            say("seed \(world.seed): \(facts), \(world.steps) steps, \(world.now / .seconds(1)) s")
        }
        for violation in violations.prefix(10) { say("  \(hidden(violation))") }
    }

    private static func play(_ seed: UInt64, _ changes: [String], _ mode: String) -> Result {
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
        let (world, plan): (World, Plan) = prepare(seed, changes, mode)
        defer { world.disk.unmount() }
        let judge = Judge(world, plan)
        world.pace = plan.pace
        world.director.connect()
        let director = Director(world, judge, plan, path: path)
        // Written before the world ends, by the thread that ran then.
        nonisolated(unsafe) var tally = Director.Tally()
        world.run { tally = await director.run() }
        show(world, "\(plan); \(tally), \(judge.runCount) runs", judge.violations, path: path)
        return (judge.violations, judge.runCount, tally)
    }
}
