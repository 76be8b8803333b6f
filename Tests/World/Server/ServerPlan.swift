#if PostgreSQL
/// What a seed makes of a world with a server.
struct ServerPlan: ShrinkablePlan, CustomStringConvertible {
    enum Fault: String, CaseIterable {
        /// Of processes.
        case kill, freeze, longFreeze
        /// Of their network: a cut of connections, for seconds or for longer than a lease, loss, delay, and a
        /// pooler that has lost its own connection, and says so.
        case cut, cutOff, loss, delay, slowLink, pooler
        /// Of the server and clocks.
        case restart, clock, lock

        /// Those that may be parts of one misfortune.
        static let kinds: [[Fault]] = [
            [.cutOff, .longFreeze, .delay], [.kill, .cut, .restart, .loss], [.freeze, .lock, .clock, .delay],
            [.slowLink, .cut, .pooler],
        ]
    }

    /// What handlers do besides taking a moment.
    enum Habit: String, CaseIterable { case takesLong, ignoresCancellation, retries, fails, isUnstorable }

    var processes: Int
    var queues: Int
    var actions: Int
    var faults: Set<Fault> = []
    var habits: Set<Habit> = []
    /// For how many seconds there are faults.
    var disturbance: Int
    /// How many handlers a process runs at a time.
    var concurrency: Int
    /// After how many claims a worker registers again, if there is a limit.
    var claims: Int?
    /// Whether idle workers look every ten seconds, so that only the doorbell is quick.
    var pollsRarely: Bool

    init(_ chance: inout Chance) {
        processes = [1, 2, 2, 3, 4][chance.below(5)]
        queues = [1, 3, 12][chance.below(3)]
        actions = 120
        // Faults of one kind meet each other more often than all do.
        let kind = chance.pick(Fault.kinds) ?? []
        switch chance.below(10) {
        case 0: break
        case 1...6: for fault in kind where chance.percent(60) { faults.insert(fault) }
        default: for fault in Fault.allCases where chance.percent(30) { faults.insert(fault) }
        }
        for habit in Habit.allCases where chance.percent(50) { habits.insert(habit) }
        disturbance = 20 + chance.below(80)
        claims = disturbance % 4 == 0 ? 20 : nil
        concurrency = [2, 8, 64][chance.below(3)]
        pollsRarely = chance.percent(50)
    }

    /// Changes a part of it: `processes=2`, `faults=kill,cut`, `habits=`.
    ///
    /// - Returns: Whether there is such a part, and such a value.
    mutating func change(_ text: String) -> Bool {
        guard let (name, value) = Self.parts(of: text) else { return false }
        let words = value.split(separator: ",").map(String.init)
        switch name {
        case "faults":
            faults = Set(words.compactMap { Fault(rawValue: $0) })
            return faults.count == words.count
        case "habits":
            habits = Set(words.compactMap { Habit(rawValue: $0) })
            return habits.count == words.count
        case "processes", "queues", "actions", "seconds", "claims":
            guard let number = Int(value), number > 0 else { return false }
            switch name {
            case "claims": claims = number
            case "processes": processes = number
            case "queues": queues = number
            case "actions": actions = number
            default: disturbance = number
            }
            return true
        default: return false
        }
    }

    var smaller: [String] {
        var changes: [String] = []
        if actions > 1 { changes.append("actions=\(actions / 2)") }
        if processes > 1 { changes.append("processes=\(processes - 1)") }
        if queues > 1 { changes.append("queues=\(queues / 2)") }
        changes += leavingOut("faults", faults.sorted { $0.rawValue < $1.rawValue })
        changes += leavingOut("habits", habits.sorted { $0.rawValue < $1.rawValue })
        if disturbance > 1 { changes.append("seconds=\(disturbance / 2)") }
        return changes
    }

    var changes: [String] {
        [
            "actions=\(actions)", "processes=\(processes)", "queues=\(queues)", "seconds=\(disturbance)",
            "faults=\(faults.map(\.rawValue).sorted().joined(separator: ","))",
            "habits=\(habits.map(\.rawValue).sorted().joined(separator: ","))",
        ]
    }

    /// The route of a queue with an uneven number has a limit.
    func queue(of line: Int) -> String {
        let number = line % queues
        return number % 2 == 1 ? "limited/\(number)" : "free/\(number)"
    }

    static let limit = 2

    var description: String {
        func names(_ things: some Sequence<String>) -> String { things.sorted().joined(separator: ", ") }
        return "\(processes) processes, \(queues) queues, \(actions) actions, \(disturbance) s of "
            + "\(names(faults.map(\.rawValue))), handlers: \(names(habits.map(\.rawValue))), "
            + "\(concurrency) at a time" + (claims.map { ", \($0) claims" } ?? "")
            + (pollsRarely ? ", polls rarely" : "")
    }
}
#endif
