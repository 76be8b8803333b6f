import Foundation
import Sluice
import SluiceSQLite

/// What a scenario's history and its file must be in the end.
struct ScenarioCheck {
    let entries: [ScenarioHistory.Entry]
    /// Whether the process was killed on the way: what ran then runs again.
    let wasKilled: Bool

    /// What is in the file.
    private struct Contents {
        let integrity: String
        let effects: [Int]
        let dead: [Int]
        let left: [Int]

        init(_ path: String) throws {
            let connection = try Connection(path: path, mode: .write)
            defer { connection.close() }
            func numbers(_ sql: String) throws -> [Int] { try connection.prepare(sql).all { $0.int(0) } }
            // Killed before the first one, there are none.
            try connection.execute("CREATE TABLE IF NOT EXISTS effects (number INTEGER NOT NULL)")
            integrity = try connection.pragma("integrity_check")
            effects = try numbers("SELECT number FROM effects")
            dead = try numbers("SELECT payload ->> 'number' FROM sluice_dead")
            left = try numbers("SELECT payload ->> 'number' FROM sluice_actions")
        }
    }

    /// - Returns: What is not as it was promised.
    func violations(in path: String) throws -> [String] {
        let contents = try Contents(path)
        var found: [String] = []
        if contents.integrity != "ok" { found.append("damaged: \(contents.integrity)") }
        if !contents.left.isEmpty { found.append("left in the file: \(contents.left)") }
        found += fates(contents) + order() + endings()
        return found
    }

    /// Each action that was stored has come to its end once; none that was refused has.
    private func fates(_ contents: Contents) -> [String] {
        var lanes: [Int: String] = [:]
        var certain: Set<Int> = []
        var open: Set<Int> = []
        var runs: Set<Int> = []
        for entry in entries {
            switch entry {
            case .tries(let number, let lane):
                lanes[number] = lane
                open.insert(number)
            case .stored(let number): certain.insert(number)
            case .refused(let number): open.remove(number)
            case .runs(let number, _, _, _): runs.insert(number)
            case .unknown, .ends, .gone: continue
            }
        }
        var found: [String] = []
        func compare(_ name: String, _ numbers: [Int], to fate: Step.Fate) {
            let all = Set(lanes.keys.filter { Step.fate(inLane: lanes[$0] ?? "") == fate })
            let followUps = Set(numbers.filter { $0 >= Step.followUp })
            let (real, lost) = (Set(numbers), certain.intersection(all).subtracting(numbers))
            if real.count != numbers.count { found.append("\(name) twice: \(numbers.sorted())") }
            if !lost.isEmpty { found.append("\(name) lost: \(lost.sorted())") }
            let wrong = real.subtracting(all.intersection(certain.union(open))).subtracting(followUps)
            if !wrong.isEmpty { found.append("\(name) of what was not stored: \(wrong.sorted())") }
        }
        compare("effects", contents.effects, to: .effect)
        compare("dead letters", contents.dead, to: .dead)
        let followed = contents.effects.filter { number in
            Step(number: number, lane: lanes[number] ?? "").next != nil
        }
        let expected = Set(followed.map { $0 + Step.followUp })
        let plain = Array(runs.filter { $0 >= Step.followUp || Step.fate(inLane: lanes[$0] ?? "") == .plain })
        compare("runs", plain, to: .plain)
        let followUps = Set(plain.filter { $0 >= Step.followUp })
        if followUps != expected { found.append("follow-ups \(followUps.sorted()) of \(expected.sorted())") }
        return found
    }

    /// In a lane handlers come one at a time, in the order of the actions' numbers.
    private func order() -> [String] {
        var found: [String] = []
        var running: [String: Int] = [:]
        var last: [String: Int64] = [:]
        var actions: [Int: Int64] = [:]
        var attempts: Set<[Int]> = []
        for entry in entries {
            switch entry {
            case .runs(let number, let lane, let action, let attempt):
                if let other = running[lane], !wasKilled { found.append("\(number) overlaps \(other)") }
                if action < last[lane] ?? 0 {
                    found.append("\(number) runs behind action \(last[lane] ?? 0)")
                }
                if actions[number] ?? action != action { found.append("\(number) was stored twice") }
                if !attempts.insert([number, attempt]).inserted, !wasKilled {
                    found.append("\(number) has run attempt \(attempt) twice")
                }
                (running[lane], last[lane], actions[number]) = (number, action, action)
            case .ends(let number):
                for lane in running.filter({ $0.value == number }).keys { running[lane] = nil }
            default: continue
            }
        }
        return found
    }

    /// Nothing runs again of which the caller was told that it is settled.
    private func endings() -> [String] {
        var gone: Set<Int> = []
        var found: [String] = []
        for entry in entries {
            switch entry {
            case .gone(let number): gone.insert(number)
            case .runs(let number, _, _, _) where gone.contains(number):
                found.append("\(number) runs again behind its end")
            default: continue
            }
        }
        return found
    }
}
