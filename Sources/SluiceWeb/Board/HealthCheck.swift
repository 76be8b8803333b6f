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
        /// How long the check took.
        let duration: TimeInterval

        /// Whether no new check is made: checks use a hundredth of a core, if the file is not large.
        var isYoung: Bool { -time.timeIntervalSinceNow < min(max(1, duration * 100), 120) }
    }

    private struct Memory: Sendable {
        var result: Result?
        var isRunning = false
    }

    private let memory = Mutex(Memory())

    private let (starts, starter) = AsyncStream<any StoreFacts>.makeStream()

    /// Makes the checks that are asked for until the task is cancelled.
    func run() async {
        for await facts in starts {
            let start = Date()
            var (findings, problem): ([HealthFinding], String?) = ([], nil)
            do { findings = try await facts.findings() } catch { problem = "\(error)" }
            let now = Date()
            let duration = now.timeIntervalSince(start)
            let result = Result(findings: findings, error: problem, time: now, duration: duration)
            memory.withLock { $0 = Memory(result: result) }
        }
    }

    /// Returns the last result, and has a new one made if that is old; waits a moment for the first.
    func latest(_ facts: any StoreFacts, _ clock: any BrokerClock) async throws -> Result? {
        let mustStart = memory.withLock { memory in
            guard !memory.isRunning, memory.result?.isYoung != true else { return false }
            memory.isRunning = true
            return true
        }
        if mustStart { starter.yield(facts) }
        for _ in 0..<4 where memory.withLock({ $0.result == nil }) {
            try await clock.sleep(for: .milliseconds(20))
        }
        return memory.withLock { $0.result }
    }
}
#endif
