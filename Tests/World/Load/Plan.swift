import Sluice

/// What a seed makes of a world: how many of what there are, and what may go wrong in it.
struct Plan: CustomStringConvertible {
    var processes: Int
    var queues: Int
    var actions: Int
    /// Which faults there are, and for how long the world is disturbed, in seconds.
    var faults: Set<Fault>
    var disturbance: Int
    /// Calls of the disk between two steps, on average.
    var pace: Int

    enum Fault: String, CaseIterable {
        case kill, killInCall, freeze, freezeInCall, longFreeze, losePower
        case clock, failSyncs, fullDisk, suspend
    }

    init(_ chance: inout Chance, actions: Int = 200) {
        processes = 1 + chance.below(4)
        queues = [1, 2, 4, 12][chance.below(4)]
        self.actions = actions
        faults = []
        for fault in Fault.allCases where chance.percent(40) { faults.insert(fault) }
        disturbance = 20 + chance.below(60)
        pace = [4, 12, 40, 200][chance.below(4)]
    }

    var description: String {
        "\(processes) processes, \(queues) queues, \(actions) actions, \(disturbance) s of "
            + faults.map(\.rawValue).sorted().joined(separator: ", ")
    }
}
