#if Web
internal import Foundation
internal import Sluice
internal import Synchronization

/// The last check of a store: pages show its result, as a new one reads the whole file.
final class HealthCheck: Sendable {
    struct Result: Sendable {
        let findings: [HealthFinding]
        /// Why there are none.
        let error: String?
        let time: Date
    }

    private struct Memory: Sendable {
        var result: Result?
        var isRunning = false
        /// No new check begins before this time of the clock.
        var restsUntil = Duration.zero
        /// How many stores there were before this one.
        var stores = 0
    }

    private let memory = Mutex(Memory())

    private let (starts, starter) = AsyncStream<any StoreFacts>.makeStream()
    private let clock: any BrokerClock

    init(_ clock: any BrokerClock) { self.clock = clock }

    /// Makes the checks that are asked for until the task is cancelled.
    func run() async {
        for await facts in starts { await check(facts) }
    }

    /// Makes one check.
    func check(_ facts: any StoreFacts) async {
        let (start, store) = (clock.uptime, memory.withLock { $0.stores })
        var (findings, problem): ([HealthFinding], String?) = ([], nil)
        do { findings = try await facts.findings() } catch { problem = "\(error)" }
        let end = clock.uptime
        // Checks use a hundredth of a core, if the file is not large; one that failed is made again soon.
        let rest = problem == nil ? min(max(.seconds(1), (end - start) * 100), .seconds(120)) : .seconds(1)
        let result = Result(findings: findings, error: problem, time: Date())
        memory.withLock { memory in
            // The result of an earlier store is not this one's.
            let isOld = memory.stores != store
            memory = Memory(
                result: isOld ? nil : result,
                restsUntil: isOld ? .zero : end + rest,
                stores: memory.stores
            )
        }
    }

    /// Forgets the result: the store is another one.
    func forget() {
        memory.withLock { $0 = Memory(isRunning: $0.isRunning, stores: $0.stores + 1) }
    }

    /// Returns whether it is time for a check that does not run yet; then it counts as running.
    func begins() -> Bool {
        memory.withLock { memory in
            guard !memory.isRunning, clock.uptime >= memory.restsUntil else { return false }
            memory.isRunning = true
            return true
        }
    }

    /// Returns the last result, and has a new one made if that is old; waits a moment for the first.
    func latest(_ facts: any StoreFacts) async throws -> Result? {
        if begins() { starter.yield(facts) }
        try await clock.wait(atMost: .milliseconds(80)) { memory.withLock { $0.result != nil } }
        return memory.withLock { $0.result }
    }
}
#endif
