import Foundation
import TestSupport
import Testing

@testable import Sluice

@Suite("Retry policies", .watched) struct RetryPolicyTests {
    private static func failure(_ number: Int, _ error: (any Error)? = nil) -> AttemptFailure {
        let attempt = Attempt(
            id: ActionID(rawValue: 1),
            queue: "q",
            kind: "note",
            version: 1,
            number: number,
            nonce: 1,
            enqueuedAt: Date(timeIntervalSince1970: 0),
            lastError: nil
        )
        return AttemptFailure(attempt: attempt, error: error)
    }

    private static func decision(
        _ policy: RetryPolicy,
        _ number: Int,
        _ generator: any RandomNumberGenerator = SplitMix(seed: 1)
    ) -> RetryDecision {
        var generator = generator
        return policy.decision(after: failure(number), using: &generator)
    }

    private static func seconds(_ policy: RetryPolicy, _ number: Int, seed: UInt64 = 1) -> Double? {
        guard case .retry(let delay) = decision(policy, number, SplitMix(seed: seed)) else { return nil }
        return delay / .seconds(1)
    }

    /// Gives always the same number, so that chance takes all or nothing.
    private struct Constant: RandomNumberGenerator {
        let value: UInt64
        func next() -> UInt64 { value }
    }

    @Test(
        "A fixed policy waits the same each time, and at once for a negative delay",
        arguments: [1, 2, 10_000]
    )
    func fixed(_ number: Int) {
        #expect(Self.decision(.fixed(.seconds(30)), number) == .retry(after: .seconds(30)))
        #expect(Self.decision(.fixed(.seconds(-1)), number) == .retry(after: .zero))
    }

    @Test(
        "The exponential policy gives the worked values of its documentation",
        arguments: [
            (1, 1.0), (2, 2), (3, 4), (4, 8), (5, 16), (9, 256), (10, 300), (11, 300), (10_000, 300),
        ]
    )
    func exponential(_ number: Int, _ longest: Double) {
        #expect(Self.seconds(.exponential(jitter: 0), number) == longest)
        let most = Self.decision(.exponential(), number, Constant(value: 0))
        #expect(most == .retry(after: .seconds(longest)))
        let least = Self.decision(.exponential(), number, Constant(value: .max))
        guard case .retry(let delay) = least else {
            Issue.record("no retry")
            return
        }
        #expect(delay >= .seconds(longest / 2))
        #expect(delay < .seconds(longest / 2 * 1.000_001))
    }

    @Test(
        "Jitter takes away at most its part of the delay, and spreads over all of it",
        arguments: [0.1, 0.5, 1]
    )
    func jitter(_ jitter: Double) throws {
        let seed = UInt64.random(in: .min ... .max)
        var generator: any RandomNumberGenerator = SplitMix(seed: seed)
        let policy = RetryPolicy.exponential(first: .seconds(10), factor: 1, jitter: jitter)
        let delays = (0..<2_000).compactMap { _ -> Double? in
            guard case .retry(let delay) = policy.decision(after: Self.failure(3), using: &generator) else {
                return nil
            }
            return delay / .seconds(1)
        }
        #expect(delays.count == 2_000)
        let (shortest, longest) = (try #require(delays.min()), try #require(delays.max()))
        #expect(longest <= 10, "seed \(seed)")
        #expect(shortest >= 10 * (1 - jitter), "seed \(seed)")
        // Two thousand draws leave one twentieth of the range empty at either end with a chance of 10^-44.
        #expect(longest > 10 - 0.5 * jitter, "seed \(seed)")
        #expect(shortest < 10 * (1 - jitter) + 0.5 * jitter, "seed \(seed)")
    }

    @Test("The same seed gives the same delays")
    func seeded() {
        let policy = RetryPolicy.exponential()
        let first = (1...20).map { Self.seconds(policy, $0, seed: 42) }
        let second = (1...20).map { Self.seconds(policy, $0, seed: 42) }
        let other = (1...20).map { Self.seconds(policy, $0, seed: 43) }
        #expect(first == second)
        #expect(first != other)
    }

    @Test("Values outside their limits are taken as the nearest inside")
    func limits() {
        let policy = Backoff(first: .seconds(-5), factor: 0.1, limit: .seconds(-9), jitter: 7)
        #expect(policy == Backoff(first: .zero, factor: 1, limit: .zero, jitter: 1))
        let odd = Backoff(first: .seconds(5), factor: .nan, limit: .seconds(1), jitter: .nan)
        #expect(odd == Backoff(first: .seconds(5), factor: 1, limit: .seconds(5), jitter: 0))
    }

    @Test("No number of attempts makes it overflow", arguments: [1, 2, 1_023, 1_024, 1_025, 10_000, Int.max])
    func extremes(_ number: Int) {
        #expect(Self.seconds(.exponential(first: .zero, jitter: 0), number) == 0)
        #expect(Self.seconds(.exponential(first: .seconds(3), factor: 1, jitter: 0), number) == 3)
        let steep = RetryPolicy.exponential(factor: .infinity, limit: .seconds(60), jitter: 0)
        #expect(Self.seconds(steep, number) == (number == 1 ? 1 : 60))
        let endless = RetryPolicy.exponential(factor: 2, limit: .seconds(Int64.max), jitter: 0)
        let delay = Self.seconds(endless, number)
        #expect((delay ?? -1) >= 1)
        // Out of range, but a policy is asked by code of users too.
        #expect(Self.seconds(.exponential(jitter: 0), 0) == 1)
        #expect(Self.seconds(.exponential(jitter: 0), .min + 1) == 1)
    }

    @Test("A limit gives up at its number of attempts, and leaves those before to its base")
    func limited() {
        let policy = RetryPolicy.fixed(.seconds(2)).limited(to: 3)
        #expect(Self.decision(policy, 1) == .retry(after: .seconds(2)))
        #expect(Self.decision(policy, 2) == .retry(after: .seconds(2)))
        #expect(Self.decision(policy, 3) == .giveUp)
        #expect(Self.decision(policy, 10_000) == .giveUp)
    }

    @Test("A limit below one attempt is refused by the route", arguments: [0, -4])
    func limitBelowOne(attempts: Int) async throws {
        let broker = try await Broker.inMemory()
        let refused = RetryPolicy.fixed(.zero).limited(to: attempts)
        for policy in [refused, refused.limited(to: 2)] {
            #expect(throws: SluiceError.self) {
                try broker.route("*", Note.self, RouteOptions(retry: policy)) { _, _ in .success }
            }
        }
        await broker.close()
    }

    @Test("Halting halts at once, also under a limit")
    func halt() {
        #expect(Self.decision(.halt, 1) == .halt)
        #expect(Self.decision(.halt.limited(to: 2), 1) == .halt)
        #expect(Self.decision(.halt.limited(to: 2), 2) == .giveUp)
    }

    @Test("SplitMix gives the numbers of its published reference for seed 1234567")
    func splitMix() {
        var generator = SplitMix(seed: 1_234_567)
        let numbers = (0..<3).map { _ in generator.next() }
        #expect(numbers == [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423])
    }
}
