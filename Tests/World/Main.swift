import Foundation

/// Runs worlds: `World SEED COUNT [trace | keep]`, or `World SEED for SECONDS`, from a seed on.
///
/// `trace` prints what happened, and `keep` also keeps the file.
@main
struct Main {
    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count > 2, let first = UInt64(arguments[1]) else { usage() }
        var tally = (worlds: 0, runs: 0, failed: [UInt64]())
        let begin = ContinuousClock.now
        let isOver: () -> Bool
        if arguments[2] == "for" {
            guard arguments.count == 4, let seconds = Int(arguments[3]) else { usage() }
            isOver = { begin.duration(to: .now) > .seconds(seconds) }
        } else {
            guard let count = Int(arguments[2]) else { usage() }
            isOver = { tally.worlds == count }
        }
        let keeps = arguments.last == "keep"
        let tells = keeps || arguments.last == "trace"
        while !isOver() {
            let seed = first &+ UInt64(tally.worlds)
            let judge = play(seed, tells, keeps)
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

    private static func usage() -> Never {
        say("usage: World SEED COUNT [trace | keep] | World SEED for SECONDS")
        exit(2)
    }

    private static func say(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }

    private static func play(_ seed: UInt64, _ tells: Bool, _ keeps: Bool) -> Judge {
        // In memory, where there is such a place.
        let isThere = FileManager.default.fileExists(atPath: "/dev/shm")
        let place = isThere ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let path = "\(place)/sluice-world-\(getpid())-\(seed)"
        defer {
            if keeps { say(path) } else { for end in ["", "-wal"] { unlink(path + end) } }
        }
        let world = World(seed: seed)
        let plan = Plan(&world.random)
        let judge = Judge(world, plan)
        world.pace = plan.pace
        world.director.connect()
        let director = Director(world: world, judge: judge, plan: plan, path: path)
        // Written before the world ends, by the thread that ran then.
        nonisolated(unsafe) var tally = Director.Tally()
        world.run { tally = await director.run() }
        if tells { say(world.trace.text.replacing(path, with: "the file")) }
        if tells || !judge.violations.isEmpty {
            let time = world.now / .seconds(1)
            say("seed \(seed): \(plan); \(tally), \(judge.runCount) runs, \(world.steps) steps, \(time) s")
        }
        for violation in judge.violations.prefix(10) {
            say("  \(violation.replacing(path, with: "the file"))")
        }
        return judge
    }
}
