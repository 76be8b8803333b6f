import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport

@testable import EngineSupport
@testable import Sluice

/// What had been promised before the power went.
struct Promises {
    private(set) var stored: Set<ActionID> = []
    private(set) var ran: Set<ActionID> = []
    private(set) var settled: Set<ActionID> = []
    private(set) var effected: Set<ActionID> = []
    private(set) var hasRefused = false

    mutating func add(_ promise: PowerJournal.Promise) {
        switch promise {
        case .stored(let action): stored.insert(action)
        case .ran(let action): ran.insert(action)
        case .settled(let action): settled.insert(action)
        case .effected(let action): effected.insert(action)
        case .refused: hasRefused = true
        }
    }
}

/// The files of a broker as loss of power has left them.
struct RebuiltFile {
    /// The text of actions whose enqueue is to fail.
    static let refused = "refused"

    let contents: [String: [UInt8]]
    /// The path of the database among them.
    let original: String
    let mayUndoSettling: Bool

    /// - Parameter runs: Whether a broker is to run what is left, too.
    /// - Returns: What is not as it was promised.
    func check(_ promises: Promises, runs: Bool) async throws -> [String] {
        guard contents[original] != nil else {
            return promises.stored.isEmpty ? [] : ["lost the actions with the file"]
        }
        let place = try TemporaryFile()
        for (path, bytes) in contents {
            let suffix = path.dropFirst(original.count)
            try Data(bytes).write(to: URL(fileURLWithPath: place.path + suffix))
        }
        let found: Found
        do {
            found = try Found(place.path)
        } catch {
            return ["it is damaged: \(error)"]
        }
        let losses = breaches(promises, found)
        return runs ? try await losses + run(found.actions, in: place.path) : losses
    }

    private func breaches(_ promises: Promises, _ found: Found) -> [String] {
        var losses: [String] = []
        func expectNone(_ actions: Set<ActionID>, _ words: String) {
            if !actions.isEmpty { losses.append("\(words) \(actions.map(\.rawValue).sorted())") }
        }
        expectNone(
            promises.stored.subtracting(promises.ran).subtracting(found.actions).subtracting(found.effects),
            "lost the actions"
        )
        if !mayUndoSettling {
            expectNone(promises.settled.intersection(found.actions), "has again what was settled:")
        }
        expectNone(promises.effected.subtracting(found.effects), "lost the effects of")
        expectNone(found.effects.intersection(found.actions), "has actions and their effects:")
        if found.effects.count != found.effectCount { losses.append("has effects twice") }
        if promises.hasRefused, found.hasRefused { losses.append("has what was refused") }
        return losses
    }

    private func run(_ actions: Set<ActionID>, in path: String) async throws -> [String] {
        let done = EventLog<ActionID>()
        let broker = try await Broker(file: path)
        try broker.route("*", Note.self) { _, attempt in
            done.append(attempt.id)
            return .success
        }
        try await running(broker) { await broker.waitUntilIdle() }
        await broker.close()
        var losses: [String] = []
        if done.elements.sorted() != actions.sorted() { losses.append("ran \(done.elements) of \(actions)") }
        let left = try Found(path).actions
        if !left.isEmpty { losses.append("left \(left)") }
        return losses
    }
}

extension RebuiltFile {
    private struct Damage: Error {
        let report: String
    }

    /// What stands in a file that is intact; nothing in one that was not set up yet.
    private struct Found {
        var actions: Set<ActionID> = []
        var effects: Set<ActionID> = []
        var effectCount = 0
        var hasRefused = false

        init(_ path: String) throws {
            let connection = try Connection(path: path, mode: .write)
            defer { connection.close() }
            let report = try connection.pragma("integrity_check")
            guard report == "ok" else { throw Damage(report: report) }
            func ids(_ table: String, _ sql: String) throws -> [ActionID] {
                let look = "SELECT 1 FROM sqlite_master WHERE name = '\(table)'"
                guard try connection.prepare(look).hasRow() else { return [] }
                return try connection.prepare(sql).all { ActionID(rawValue: $0.int64(0)) }
            }
            actions = try Set(ids("sluice_actions", "SELECT id FROM sluice_actions"))
            let all = try ids("effects", "SELECT action FROM effects")
            (effects, effectCount) = (Set(all), all.count)
            let text = "SELECT id FROM sluice_actions WHERE payload LIKE '%\(RebuiltFile.refused)%'"
            hasRefused = try !ids("sluice_actions", text).isEmpty
        }
    }
}
