import Foundation

/// Makes the plan of a world that fails smaller, for as long as it fails.
///
/// Each try is a process of its own, since a world may end its process.
struct Shrinker {
    let seed: UInt64
    /// What the plan has been changed to.
    let changes: [String]

    func run() -> Never {
        var random = Chance(seed)
        var plan = Plan(&random)
        for change in changes where !plan.change(change) { Main.usage() }
        guard fails(plan) else {
            Main.say("the world of seed \(seed) does not fail")
            exit(2)
        }
        while let smaller = smaller(plan) { plan = smaller }
        Main.say("World \(seed) 1 trace " + plan.changes.joined(separator: " "))
        exit(0)
    }

    private func smaller(_ plan: Plan) -> Plan? {
        for change in plan.smaller {
            var other = plan
            if other.change(change), fails(other) {
                Main.say(change)
                return other
            }
        }
        return nil
    }

    private func fails(_ plan: Plan) -> Bool {
        let world = Process()
        world.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        world.arguments = ["\(seed)", "1"] + plan.changes
        (world.standardOutput, world.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do { try world.run() } catch {
            Main.say("the world cannot be run: \(error)")
            exit(2)
        }
        world.waitUntilExit()
        return world.terminationStatus != 0
    }
}
