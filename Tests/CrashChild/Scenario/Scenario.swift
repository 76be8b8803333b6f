import Foundation
import Sluice
import SluiceSQLite
import Synchronization
import TestSupport

/// Some work with everything in it that writes: the making of the file, enqueues alone and in batches, runs,
/// retries, effects and follow-ups in settling transactions, transactions of the application's, dead letters,
/// the order written behind, a checkpoint, a suspension, and a second opening.
///
/// Each call that fails with an error of the file is made again, as an application would.
struct Scenario: Sendable {
    let file: String
    let options: BrokerOptions
    let history: ScenarioHistory
    /// Called when an enqueue was refused, while nothing else goes on.
    var onRefusal: @Sendable ([Step]) -> Void = { _ in }

    /// How many syncs have succeeded, where that is known.
    var syncs: @Sendable () -> Int? = { nil }

    private var clock: any BrokerClock { options.clock }

    private static let laneCount = 6

    private static func lane(_ number: Int) -> String {
        ["effect/0", "plain/0", "dead/0", "own/0", "effect/1", "plain/1"][number % laneCount]
    }

    private static func step(_ number: Int) -> Step {
        let lengths = [1, 40, 900, 6_000]
        let filling = String(repeating: "x", count: lengths[number / laneCount % lengths.count])
        return Step(number: number, lane: lane(number), filling: filling)
    }

    /// What the defaults are too seldom for.
    static func options(vfs: String? = nil, clock: (any BrokerClock)? = nil) -> BrokerOptions {
        var options = BrokerOptions.silent
        options.file.vfs = vfs
        if let clock { options.clock = clock }
        // So few that the order of these few actions is written behind.
        options.file.writeBehind.newest = 4
        options.file.writeBehind.batch = 3
        // By a clock that runs fast, a moment without the processor is not to end it.
        options.file.leases.length = .seconds(36_000)
        return options
    }

    /// All of it, from a file that is not there.
    func work() async throws {
        try await session { broker in
            let alone = await enqueue(0..<6, on: broker, isAlone: true)
            let batch = await enqueueBatch(6..<15, on: broker)
            try await running(broker) {
                for ids in [alone, batch] + (await enqueue([15..<21, 21..<27], on: broker)) {
                    await waitForAll(ids, on: broker)
                }
                await insist("checkpoint") { try await broker.fileEngine.store.checkpointPinnedWAL() }
                await broker.file?.suspend()
                let late = await enqueue([27..<30], on: broker) {
                    await insist("resume") { try await broker.file?.resume() }
                }
                for ids in late { await waitForAll(ids, on: broker) }
                await insist("flush") { try await broker.file?.flush() }
            }
        }
        try await session { broker in
            _ = await enqueue(30..<33, on: broker, isAlone: true)
        }
        try await finish()
    }

    /// Runs what is left.
    func finish() async throws {
        try await session { broker in
            try await running(broker) { await waitForAll([:], on: broker) }
        }
    }
}

// MARK: - Steps

extension Scenario {
    private func session(_ body: (Broker) async throws -> Void) async throws {
        let broker = await insist("open") { try await Broker(file: file, options: options) }
        try route(broker)
        try await body(broker)
        await broker.close()
    }

    /// Does something until it succeeds.
    private func insist<Output>(_ call: String, _ body: () async throws -> Output) async -> Output {
        while true {
            do {
                return try await body()
            } catch {
                history.note(error, call)
                await clock.pause(.milliseconds(500))
            }
        }
    }

    /// Runs the broker while `body` is at work.
    private func running(_ broker: Broker, _ body: @Sendable () async -> Void) async throws {
        let isOver = Flag()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                // A run ends with an error only when it could not begin: what it would run is not known then.
                while !isOver.isSet {
                    do { return try await broker.run() } catch { history.note(error, "run") }
                    await clock.pause(.milliseconds(500))
                }
            }
            await body()
            isOver.set()
            await broker.stop()
        }
    }

    /// Enqueues in several tasks at once, beside `body`.
    private func enqueue(
        _ ranges: [Range<Int>],
        on broker: Broker,
        while body: () async -> Void = {}
    ) async -> [[Int: ActionID]] {
        await withTaskGroup(of: [Int: ActionID].self) { group in
            for range in ranges { group.addTask { await enqueue(range, on: broker, isAlone: false) } }
            await body()
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    private func enqueue(
        _ numbers: Range<Int>,
        on broker: Broker,
        isAlone: Bool
    ) async -> [Int: ActionID] {
        var ids: [Int: ActionID] = [:]
        for number in numbers {
            let step = Self.step(number)
            ids[number] = await attempt([step], isAlone: isAlone) { try await broker.enqueue(step).id }
        }
        return ids
    }

    private func enqueueBatch(_ numbers: Range<Int>, on broker: Broker) async -> [Int: ActionID] {
        let steps = numbers.map(Self.step)
        let ids = await attempt(steps, isAlone: true) { try await broker.enqueue(steps) } ?? []
        return Dictionary(uniqueKeysWithValues: zip(numbers, ids))
    }

    /// Enqueues until it succeeds, or nobody knows whether it has.
    private func attempt<Output>(
        _ steps: [Step],
        isAlone: Bool,
        _ enqueue: () async throws -> Output
    ) async -> Output? {
        while true {
            for step in steps { history.append(.tries(step.number, lane: step.lane)) }
            let before = syncs()
            do {
                let output = try await enqueue()
                if let before, before == syncs() {
                    history.report("\(steps[0].number) is stored without a sync")
                }
                for step in steps { history.append(.stored(step.number)) }
                return output
            } catch let error as SluiceError where error.code == .unknownCommit {
                history.note(error, "enqueue")
                for step in steps { history.append(.unknown(step.number)) }
                return nil
            } catch {
                history.note(error, "enqueue")
                for step in steps { history.append(.refused(step.number)) }
                if isAlone { onRefusal(steps) }
                await clock.pause(.milliseconds(500))
            }
        }
    }

    /// Returns when all are settled, and what they have left behind them.
    private func waitForAll(_ ids: [Int: ActionID], on broker: Broker) async {
        for (number, id) in ids.sorted(by: { $0.key < $1.key }) {
            _ = await insist("settled") { try await broker.settled(id) }
            history.append(.gone(number))
        }
        // What was enqueued in transactions, by an earlier process, or with nobody knowing.
        while await insist("count", { try await broker.actionCount() }) > 0 {
            await clock.pause(.milliseconds(100))
        }
    }
}

// MARK: - Handlers

extension Scenario {
    private func route(_ broker: Broker) throws {
        var options = RouteOptions(
            retry: .fixed(.milliseconds(50)),
            failure: FailurePolicies(failed: .skip)
        )
        // Of a test's kills none is an action's fault.
        options.crashLimit = .max
        let own = LazyConnection(file, vfs: self.options.file.vfs)
        try broker.route("*", Step.self, options) { [history, weak broker] step, attempt in
            history.append(
                .runs(
                    step.number,
                    lane: step.lane,
                    action: attempt.id.rawValue,
                    attempt: attempt.number
                )
            )
            defer { history.append(.ends(step.number)) }
            if attempt.number == 1, step.wantsRetry { return .retry(after: .milliseconds(50)) }
            switch Step.fate(inLane: step.lane) {
            case .plain: return .success
            case .dead: return .fail("as it was to")
            case .effect where step.lane.hasPrefix("own/"):
                try own.transaction { connection in
                    try Self.addEffect(of: step, connection)
                    if let next = step.next { try broker?.enqueue(next, in: connection.rawHandle) }
                    try attempt.succeed(in: connection.rawHandle)
                }
                return .success
            case .effect:
                return .success { transaction in
                    try Self.addEffect(of: step, Connection(borrowing: transaction.connection))
                    if let next = step.next { try transaction.enqueue(next) }
                }
            }
        }
    }

    private static func addEffect(of step: Step, _ connection: Connection) throws {
        try connection.execute("CREATE TABLE IF NOT EXISTS effects (number INTEGER NOT NULL)")
        try connection.execute("INSERT INTO effects VALUES (\(step.number))")
    }
}

/// Something that has come to be so, and stays.
final class Flag: Sendable {
    private let value = Atomic(false)

    var isSet: Bool { value.load(ordering: .acquiring) }

    func set() { value.store(true, ordering: .releasing) }
}

/// A connection of the application's own, opened when it is needed first.
private final class LazyConnection: Sendable {
    private struct State {
        var connection: Connection?
    }

    /// Used within the lock alone.
    private nonisolated(unsafe) var state = State()
    private let lock = Mutex(())
    private let path: String
    private let vfs: String?

    init(_ path: String, vfs: String?) { (self.path, self.vfs) = (path, vfs) }

    func transaction(_ body: (Connection) throws -> Void) throws {
        try lock.withLock { _ in
            if state.connection == nil {
                let connection = try Connection(path: path, mode: .write, vfs: vfs)
                connection.setBusyTimeout(.seconds(60))
                try connection.set(Pragma("wal_autocheckpoint", 0))
                state.connection = connection
            }
            guard let connection = state.connection else { return }
            do {
                try connection.immediate { try body(connection) }
            } catch {
                // Without memory a rollback fails too; left open, it would keep the write lock.
                if connection.isInTransaction {
                    connection.close()
                    state.connection = nil
                }
                throw error
            }
        }
    }
}
