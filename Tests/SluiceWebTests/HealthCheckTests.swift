#if Web
import Sluice
import SluiceTestKit
import Synchronization
import Testing

@testable import SluiceWeb

/// Facts whose findings come when a test gives them.
private final class FactsOnDemand: StoreFacts {
    typealias Answer = Result<[HealthFinding], PageError>

    /// The uptime at the beginning of each check.
    let begun = Mutex<[Duration]>([])
    let (starts, start) = AsyncStream<Void>.makeStream()
    let (answers, answer) = AsyncStream<Answer>.makeStream()
    /// How long a check takes.
    let cost: Duration
    private let clock: ManualClock

    init(_ clock: ManualClock, cost: Duration) { (self.clock, self.cost) = (clock, cost) }

    func counts() async throws -> (enqueued: Int64, waiting: Int) { (0, 0) }
    func runners() async throws -> [RunnerFact] { [] }
    func sizes() async throws -> [(name: String, value: String)] { [] }

    func findings() async throws -> [HealthFinding] {
        begun.withLock { $0.append(clock.uptime) }
        start.yield()
        clock.advance(by: cost)
        for await answer in answers { return try answer.get() }
        throw CancellationError()
    }
}

@Suite("Health checks of the operator's page", .timeLimit(.minutes(1)))
struct HealthCheckTests {
    private static let full = HealthFinding(isProblem: true, text: "full", advice: "delete something")
    private let clock = ManualClock()

    /// Makes checks, and lets the time go on for who waits.
    private func checking(
        taking cost: Duration = .zero,
        _ body: (HealthCheck, FactsOnDemand) async throws -> Void
    ) async throws {
        let (check, facts) = (HealthCheck(clock), FactsOnDemand(clock, cost: cost))
        let tasks = [
            Task { await check.run() },
            Task {
                while true {
                    try await clock.waitForSleeper(untilUptime: clock.uptime + .seconds(1))
                    clock.advance(by: .milliseconds(20))
                }
            },
        ]
        try await body(check, facts)
        for task in tasks { task.cancel() }
    }

    private func result(of check: HealthCheck, _ facts: FactsOnDemand) async throws -> HealthCheck.Result {
        while true {
            if let result = try await check.latest(facts) { return result }
        }
    }

    @Test("A page does not wait for a slow check; there is one at a time, and its result is shown later")
    func slow() async throws {
        try await checking { check, facts in
            let start = clock.uptime
            for _ in 0..<2 { try await #expect(check.latest(facts) == nil) }
            #expect(clock.uptime == start + .milliseconds(160))
            facts.answer.yield(.success([Self.full]))
            let result = try await result(of: check, facts)
            #expect((result.findings, result.error) == ([Self.full], nil))
            #expect(facts.begun.withLock(\.count) == 1)
        }
    }

    @Test("A check that fails says why, and the next one is made all the same")
    func failing() async throws {
        try await checking { check, facts in
            facts.answer.yield(.failure(PageError(.invalid, "no such store")))
            let failed = try await result(of: check, facts)
            #expect(failed.error?.contains("no such store") == true)
            #expect(failed.findings.isEmpty)
            clock.advance(by: .seconds(1))
            facts.answer.yield(.success([]))
            while try await check.latest(facts)?.error != nil { await Task.yield() }
        }
    }

    @Test(
        "Checks use a hundredth of the time, and one is made each two minutes, whatever the wall clock says",
        arguments: [
            (Duration.zero, Duration.seconds(1)), (.milliseconds(50), .seconds(5)),
            (.seconds(9), .seconds(120)),
        ]
    )
    func rest(cost: Duration, rest: Duration) async throws {
        try await checking(taking: cost) { check, facts in
            var starts = facts.starts.makeAsyncIterator()
            facts.answer.yield(.success([]))
            _ = try await result(of: check, facts)
            await starts.next()
            let begun = facts.begun.withLock { $0[0] }
            clock.jumpWall(by: .seconds(-86_400))
            clock.advance(by: begun + cost + rest - .milliseconds(1) - clock.uptime)
            _ = try await check.latest(facts)
            clock.advance(by: .milliseconds(1))
            _ = try await check.latest(facts)
            await starts.next()
            #expect(facts.begun.withLock { $0 } == [begun, begun + cost + rest])
        }
    }
}
#endif
