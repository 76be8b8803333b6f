import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The write-behind order beside the plainest model of it: a sorted list for each queue.
@Suite("Order written behind", .watched)
struct StoreOrderModelTests {
    /// What the model holds of an action.
    private struct Entry {
        var id: Int64
        var queue: Int
        var key: Int64
        var isRunning = false
        /// Where it goes when its attempt ends.
        var movesTo: Int?
    }

    /// Stores on one file, and what it should hold.
    private struct Pair {
        var fixtures: [StoreFixture]
        var entries: [Entry] = []
        /// By queue, what runs, and in which store.
        var running: [Int: (action: ClaimedAction, owner: Int)] = [:]
        var generator: SplitMix
        /// Whose turn it is.
        var turn = 0

        var fixture: StoreFixture { fixtures[turn] }

        func name(_ queue: Int) -> QueueName { "q/\(queue)" }

        func head(_ queue: Int) -> Entry? {
            entries.filter { $0.queue == queue }.min { ($0.key, $0.id) < ($1.key, $1.id) }
        }

        /// The first that does not run.
        func next(_ queue: Int) -> Entry? {
            entries.filter { $0.queue == queue && !$0.isRunning }.min { ($0.key, $0.id) < ($1.key, $1.id) }
        }

        /// An attempt has ended, and its action waits again, perhaps elsewhere.
        mutating func giveBack(_ index: Int) {
            entries[index].isRunning = false
            entries[index].queue = entries[index].movesTo ?? entries[index].queue
            entries[index].movesTo = nil
        }
    }

    private static let queues = 0..<4

    @Test(
        "G2: heads are right whatever is enqueued, settled, moved, edited, removed and rolled back",
        arguments: [1, 2, 3],
        [(1, 1), (3, 2), (8, 5), (50, 20), (65_536, 16_384)]
    )
    func againstModel(processes: Int, limits: (newest: Int, batch: Int)) async throws {
        let seed = Reliability.seed
        let adjust = { @Sendable (options: inout BrokerOptions) in
            options.file.writeBehind.newest = limits.newest
            options.file.writeBehind.batch = limits.batch
        }
        let (file, clock) = (try TemporaryFile(), ManualClock())
        func open(_ process: Int) async throws -> StoreFixture {
            try await .process(Int64(process + 1), on: file, clock: clock, adjust: adjust)
        }
        var pair = Pair(fixtures: [], generator: SplitMix(seed: seed))
        for process in 0..<processes { pair.fixtures.append(try await open(process)) }
        do {
            for round in 0..<Reliability.number("SLUICE_MODEL_ROUNDS", usually: 600, short: 150) {
                pair.turn = Int.random(in: 0..<processes, using: &pair.generator)
                try await step(&pair)
                if round % 97 == 96 {
                    // One dies, and begins again: the others find that out when they look.
                    await pair.fixture.store.close()
                    try pair.fixture.killRunner(pair.turn + 1)
                    pair.fixtures[pair.turn] = try await open(pair.turn)
                    for (queue, run) in pair.running where run.owner == pair.turn {
                        pair.running[queue] = nil
                        let id = run.action.receipt.action.rawValue
                        if let index = pair.entries.firstIndex(where: { $0.id == id }) {
                            pair.giveBack(index)
                        }
                    }
                }
                if round % 20 == 19 { try await compareViews(pair) }
            }
            for queue in Self.queues {
                pair.turn = Int.random(in: 0..<processes, using: &pair.generator)
                try await drain(queue, &pair)
            }
        } catch {
            Issue.record("seed \(seed): \(error)")
        }
        #expect(pair.entries.isEmpty, "seed \(seed)")
        // What is left over goes with the stop.
        for fixture in pair.fixtures { try await fixture.store.stopRunning() }
        #expect(try pair.fixture.row("SELECT count(*) FROM sluice_order_rows") == "0", "seed \(seed)")
        for fixture in pair.fixtures { await fixture.store.close() }
    }

    private func step(_ pair: inout Pair) async throws {
        let store = pair.fixture.store
        let queue = Int.random(in: Self.queues, using: &pair.generator)
        let other = Int.random(in: Self.queues, using: &pair.generator)
        let key = Int64.random(in: 0..<6, using: &pair.generator)
        let waiting = pair.entries.filter { !$0.isRunning }.randomElement(using: &pair.generator)
        switch Int.random(in: 0..<18, using: &pair.generator) {
        case 0...3:
            let count = Int.random(in: 1...4, using: &pair.generator)
            let drafts = (0..<count).map { _ in ActionDraft("x", in: pair.name(queue), by: .integer(key)) }
            let ids = try await store.add(drafts)
            pair.entries += ids.map { Entry(id: $0.rawValue, queue: queue, key: key) }
        case 4: try await addByShell(queue, key, &pair)
        case 5...8: try await runOrSettle(queue, &pair)
        case 9:
            guard let waiting else { return }
            #expect(try await store.cancel(ActionID(rawValue: waiting.id)) == .done)
            pair.entries.removeAll { $0.id == waiting.id }
        case 10:
            guard let waiting else { return }
            try pair.fixture.execute("DELETE FROM sluice_actions WHERE id = \(waiting.id)")
            pair.entries.removeAll { $0.id == waiting.id }
        case 11:
            guard let waiting, let index = pair.entries.firstIndex(where: { $0.id == waiting.id }) else {
                return
            }
            try pair.fixture.execute(
                "UPDATE sluice_actions SET queue = 'q/\(other)', sort_key = \(key) WHERE id = \(waiting.id)"
            )
            pair.entries[index].queue = other
            pair.entries[index].key = key
        case 12...16: try await operate(queue, other, &pair)
        default:
            // A key of another type: the whole group is rolled back.
            guard pair.head(queue) != nil else { return }
            let drafts = [
                ActionDraft("x", in: pair.name(queue), by: .integer(key)),
                ActionDraft("x", in: pair.name(queue), by: .text("no number")),
            ]
            #expect(await refusal { try await store.add(drafts) } == .sortKeyMismatch)
        }
    }

    /// What an operator does.
    private func operate(_ queue: Int, _ other: Int, _ pair: inout Pair) async throws {
        let store = pair.fixture.store
        guard let index = pair.entries.indices.randomElement(using: &pair.generator) else { return }
        let entry = pair.entries[index]
        let id = ActionID(rawValue: entry.id)
        switch Int.random(in: 0..<5, using: &pair.generator) {
        case 0:
            let change = try await store.move(id, to: pair.name(other))
            let isDeferred = entry.isRunning && other != entry.queue
            #expect(change == (isDeferred ? .deferred : .done))
            if isDeferred {
                pair.entries[index].movesTo = other
            } else {
                pair.entries[index].queue = other
                pair.entries[index].movesTo = nil
            }
        case 1:
            let change = try await store.moveToFront(id)
            #expect(change == (entry.isRunning ? .running : .done))
            guard !entry.isRunning, let first = pair.next(entry.queue), first.id != entry.id else { return }
            pair.entries[index].key = entry.id < first.id ? first.key : first.key - 1
        case 2:
            let skip = try await store.skipHead(of: pair.name(queue), error: "e")
            if let running = pair.running[queue]?.action {
                #expect(skip == .running(running.receipt.action))
            } else if let head = pair.next(queue) {
                #expect(skip == .skipped(ActionID(rawValue: head.id)))
                pair.entries.removeAll { $0.id == head.id }
                try await revive(head, &pair)
            } else {
                #expect(skip == .empty)
            }
        case 3:
            // Out of the order, and back.
            let later = pair.fixture.clock.now + .seconds(1)
            let change = try await store.reschedule(id, notBefore: later)
            #expect(change == (entry.isRunning ? .running : .done))
            #expect(try await store.reschedule(id, notBefore: nil) == change)
        default:
            guard Int.random(in: 0..<4, using: &pair.generator) == 0 else { return }
            let page = CancelPage(through: try await store.lastActionID())
            let batch = try await store.cancel(.queues(.exact(pair.name(queue))), page)
            let waiting = pair.entries.filter { $0.queue == queue && !$0.isRunning }
            #expect(batch.removed == waiting.count && batch.next == nil)
            pair.entries.removeAll { $0.queue == queue && !$0.isRunning }
            guard let running = pair.running.removeValue(forKey: queue) else { return }
            #expect(batch.signalled == [running.action.receipt.action])
            let owner = pair.fixtures[running.owner].store
            #expect(try await owner.settle(running.action, .stop).result == .removed)
            pair.entries.removeAll { $0.queue == queue && $0.isRunning }
        }
    }

    /// Puts a dead letter back, at its place or at the end.
    private func revive(_ entry: Entry, _ pair: inout Pair) async throws {
        let store = pair.fixture.store
        let id = ActionID(rawValue: entry.id)
        guard Bool.random(using: &pair.generator) else {
            #expect(try await store.requeue(id))
            pair.entries.append(entry)
            return
        }
        var new = entry
        new.id = try #require(try await store.requeueAtEnd(id)).rawValue
        let last = pair.entries.filter { $0.queue == entry.queue }.map(\.key).max()
        new.key = max(entry.key, last ?? entry.key)
        pair.entries.append(new)
    }

    private func addByShell(_ queue: Int, _ key: Int64, _ pair: inout Pair) async throws {
        try pair.fixture.execute(
            """
            INSERT INTO sluice_actions (queue, kind, payload, sort_key)
            VALUES ('q/\(queue)', 'n', '1', \(key))
            """
        )
        let id = try pair.fixture.row("SELECT value FROM sluice_counters WHERE name = 'action'")
        pair.entries.append(Entry(id: try #require(Int64(id)), queue: queue, key: key))
    }

    private func runOrSettle(_ queue: Int, _ pair: inout Pair) async throws {
        if let (action, owner) = pair.running.removeValue(forKey: queue) {
            let store = pair.fixtures[owner].store
            let index = try #require(pair.entries.firstIndex { $0.id == action.receipt.action.rawValue })
            switch Int.random(in: 0..<5, using: &pair.generator) {
            case 0:
                try await store.settle(action, .retry(after: .zero, error: "e"))
                pair.giveBack(index)
            case 1:
                // Dead, and at its place again.
                try await store.settle(action, .fail(.failed, .skip, error: "e"))
                #expect(try await store.requeue(action.receipt.action))
                pair.entries[index].isRunning = false
                pair.entries[index].movesTo = nil
            default:
                let result = try await store.settle(action, .success)
                #expect(result.result == .settled)
                pair.entries.remove(at: index)
            }
            return
        }
        guard let head = pair.head(queue) else { return }
        let action = try await pair.fixture.store.take(pair.name(queue))
        #expect(action.receipt.action.rawValue == head.id)
        let index = try #require(pair.entries.firstIndex { $0.id == head.id })
        pair.entries[index].isRunning = true
        pair.running[queue] = (action, pair.turn)
        for (other, fixture) in pair.fixtures.enumerated() where other != pair.turn {
            #expect(try await fixture.store.finishedClaim(pair.name(queue)).word == "takenElsewhere")
        }
    }

    private func drain(_ queue: Int, _ pair: inout Pair) async throws {
        if let (action, owner) = pair.running.removeValue(forKey: queue) {
            try await pair.fixtures[owner].store.settle(action, .success)
            pair.entries.removeAll { $0.id == action.receipt.action.rawValue }
        }
        while let head = pair.head(queue) {
            let action = try await pair.fixture.store.take(pair.name(queue))
            guard action.receipt.action.rawValue == head.id else {
                throw Unexpected(description: "\(action.receipt.action) ran in place of \(head.id)")
            }
            try await pair.fixture.store.settle(action, .success)
            pair.entries.removeAll { $0.id == head.id }
        }
        #expect(try await pair.fixture.store.finishedClaim(pair.name(queue)).word == "empty")
    }

    /// What SQL shows, with what is in memory unseen.
    private func compareViews(_ pair: Pair) async throws {
        for queue in Self.queues {
            let entries = pair.entries.filter { $0.queue == queue }.sorted {
                ($0.key, $0.id) < ($1.key, $1.id)
            }
            let name = pair.name(queue)
            let actions = try await pair.fixture.store.actionSummaries(.exact(name), limit: 1_000)
            #expect(actions.map(\.id.rawValue) == entries.map(\.id))
            let line = try pair.fixture.row(
                "SELECT depth || ' ' || head_id FROM sluice_queues WHERE queue = '\(name)'"
            )
            // The views go by the wall clock, in which no process runs these queues.
            let head = entries.first?.id ?? 0
            #expect(line == (entries.isEmpty ? "nothing" : "\(entries.count) \(head)"))
        }
    }
}
