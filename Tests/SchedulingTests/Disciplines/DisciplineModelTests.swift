import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Each discipline beside its plain reference implementation, with random commands.
@Suite("Disciplines beside a plain model", .watched(minutes: 5))
struct DisciplineModelTests {
    /// Stores on one file, or one in memory, and what they should do.
    private struct Pair {
        var stores: [Store]
        let file: TemporaryFile?
        var rules = QueueTable()
        let clock: ManualClock
        var model: ReferenceQueue
        var running: [Int64: (action: ClaimedAction, owner: Int)] = [:]
        var generator: SplitMix
        /// Whose turn it is.
        var turn = 0
        var last: Int64 = 0

        var store: Store { stores[turn] }

        mutating func chance(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
    }

    private static let disciplines: [QueueDiscipline] = [
        .firstInFirstOut, .lastInFirstOut, .concurrent(1), .concurrent(3), .passOver,
    ]

    @Test("Every claim in memory is the model's", arguments: disciplines)
    func inMemory(_ discipline: QueueDiscipline) async throws {
        try await check(discipline, processes: 0)
    }

    @Test("Every claim on a file is the model's, over restarts", arguments: disciplines)
    func onFile(_ discipline: QueueDiscipline) async throws {
        try await check(discipline, processes: 1)
    }

    @Test("Every claim of several processes is the model's", arguments: disciplines, 2...3)
    func severalProcesses(_ discipline: QueueDiscipline, processes: Int) async throws {
        try await check(discipline, processes: processes)
    }

    /// - Parameter processes: None is a store in memory.
    private func check(_ discipline: QueueDiscipline, processes: Int) async throws {
        let seed = Reliability.seed
        let clock = ManualClock()
        var pair = Pair(
            stores: [],
            file: processes == 0 ? nil : try TemporaryFile(),
            clock: clock,
            model: ReferenceQueue(discipline),
            generator: SplitMix(seed: seed)
        )
        pair.model.now = clock.wallMicroseconds
        try pair.rules.add("*", QueueOptions(discipline: discipline))
        for process in 0..<max(processes, 1) { pair.stores.append(try await open(process, pair)) }
        do {
            for round in 0..<Reliability.number("SLUICE_MODEL_ROUNDS", usually: 500, short: 120) {
                pair.turn = pair.chance(0..<pair.stores.count)
                try await step(&pair)
                if round % 61 == 60, processes > 0 { try await restart(&pair) }
            }
            try await drain(&pair)
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
        #expect(pair.model.entries.isEmpty, "seed \(seed)")
        for store in pair.stores { await store.close() }
    }

    private func open(_ process: Int, _ pair: Pair) async throws -> Store {
        var options = BrokerOptions.on(pair.clock)
        // So few that actions have their order in the file, in memory and in between.
        (options.file.writeBehind.newest, options.file.writeBehind.batch) = (4, 3)
        if pair.file != nil { options.standFor(process: Int64(process + 1)) }
        let location = pair.file.map { DatabaseFile.Location.file($0.path) } ?? .memory
        let store = try Store(location, options: options) { _ in }
        try await store.startRunning()
        return store
    }

    // MARK: - Steps

    private func step(_ pair: inout Pair) async throws {
        switch pair.chance(0..<23) {
        case 0...4: try await add(&pair)
        case 5...10: try await claim(&pair)
        case 11...15: try await settle(&pair)
        case 16:
            let running = Set(pair.running.keys)
            let waiting = pair.model.entries.map(\.id).filter { !running.contains($0) }
            guard let id = waiting.randomElement(using: &pair.generator) else { return }
            if pair.file != nil, Bool.random(using: &pair.generator) {
                try shell("DELETE FROM sluice_actions WHERE id = \(id)", pair)
            } else {
                #expect(try await pair.store.cancel(ActionID(rawValue: id)) == .done)
            }
            pair.model.remove(id)
        case 17:
            let gate = ["g", "h"][pair.chance(0..<2)]
            let isOpen = Bool.random(using: &pair.generator)
            try await pair.store.setGate(GateName(gate), isOpen: isOpen, isPersistent: true, spread: .zero)
            if isOpen { pair.model.openGates.insert(gate) } else { pair.model.openGates.remove(gate) }
            try await admit(pair)
        case 18:
            guard pair.model.discipline != .firstInFirstOut else { return }
            #expect(try await pair.store.retryNow(.exact("q")) >= 0)
            for index in pair.model.entries.indices where !pair.model.entries[index].isRunning {
                pair.model.entries[index].dueAt = nil
            }
        case 19: try await edit(&pair)
        case 20: try await moveThereAndBack(&pair)
        default:
            let seconds = pair.chance(1..<4)
            pair.clock.advance(by: .seconds(seconds))
            pair.model.now += Int64(seconds) * 1_000_000
            for store in pair.stores { try await store.renewLease() }
            try await admit(pair)
            try await sweep(&pair)
        }
    }

    /// A shell gives an action another place, whether it runs or not.
    private func edit(_ pair: inout Pair) async throws {
        // What runs is edited as often as all that waits.
        let isOfRunning = Bool.random(using: &pair.generator)
        let indices = pair.model.entries.indices.filter { !isOfRunning || pair.model.entries[$0].isRunning }
        guard pair.file != nil, let index = indices.randomElement(using: &pair.generator) else { return }
        let key = Int64(pair.chance(0..<4))
        try shell(
            "UPDATE sluice_actions SET sort_key = \(key) WHERE id = \(pair.model.entries[index].id)",
            pair
        )
        pair.model.entries[index].key = key
    }

    /// An action that does not run leaves for another queue, and comes back.
    private func moveThereAndBack(_ pair: inout Pair) async throws {
        let waiting = pair.model.entries.filter { !$0.isRunning }
        guard let entry = waiting.randomElement(using: &pair.generator) else { return }
        #expect(try await pair.store.move(ActionID(rawValue: entry.id), to: "r") == .done)
        #expect(try await pair.store.move(ActionID(rawValue: entry.id), to: "q") == .done)
    }

    /// What the broker does when something expires.
    private func sweep(_ pair: inout Pair) async throws {
        _ = try await pair.store.sweep(Admission(failure: .all(.skip), queues: pair.rules))
        pair.model.expire()
    }

    /// What the broker does when something is due.
    private func admit(_ pair: Pair) async throws { _ = try await pair.store.admitDue() }

    private func add(_ pair: inout Pair) async throws {
        let names = ["a", "b"]
        for _ in 0..<pair.chance(1..<4) {
            let key = Int64(pair.chance(0..<4))
            var entry = ReferenceQueue.Entry(id: 0, key: key)
            if pair.chance(0..<5) == 0 { entry.ownGate = ["g", "h"][pair.chance(0..<2)] }
            if pair.chance(0..<4) == 0 { entry.starts = [names[pair.chance(0..<2)]] }
            if pair.chance(0..<3) == 0 { entry.memberOf = [names[pair.chance(0..<2)]] }
            if pair.chance(0..<6) == 0 { entry.expiresAt = pair.model.now + 4_000_000 }
            let extras = DraftExtras(
                expiresAt: entry.expiresAt.map(Timestamp.init(microseconds:)),
                gate: entry.ownGate.map { GateName($0) },
                groups: ActionGroups(
                    started: entry.starts.map { GroupName($0) },
                    joined: entry.memberOf.map { GroupName($0) }
                )
            )
            let draft = ActionDraft("x", by: .integer(key), extras: extras)
            entry.id = try await pair.store.add([draft])[0].rawValue
            pair.model.entries.append(entry)
        }
    }

    private func claim(_ pair: inout Pair) async throws {
        guard !pair.model.entries.isEmpty else { return }
        let isAnyWaiting = !pair.model.entries.allSatisfy(\.isRunning)
        let expected = pair.model.claim()
        let result = try await ask(pair)
        switch (expected, result) {
        case (.run(let id), .claimed(let action)):
            guard action.receipt.action.rawValue == id else {
                throw Unexpected(description: "\(action.receipt.action) ran in place of \(id)")
            }
            pair.running[id] = (action, pair.turn)
        case (.empty, .empty), (.waiting, .waiting), (.gated, .gated), (.taken, .taken),
            (.taken, .takenElsewhere):
            break
        // Where nothing waits in its order, first in first out does not look who has the slot.
        case (.taken, .empty) where !isAnyWaiting && pair.model.discipline == .firstInFirstOut: break
        default: throw Unexpected(description: "\(result) instead of \(expected)")
        }
    }

    private func ask(_ pair: Pair) async throws -> ClaimResult {
        let rules = QueueRules(discipline: pair.model.discipline)
        while true {
            let result = try await pair.store.claim(by: rules)
            if case .unfinished = result { continue }
            return result
        }
    }

    private func settle(_ pair: inout Pair) async throws {
        guard let id = pair.running.keys.sorted().randomElement(using: &pair.generator),
            let (action, owner) = pair.running.removeValue(forKey: id)
        else { return }
        let store = pair.stores[owner]
        let expiresAt = pair.model.entries.first { $0.id == id }?.expiresAt
        // A claim may still find what expires while it runs, and a sweep no longer.
        let isExpiring = expiresAt.map { $0 <= pair.model.now } ?? false
        switch isExpiring ? 8 : pair.chance(0..<10) {
        case 0:
            try await store.settle(action, .retry(after: .zero, error: "e"))
            pair.model.giveBack(id, after: 0)
        case 1, 2:
            let seconds = pair.chance(1..<5)
            try await store.settle(action, .retry(after: .seconds(seconds), error: "e"))
            pair.model.giveBack(id, after: Int64(seconds) * 1_000_000)
        case 3:
            try await store.settle(action, .release(after: .seconds(1)))
            pair.model.giveBack(id, after: 1_000_000)
        case 4:
            try await store.settle(action, .stop)
            pair.model.giveBack(id, after: 0, hasFailed: false)
        case 5 where !pair.model.openGates.contains("g"):
            try await store.settle(action, .retry(after: .seconds(1), untilOpen: "g", error: "e"))
            pair.model.giveBack(id, after: 0, gate: "g")
        case 6:
            try await store.settle(action, .fail(.failed, .skip, error: "e"))
            pair.model.remove(id, hasFailed: true)
        case 7:
            try await store.settle(action, .fail(.failed, .failQueue, error: "e"))
            pair.model.failAll(id)
        default:
            #expect(try await store.settle(action, .success).result == .settled)
            pair.model.remove(id)
        }
    }

    /// One process dies and begins again.
    private func restart(_ pair: inout Pair) async throws {
        await pair.store.close()
        let gone = "SET process = 'another start-of-the machine' WHERE pid = \(pair.turn + 1)"
        try shell("UPDATE sluice_runner_rows \(gone)", pair)
        pair.stores[pair.turn] = try await open(pair.turn, pair)
        for (id, run) in pair.running where run.owner == pair.turn {
            pair.running[id] = nil
            pair.model.giveBack(id, after: 0, hasFailed: false)
        }
        // A restart ends the waits of what was released; the model's are told by the file.
        for index in pair.model.entries.indices {
            let id = pair.model.entries[index].id
            let waits = try query(
                "SELECT next_attempt_at_us FROM sluice_state_rows WHERE action_id = \(id)",
                pair
            )
            pair.model.entries[index].dueAt = waits
        }
        try await sweep(&pair)
    }

    private func drain(_ pair: inout Pair) async throws {
        for gate in ["g", "h"] {
            try await pair.store.setGate(GateName(gate), isOpen: true, isPersistent: true, spread: .zero)
            pair.model.openGates.insert(gate)
        }
        pair.clock.advance(by: .seconds(10))
        pair.model.now += 10_000_000
        try await admit(pair)
        try await sweep(&pair)
        while !pair.model.entries.isEmpty {
            try await claim(&pair)
            guard let (id, run) = pair.running.first else {
                throw Unexpected(description: "\(pair.model.entries.count) are left and none starts")
            }
            pair.running[id] = nil
            try await pair.stores[run.owner].settle(run.action, .success)
            pair.model.remove(id)
        }
    }

    // MARK: - SQL by another connection

    private func connect(_ pair: Pair) throws -> Connection {
        let connection = try Connection(path: #require(pair.file).path, mode: .write)
        connection.setBusyTimeout(patience)
        return connection
    }

    private func shell(_ sql: String, _ pair: Pair) throws { try connect(pair).execute(sql) }

    private func query(_ sql: String, _ pair: Pair) throws -> Int64? {
        try connect(pair).prepare(sql).first { $0.optionalInt64(0) } ?? nil
    }
}

extension Store {
    /// Claims what is next in a queue by rules that hold for all queues.
    func claim(by rules: QueueRules, _ name: QueueName = "q") async throws -> ClaimResult {
        try await claim(
            ClaimRequest(queue: queueID(name)),
            by: Admission(queues: QueueTable(rules))
        )
    }
}
