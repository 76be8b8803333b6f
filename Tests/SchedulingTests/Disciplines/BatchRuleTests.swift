import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("When a batch starts and ends", .watched)
struct BatchRuleTests {
    private let batched = QueueRules(discipline: .firstInFirstOut, start: .batch())

    @Test("A batch whose last action ran when the broker stopped is over", arguments: [false, true])
    func overAfterStop(isFailed: Bool) async throws {
        let fixture = try await StoreFixture()
        let rules = QueueRules(discipline: .concurrent(2), start: .batch())
        try await fixture.store.add("a")
        _ = try await fixture.store.finishedClaim(by: rules)
        fixture.clock.advance(by: .seconds(30))
        let a = try await fixture.store.take(by: rules)
        // What stands aside is no part of the batch either.
        try await fixture.store.settle(a, isFailed ? .retry(after: .seconds(7_200), error: "e") : .success)
        try await fixture.store.stopRunning()
        try await fixture.store.startRunning()
        fixture.clock.advance(by: .seconds(3_600))
        try await fixture.store.add("b")
        #expect(try await fixture.store.finishedClaim(by: rules).word == "gathering")
    }

    @Test("G8: a batch that is not through goes on over a restart, however young", arguments: [1, 9])
    func goesOnOverRestart(left: Int) async throws {
        let fixture = try await StoreFixture()
        // Some have their order in the file, the newest in memory alone.
        for number in 0..<12 { try await fixture.store.add("\(number)") }
        for _ in left..<12 {
            let action = try await fixture.store.take(by: batched)
            try await fixture.store.settle(action, .success)
        }
        try await fixture.store.stopRunning()
        #expect(try fixture.row("SELECT is_open FROM sluice_batch_rows") == "1")
        try await fixture.store.startRunning()
        #expect(try await fixture.store.drain(by: batched).count == left)
    }

    @Test("What comes back from its wait with an old time has its batch due at once")
    func oldOneComesBack() async throws {
        let fixture = try await StoreFixture()
        let rules = QueueRules(discipline: .concurrent(2), start: .batch())
        try await fixture.store.add("a")
        _ = try await fixture.store.finishedClaim(by: rules)
        fixture.clock.advance(by: .seconds(30))
        let a = try await fixture.store.take(by: rules)
        try await fixture.store.settle(a, .retry(after: .seconds(60), error: "e"))
        #expect(try await fixture.store.finishedClaim(by: rules).word == "empty")
        fixture.clock.advance(by: .seconds(40))
        try await fixture.store.add("b")
        #expect(try await fixture.store.finishedClaim(by: rules).word == "gathering")
        fixture.clock.advance(by: .seconds(20))
        _ = try await fixture.store.admitScheduled()
        #expect(
            try fixture.row("SELECT count(*) FROM sluice_action_rows WHERE not_before_us IS NULL") == "2"
        )
        #expect(try await fixture.store.finishedClaim(by: rules).word == "claimed")
    }

    @Test("A batch whose oldest action has gone is due by the oldest that is left")
    func oldestGoes() async throws {
        let fixture = try await StoreFixture()
        let a = try await fixture.store.add("a")
        _ = try await fixture.store.finishedClaim(by: batched)
        fixture.clock.advance(by: .seconds(20))
        try await fixture.store.add("b")
        let due = fixture.clock.now + .seconds(30)
        _ = try await fixture.store.finishedClaim(by: batched)
        _ = try await fixture.store.cancel(a)
        let result = try await fixture.store.finishedClaim(by: batched)
        guard case .gathering(let wait, _) = result else { throw Unexpected(description: "\(result)") }
        #expect(wait.nextAttemptAt == due)
    }

    private let passing = QueueRules(discipline: .passOver, start: .batch())

    /// A batch of some that all fail and are to be tried again at once.
    private func failed(_ count: Int, after delay: Duration = .zero) async throws -> StoreFixture {
        let fixture = try await StoreFixture()
        for number in 0..<count { try await fixture.store.add("\(number)") }
        fixture.clock.advance(by: .seconds(30))
        var attempts = 0
        while attempts < 100,
            case .claimed(let action) = try await fixture.store.finishedClaim(by: passing)
        {
            attempts += 1
            try await fixture.store.settle(action, .retry(after: delay, error: "e"))
        }
        #expect(attempts == count)
        return fixture
    }

    @Test("What a pass has left is tried with the next batch, and not again at once", arguments: [1, 12])
    func passedOver(count: Int) async throws {
        let fixture = try await failed(count)
        let due = fixture.clock.now + .seconds(30)
        let result = try await fixture.store.finishedClaim(by: passing)
        guard case .gathering(let wait, _) = result else { throw Unexpected(description: "\(result)") }
        #expect(wait.nextAttemptAt == due)
        fixture.clock.advance(by: .seconds(30))
        #expect(try await fixture.store.drain(by: passing).count == count)
        #expect(try fixture.rows("SELECT due_us FROM sluice_batch_rows") == [])
    }

    @Test("Ten that have come since start the next batch, and what a pass has left does not count")
    func tenMore() async throws {
        let fixture = try await failed(12)
        for number in 0..<9 {
            try await fixture.store.add("new \(number)")
            #expect(try await fixture.store.finishedClaim(by: passing).word == "gathering")
        }
        try await fixture.store.add("new 9")
        #expect(try await fixture.store.drain(by: passing).count == 22)
    }

    @Test("Retries that are due sooner than a batch wait for it, and later ones start it at once")
    func retries() async throws {
        var fixture = try await failed(1, after: .seconds(1))
        #expect(try await fixture.store.finishedClaim(by: passing).word == "empty")
        fixture.clock.advance(by: .seconds(1))
        _ = try await fixture.store.admitScheduled()
        #expect(try await fixture.store.finishedClaim(by: passing).word == "gathering")
        fixture.clock.advance(by: .seconds(29))
        #expect(try await fixture.store.drain(by: passing) == ["0"])
        fixture = try await failed(1, after: .seconds(60))
        fixture.clock.advance(by: .seconds(60))
        _ = try await fixture.store.admitScheduled()
        #expect(try await fixture.store.drain(by: passing) == ["0"])
    }

    @Test("Run now tries what a pass has left, before its time")
    func runNow() async throws {
        let fixture = try await failed(2)
        let started = try await fixture.store.runNow(.exact("q")) { _ in true }
        #expect(started == 1)
        #expect(try await fixture.store.drain(by: passing) == ["0", "1"])
    }
}
