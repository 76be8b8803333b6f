import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The queue as a data structure beside the plainest model of it: a sorted list.
@Suite("Cute: the queue beside a model", .watched) struct CuteQueueModelTests {
    /// What the model holds of an action.
    private struct Entry {
        var id: Int64
        var key: Int64
        /// When it gets its place; `nil`: it has it.
        var due: Timestamp?
        var isRunning = false
    }

    private struct Pair {
        /// The store whose queue is used as data.
        var mine: StoreFixture
        /// One of another process, which runs it.
        let runner: StoreFixture?
        var entries: [Entry] = []
        var taken: [StoredAction] = []
        var running: ClaimedAction?
        var generator: SplitMix

        /// What waits, in its order.
        var waiting: [Entry] {
            let now = mine.clock.now
            return entries.filter { !$0.isRunning && ($0.due.map { $0 <= now } ?? true) }
                .sorted { ($0.key, $0.id) < ($1.key, $1.id) }
        }

        mutating func random(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }

        /// What is due has its place from the moment that somebody takes something out.
        mutating func admit() {
            for index in entries.indices where entries[index].due.map({ $0 <= mine.clock.now }) == true {
                entries[index].due = nil
            }
        }

        mutating func remove(_ ids: some Sequence<Int64>) {
            let ids = Set(ids)
            entries.removeAll { ids.contains($0.id) }
        }
    }

    @Test(
        "Cute: it holds what the model holds, whatever is added, taken, put back, run, edited and restarted",
        arguments: ["nobody", "this process", "another process"],
        [(1, 1), (3, 2), (40, 20), (65_536, 16_384)]
    )
    func againstModel(runner: String, limits: (newest: Int, batch: Int)) async throws {
        let seed = Reliability.seed
        let adjust = { @Sendable (options: inout BrokerOptions) in
            options.file.writeBehind.newest = limits.newest
            options.file.writeBehind.batch = limits.batch
        }
        let (file, clock) = (try TemporaryFile(), ManualClock())
        func open() async throws -> StoreFixture {
            try await .process(
                1,
                on: file,
                clock: clock,
                isRunning: runner == "this process",
                adjust: adjust
            )
        }
        var other: StoreFixture?
        if runner == "another process" {
            other = try await .process(2, on: file, clock: clock, adjust: adjust)
        }
        var pair = Pair(mine: try await open(), runner: other, generator: SplitMix(seed: seed))
        do {
            for round in 0..<400 {
                try await step(&pair)
                if round % 5 == 4 { try await compare(pair, seed) }
                if round % 83 == 82 {
                    try await giveUp(&pair)
                    if runner == "this process" { try await pair.mine.store.stopRunning() }
                    await pair.mine.store.close()
                    pair.mine = try await open()
                }
            }
            try await giveUp(&pair)
            clock.advance(by: .seconds(1_000))
            pair.admit()
            let expected = pair.waiting.map(\.id)
            let rest = try await pair.mine.store.takeNext(of: "q", limit: 10_000) { .success($0) }
            #expect(rest.outputs.map(\.id.rawValue) == expected, "seed \(seed)")
            #expect(try await pair.mine.store.waitingCount(in: "q") == 0, "seed \(seed)")
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
        await pair.mine.store.close()
        await other?.store.close()
    }

    private func compare(_ pair: Pair, _ seed: UInt64) async throws {
        let store = pair.mine.store
        let expected = pair.waiting.map(\.id)
        let all = try await store.waiting(in: "q", from: .front, limit: 1_000)
        #expect(all.map(\.id.rawValue) == expected, "seed \(seed)")
        #expect(all.map(\.key) == pair.waiting.map { .integer($0.key) }, "seed \(seed)")
        #expect(try await store.waitingCount(in: "q") == expected.count, "seed \(seed)")
        guard all.count > 2 else { return }
        let behind = try await store.waiting(in: "q", from: .behind(all[1].place), limit: 1)
        #expect(behind.map(\.id) == [all[2].id], "seed \(seed)")
    }

    private func step(_ pair: inout Pair) async throws {
        let store = pair.mine.store
        let key = Int64(pair.random(0..<6))
        switch pair.random(0..<20) {
        case 0...4:
            let drafts = (0..<pair.random(1..<4)).map { _ in ActionDraft("x", by: .integer(key)) }
            pair.entries += try await store.add(drafts).map { Entry(id: $0.rawValue, key: key) }
        case 5: try await addByShell(key, &pair)
        case 6:
            let due = pair.mine.clock.now + .seconds(pair.random(1..<10))
            let id = try await store.add("x", by: .integer(key), notBefore: due)
            pair.entries.append(Entry(id: id.rawValue, key: key, due: due))
        // Longer than a lease altogether.
        case 7: pair.mine.clock.advance(by: .seconds(2))
        case 8...11:
            let count = pair.random(1..<4)
            pair.admit()
            let expected = pair.waiting.prefix(count).map(\.id)
            let taking = try await store.takeNext(of: "q", limit: count) { .success($0) }
            #expect(taking.outputs.map(\.id.rawValue) == expected)
            pair.remove(expected)
            pair.taken += taking.outputs
        case 12...13: try await putBack(&pair)
        case 14...16: try await run(&pair)
        case 17...18: try await change(key, &pair)
        default:
            guard pair.random(0..<6) == 0 else { return }
            let last = try await store.lastActionID()
            let count = try await store.clear("q", through: last)
            #expect(count == pair.entries.count { !$0.isRunning })
            pair.entries.removeAll { !$0.isRunning }
        }
    }

    /// Puts some of what was taken out back.
    private func putBack(_ pair: inout Pair) async throws {
        guard !pair.taken.isEmpty else { return }
        let count = min(pair.random(1..<3), pair.taken.count)
        let chosen = Array(pair.taken.shuffled(using: &pair.generator).prefix(count))
        pair.taken.removeAll { action in chosen.contains { $0.id == action.id } }
        pair.admit()
        for action in chosen.reversed() {
            let id = action.id.rawValue
            guard case .integer(var key) = action.key else { return }
            if let first = pair.waiting.first, (first.key, first.id) < (key, id) {
                key = id < first.id ? first.key : first.key - 1
            }
            pair.entries.append(Entry(id: id, key: key))
        }
        #expect(try await pair.mine.store.putBack(chosen, to: "q") == chosen.map(\.id))
    }

    /// Runs the head, or settles what runs.
    private func run(_ pair: inout Pair) async throws {
        if let action = pair.running {
            let runner = pair.runner ?? pair.mine
            let isDone = pair.random(0..<2) == 0
            try await runner.store.settle(action, isDone ? .success : .retry(after: .zero, error: "e"))
            pair.running = nil
            if isDone {
                pair.remove([action.receipt.action.rawValue])
            } else {
                for index in pair.entries.indices { pair.entries[index].isRunning = false }
            }
            return
        }
        let runner = pair.runner ?? pair.mine
        guard runner.store.runners.epoch != nil else { return }
        _ = try await runner.store.admitScheduled()
        pair.admit()
        guard let head = pair.waiting.first else { return }
        let action = try await runner.store.take("q")
        #expect(action.receipt.action.rawValue == head.id)
        for index in pair.entries.indices where pair.entries[index].id == head.id {
            pair.entries[index].isRunning = true
        }
        pair.running = action
    }

    /// Nothing runs any more.
    private func giveUp(_ pair: inout Pair) async throws {
        guard let action = pair.running else { return }
        try await (pair.runner ?? pair.mine).store.settle(action, .stop)
        pair.running = nil
        for index in pair.entries.indices { pair.entries[index].isRunning = false }
    }

    /// Cancels, moves or edits something.
    private func change(_ key: Int64, _ pair: inout Pair) async throws {
        let store = pair.mine.store
        guard let entry = pair.waiting.randomElement(using: &pair.generator) else { return }
        let id = ActionID(rawValue: entry.id)
        switch pair.random(0..<4) {
        case 0:
            #expect(try await store.cancel(id, in: "other") == .missing)
            #expect(try await store.cancel(id, in: "q") == .done)
            pair.remove([entry.id])
        case 1:
            try pair.mine.execute("UPDATE sluice_actions SET sort_key = \(key) WHERE id = \(entry.id)")
            for index in pair.entries.indices where pair.entries[index].id == entry.id {
                pair.entries[index].key = key
            }
        case 2:
            try pair.mine.execute("DELETE FROM sluice_actions WHERE id = \(entry.id)")
            pair.remove([entry.id])
        default:
            let refused = await refusal {
                try await store.takeNext(of: "q", limit: 1) { _ -> Result<Int, SluiceError> in
                    .failure(SluiceError(.undecodable, "not this one"))
                }
            }
            #expect(refused == nil)
            pair.admit()
        }
    }

    private func addByShell(_ key: Int64, _ pair: inout Pair) async throws {
        try pair.mine.execute(
            "INSERT INTO sluice_actions (queue, kind, payload, sort_key) VALUES ('q', 'n', '1', \(key))"
        )
        let id = try pair.mine.row("SELECT value FROM sluice_counters WHERE name = 'action'")
        pair.entries.append(Entry(id: try #require(Int64(id)), key: key))
    }
}
