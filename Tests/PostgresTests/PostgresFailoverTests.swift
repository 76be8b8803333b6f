#if PostgreSQL
import Sluice
import SluicePostgres
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport

/// What is lost when the server's machine is, and a standby takes over under load.
///
/// `SLUICE_FAILOVERS` says how often for each setting of the server.
@Suite(
    "A standby is promoted under load",
    .serialized,
    .watched(minutes: 30),
    .enabled(if: TestServer.isToRun, "`make test-all` runs it, where there is a server")
)
struct PostgresFailoverTests {
    /// What commits wait for.
    enum Setting: String, CaseIterable, CustomTestStringConvertible {
        case on
        case remoteApply = "remote_apply"
        case local
        case off

        /// Whether the standby has all that anybody was told of.
        var isSafe: Bool { self == .on || self == .remoteApply }
        var testDescription: String { "synchronous_commit = \(rawValue)" }
    }

    /// An action that runs while the first server does, or one for which there is no handler until later.
    struct Item: Action, Hashable {
        static let kind = "item"
        var group: String
        var number: Int
        var queue: QueueName { "\(group)" }
    }

    /// What was told to whom, in one failover.
    private final class Told: Sendable {
        struct State {
            var stored: Set<Item> = []
            var succeeded: Set<Item> = []
            var started: [Item] = []
            /// Of actions that were told to have succeeded.
            var repeated: Set<Item> = []
            /// Whether nobody enqueues any more.
            var isEnough = false
            private var items: [ActionID: Item] = [:]

            /// Returns how many were told to be stored.
            mutating func store(_ item: Item) -> Int {
                stored.insert(item)
                return stored.count
            }

            mutating func start(_ item: Item, _ action: ActionID) {
                started.append(item)
                items[action] = item
                if succeeded.contains(item) { repeated.insert(item) }
            }

            mutating func succeed(_ action: ActionID) {
                if let item = items[action] { succeeded.insert(item) }
            }
        }

        let state = Mutex(State())
    }

    private struct Counts: CustomStringConvertible {
        var stored = 0, lost = 0, succeeded = 0, repeated = 0

        var description: String {
            "\(stored) enqueues confirmed before, \(lost) of them lost; "
                + "\(succeeded) successes reported before, \(repeated) of them run again"
        }
    }

    @Test(
        "G1, G3: what a synchronous standby has confirmed is neither lost nor run again",
        arguments: Setting.allCases
    )
    func failover(_ setting: Setting) async throws {
        let rounds = Reliability.number("SLUICE_FAILOVERS") ?? 1
        var counts = Counts()
        for _ in 0..<rounds { try await fail(setting, &counts) }
        Reliability.report("failovers, \(setting.testDescription)", "\(rounds) times, \(counts)")
        #expect(counts.stored > 0 && counts.succeeded > 0)
        if setting.isSafe { #expect(counts.lost == 0 && counts.repeated == 0) }
    }

    private func fail(_ setting: Setting, _ counts: inout Counts) async throws {
        let settings = ["synchronous_standby_names=*", "synchronous_commit=\(setting.rawValue)"]
        let server = try await onOwnThread { try TestServer(["--standby"] + settings) }
        defer { withExtendedLifetime(server) {} }
        let broker = try await Broker(postgres: server.urlOfBoth)
        let told = Told()
        try route("now/*", broker, told)
        let events = broker.events(buffering: .bounded(1_000_000))
        let following = Task {
            for await case .event(let event) in events where event.kind == .succeeded {
                if let action = event.action { told.state.withLock { $0.succeed(action) } }
            }
        }
        let before = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await broker.run() }
            let (enough, signal) = AsyncStream<Void>.makeStream()
            let callers = Task {
                try await withThrowingTaskGroup(of: Void.self) { callers in
                    for number in 0..<8 {
                        callers.addTask { try await self.call(number, broker, told, signal) }
                    }
                    try await callers.waitForAll()
                }
            }
            for await _ in enough {}
            let before = told.state.withLock(\.self)
            try await onOwnThread { try server.perform(.promote) }
            told.state.withLock { $0.isEnough = true }
            try route("later/*", broker, told)
            // What they store last must run too.
            try await callers.value
            await broker.waitUntilIdle()
            await broker.stop()
            try await group.waitForAll()
            return before
        }
        await broker.close()
        await following.value
        let after = told.state.withLock(\.self)
        counts.stored += before.stored.count
        counts.lost += after.stored.subtracting(after.started).count
        counts.succeeded += before.succeeded.count
        counts.repeated += after.repeated.count
        expectOrder(after.started, setting)
    }

    /// Enqueues into a queue until it is enough.
    private func call(
        _ number: Int,
        _ broker: Broker,
        _ told: Told,
        _ signal: AsyncStream<Void>.Continuation
    ) async throws {
        let queue = number < 4 ? "now/\(number)" : "later/\(number)"
        for count in 1... {
            let item = Item(group: queue, number: count)
            try await broker.enqueue(item)
            if told.state.withLock({ $0.store(item) }) == 4_000 { signal.finish() }
            if told.state.withLock(\.isEnough) { break }
        }
    }

    private func route(_ pattern: QueuePattern, _ broker: Broker, _ told: Told) throws {
        try broker.route(pattern, Item.self) { item, attempt in
            told.state.withLock { $0.start(item, attempt.id) }
            return .success
        }
    }

    /// What was confirmed runs in order; where that was lost, a queue goes back once, and on in order.
    private func expectOrder(_ started: [Item], _ setting: Setting) {
        for (queue, items) in Dictionary(grouping: started, by: \.group) {
            let numbers = items.map(\.number)
            let steps = zip(numbers, numbers.dropFirst()).map { $1 - $0 }
            if setting.isSafe {
                #expect(steps.allSatisfy { (0...1).contains($0) }, "\(queue): \(steps)")
            } else {
                #expect(steps.count { $0 < 0 } <= 1, "\(queue): \(steps)")
            }
        }
    }
}
#endif
