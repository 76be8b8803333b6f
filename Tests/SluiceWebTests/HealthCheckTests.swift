#if Web
import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import SluiceWeb

/// Facts whose findings come when a test gives them.
private final class FactsOnDemand: StoreFacts {
    typealias Answer = Result<[HealthFinding], PageError>

    let checks = Atomic(0)
    let (answers, answer) = AsyncStream<Answer>.makeStream()
    /// How long a check takes.
    let cost: Duration
    private let clock: ManualClock

    init(_ clock: ManualClock, cost: Duration = .zero) { (self.clock, self.cost) = (clock, cost) }

    func counts() async throws -> (enqueued: Int64, waiting: Int) { (0, 0) }
    func runners() async throws -> [RunnerFact] { [] }
    func sizes() async throws -> [(name: String, value: String)] { [] }

    func findings() async throws -> [HealthFinding] {
        checks.add(1, ordering: .relaxed)
        clock.advance(by: cost)
        for await answer in answers { return try answer.get() }
        throw CancellationError()
    }
}

@Suite("Health checks of the operator's page", .watched(minutes: 1))
struct HealthCheckTests {
    private static let full = HealthFinding(isProblem: true, text: "full", advice: "delete something")
    private let clock = ManualClock()

    @Test("A page does not wait for a slow check; there is one at a time, and its result is shown later")
    func slow() async throws {
        let (check, facts) = (HealthCheck(clock), FactsOnDemand(clock))
        let tasks = [
            Task { await check.run() },
            Task {
                while true {
                    try await clock.waitForSleeper(untilUptime: clock.uptime + .seconds(1))
                    clock.advance(by: .milliseconds(20))
                }
            },
        ]
        defer { for task in tasks { task.cancel() } }
        let start = clock.uptime
        for _ in 0..<2 { try await #expect(check.latest(facts) == nil) }
        #expect(clock.uptime == start + .milliseconds(160))
        facts.answer.yield(.success([Self.full]))
        var result: HealthCheck.Result?
        while result == nil { result = try await check.latest(facts) }
        #expect((result?.findings, result?.error) == ([Self.full], nil))
        #expect(facts.checks.load(ordering: .relaxed) == 1)
    }

    @Test("A check that fails says why, and the next one is made all the same")
    func failing() async throws {
        let (check, facts) = (HealthCheck(clock), FactsOnDemand(clock))
        #expect(check.begins())
        facts.answer.yield(.failure(PageError(.invalid, "no such store")))
        await check.check(facts)
        let failed = try await check.latest(facts)
        #expect(failed?.error?.contains("no such store") == true)
        #expect(failed?.findings.isEmpty == true)
        clock.advance(by: .seconds(1))
        #expect(check.begins())
        facts.answer.yield(.success([Self.full]))
        await check.check(facts)
        let result = try await check.latest(facts)
        #expect((result?.findings, result?.error) == ([Self.full], nil))
    }

    @Test(
        "Checks use a hundredth of the time, and one is made each two minutes, whatever the wall clock says",
        arguments: [
            (Duration.zero, Duration.seconds(1)), (.milliseconds(50), .seconds(5)),
            (.seconds(9), .seconds(120)),
        ]
    )
    func rest(cost: Duration, rest: Duration) async throws {
        let (check, facts) = (HealthCheck(clock), FactsOnDemand(clock, cost: cost))
        #expect(check.begins())
        #expect(!check.begins())
        facts.answer.yield(.success([]))
        await check.check(facts)
        clock.jumpWall(by: .seconds(-86_400))
        clock.advance(by: rest - .milliseconds(1))
        #expect(!check.begins())
        clock.advance(by: .milliseconds(1))
        #expect(check.begins())
        #expect(!check.begins())
    }

    @Test("Of another store the old result says nothing; a check that failed is made again in a second")
    func forgets() async throws {
        let (check, facts) = (HealthCheck(clock), FactsOnDemand(clock, cost: .seconds(9)))
        #expect(check.begins())
        facts.answer.yield(.success([Self.full]))
        await check.check(facts)
        #expect(!check.begins())
        check.forget()
        #expect(check.begins())
        facts.answer.yield(.failure(PageError(.invalid, "no file")))
        await check.check(facts)
        clock.advance(by: .milliseconds(999))
        #expect(!check.begins())
        clock.advance(by: .milliseconds(1))
        #expect(check.begins())
    }
}
#endif
