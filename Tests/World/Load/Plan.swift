import Sluice

/// What a seed makes of a world: how many of what there are, and what may go wrong in it.
struct Plan: ShrinkablePlan, CustomStringConvertible {
    var processes: Int
    /// The role of each queue.
    var roles: [Role]
    var actions: Int
    /// Which faults there are, and for how long the world is disturbed, in seconds.
    var faults: Set<Fault>
    var disturbance: Int
    var acts: Set<Act>
    /// Calls of the disk between two steps, on average.
    var pace: Int
    /// Whether each process has a pid namespace of its own, and whether they are told of writes.
    var areContained: Bool
    var haveWatches: Bool
    /// Whether clocks jump by an hour.
    var jumpsFar: Bool
    /// Whether the application opens a connection for each transaction.
    var opensOften: Bool
    /// How many handlers a process runs at a time.
    var concurrency: Int

    enum Fault: String, CaseIterable {
        case kill, killInCall, freeze, freezeInCall, longFreeze, losePower
        case clock, failSyncs, failSyncsLong, fullDisk, suspend

        /// Those that may be parts of one misfortune.
        static let kinds: [[Fault]] = [
            [.failSyncs, .failSyncsLong, .fullDisk, .suspend],
            [.kill, .killInCall, .losePower, .failSyncs, .clock],
            [.freeze, .freezeInCall, .longFreeze, .clock, .kill],
        ]
    }

    /// What is done to special lines, and to queues.
    enum Act: String, CaseIterable {
        case schedule, expire, closeGate, fail, exhaust, park, hang, die
        case hold, cancel, move, front, edit, take, clear, skip, retryNow, runNow, backUp, ask
    }

    init(_ chance: inout Chance) {
        processes = [1, 1, 2, 2, 3, 4][chance.below(6)]
        let count = [1, 2, 4, 12][chance.below(4)]
        let isPlain = chance.percent(25)
        roles = (0..<count).map { _ in isPlain ? .fifo : Role.allCases[chance.below(Role.allCases.count)] }
        actions = 200
        (faults, acts) = ([], [])
        // Faults of one kind meet each other more often than all do.
        let kind = chance.pick(Fault.kinds) ?? []
        switch chance.below(10) {
        case 0: break
        case 1...5: for fault in kind where chance.percent(60) { faults.insert(fault) }
        default: for fault in Fault.allCases where chance.percent(30) { faults.insert(fault) }
        }
        let share = [0, 30, 60][chance.below(3)]
        for act in Act.allCases where chance.percent(share) { acts.insert(act) }
        if faults.contains(.losePower), !faults.isDisjoint(with: [.failSyncs, .failSyncsLong]) {
            // G1 does not cover who opens the file beside others when a sync of theirs has failed.
            processes = 1
        }
        disturbance = 10 + chance.below(40)
        pace = [4, 12, 40, 200][chance.below(4)]
        opensOften = chance.percent(5)
        concurrency = chance.percent(25) ? 2 : 64
        (areContained, haveWatches) = (chance.percent(40), chance.percent(70))
        // Times of actions by a clock that is an hour off are an hour off.
        jumpsFar = acts.isDisjoint(with: [.schedule, .expire])
    }

    /// Changes a part of it: `actions=20`, `queues=fifo,wide`, `faults=kill,freeze`, `acts=`.
    ///
    /// - Returns: Whether there is such a part, and such a value.
    mutating func change(_ text: String) -> Bool {
        guard let (name, value) = Self.parts(of: text) else { return false }
        let words = value.split(separator: ",").map(String.init)
        switch name {
        case "actions", "processes", "seconds":
            guard let number = Int(value), number > 0 else { return false }
            switch name {
            case "actions": actions = number
            case "processes": processes = number
            default: disturbance = number
            }
            return true
        case "queues":
            roles = words.compactMap { Role(rawValue: $0) }
            return roles.count == words.count && !roles.isEmpty
        case "faults":
            faults = Set(words.compactMap { Fault(rawValue: $0) })
            return faults.count == words.count
        case "acts":
            acts = Set(words.compactMap { Act(rawValue: $0) })
            return acts.count == words.count
        default: return false
        }
    }

    var smaller: [String] {
        var changes: [String] = []
        if actions > 1 { changes.append("actions=\(actions / 2)") }
        if processes > 1 { changes.append("processes=\(processes - 1)") }
        if roles.count > 1 { changes += leavingOut("queues", roles) }
        changes += leavingOut("faults", faults.sorted { $0.rawValue < $1.rawValue })
        changes += leavingOut("acts", acts.sorted { $0.rawValue < $1.rawValue })
        if disturbance > 1 { changes.append("seconds=\(disturbance / 2)") }
        return changes
    }

    var changes: [String] {
        [
            "actions=\(actions)", "processes=\(processes)", "seconds=\(disturbance)",
            "queues=\(roles.map(\.rawValue).joined(separator: ","))",
            "faults=\(faults.map(\.rawValue).sorted().joined(separator: ","))",
            "acts=\(acts.map(\.rawValue).sorted().joined(separator: ","))",
        ]
    }

    var notes: [Note] { (0..<actions).map { Note($0, inQueue: $0 % roles.count, roles[$0 % roles.count]) } }
    /// Whether all clocks go alike.
    var hasOneClock: Bool { !faults.contains(.clock) }
    /// Whether nothing is ever in the way of a commit for as long as commits wait.
    var letsCommit: Bool {
        faults.isDisjoint(with: [.failSyncs, .failSyncsLong, .fullDisk, .suspend, .longFreeze, .losePower])
    }
    /// Whether everybody sees which process has died, and no count of that is lost.
    var countsDeaths: Bool { !areContained && !faults.contains(.losePower) }
    /// Whether a handler begins as soon as it is claimed.
    var isPrompt: Bool { faults.isDisjoint(with: [.freeze, .freezeInCall, .longFreeze, .suspend]) }

    var description: String {
        func names(_ things: some Sequence<String>) -> String { things.sorted().joined(separator: ", ") }
        return "\(processes) processes, queues: \(roles.map(\.rawValue).joined(separator: " ")), "
            + "\(actions) actions, \(disturbance) s of \(names(faults.map(\.rawValue))), "
            + "acts: \(names(acts.map(\.rawValue)))"
            + (areContained ? ", contained" : "") + (haveWatches ? ", watches" : "")
            + (jumpsFar ? ", far jumps" : "") + (concurrency < 64 ? ", \(concurrency) at a time" : "")
    }
}
