import Foundation

/// A plan of which a smaller one may be made.
protocol ShrinkablePlan {
    init(_ chance: inout Chance)
    /// Changes a part of it, as a command says; returns whether there is such a part, and such a value.
    mutating func change(_ text: String) -> Bool
    /// The changes of which one at a time makes it smaller.
    var smaller: [String] { get }
    /// All that ``change(_:)`` can make of another plan to have this one.
    var changes: [String] { get }
}

extension ShrinkablePlan {
    /// The name and the value of a change such as `actions=20`.
    static func parts(of text: String) -> (name: String, value: String)? {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }

    /// The changes that leave one out of a list.
    func leavingOut(_ name: String, _ all: [some RawRepresentable<String>]) -> [String] {
        all.indices.map { index in
            var left = all.map(\.rawValue)
            left.remove(at: index)
            return "\(name)=\(left.joined(separator: ","))"
        }
    }
}

/// Makes the plan of a world that fails smaller, for as long as it fails.
///
/// Each try is a process of its own, since a world may end its process.
struct Shrinker<Plan: ShrinkablePlan> {
    let seed: UInt64
    /// What the plan has been changed to.
    let changes: [String]
    /// What commands of such worlds begin with.
    let command: [String]

    func run() -> Never {
        var random = Chance(seed)
        var plan = Plan(&random)
        for change in changes where !plan.change(change) { Main.usage() }
        guard fails(plan) else {
            Main.say("the world of seed \(seed) does not fail")
            exit(2)
        }
        while let smaller = smaller(plan) { plan = smaller }
        let words = ["World"] + command + ["\(seed)", "1", "trace"] + plan.changes
        Main.say(words.joined(separator: " "))
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
        world.arguments = command + ["\(seed)", "1"] + plan.changes
        (world.standardOutput, world.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
        do { try world.run() } catch {
            Main.say("the world cannot be run: \(error)")
            exit(2)
        }
        world.waitUntilExit()
        return world.terminationStatus != 0
    }
}
