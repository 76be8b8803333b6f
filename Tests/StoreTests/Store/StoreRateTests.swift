import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// Two stores on one file, which stand for two processes.
@Suite("Rate limits in the file", .watched) struct StoreRateTests {
    private let file: TemporaryFile
    private let clock = ManualClock()
    private let a: StoreFixture
    private let b: StoreFixture
    /// A start each ten seconds, and two after a pause.
    private static let admission = Admission(
        rate: Admission.Rate(name: "server", line: RouteID(rawValue: 0), interval: .seconds(10), burst: 2)
    )

    init() async throws {
        file = try TemporaryFile()
        a = try await .process(1, on: file, clock: clock)
        b = try await .process(2, on: file, clock: clock)
        try await a.store.add((0..<9).map { ActionDraft("\($0)", in: QueueName("q/\($0)")) })
    }

    private func claim(_ number: Int, _ process: StoreFixture) async throws -> ClaimResult {
        try await process.store.claim(QueueName("q/\(number)"), by: Self.admission)
    }

    /// How long a claim is to wait; `nil` if the action has started.
    private func wait(_ number: Int, _ process: StoreFixture) async throws -> Duration? {
        let result = try await claim(number, process)
        if case .lacksRate(_, let time) = result { return time - clock.uptime }
        guard case .claimed = result else { throw Unexpected(description: "\(result)") }
        return nil
    }

    @Test("All processes share a limit, with its burst")
    func shared() async throws {
        #expect(try await wait(0, a) == nil)
        #expect(try await wait(1, b) == nil)
        #expect(try await wait(2, a) == .seconds(10))
        #expect(try await wait(3, b) == .seconds(10))
        clock.advance(by: .seconds(4))
        #expect(try await wait(2, a) == .seconds(6))
        clock.advance(by: .seconds(6))
        #expect(try await wait(3, b) == nil)
        #expect(try await wait(2, a) == .seconds(10))
        // After a pause the burst is whole again, and no larger.
        clock.advance(by: .seconds(1_000))
        for number in [2, 4] { #expect(try await wait(number, a) == nil) }
        #expect(try await wait(5, b) == .seconds(10))
    }

    @Test("G7: a suspect on trial counts a start as others do, and starts when the limit is reached too")
    func trial() async throws {
        try a.execute("INSERT INTO sluice_state_rows (action_id, is_suspect) VALUES (1, 1), (4, 1)")
        for number in 0..<2 { #expect(try await wait(number, a) == nil) }
        #expect(try await wait(2, a) == .seconds(10))
        #expect(try await wait(3, a) == nil)
        #expect(try await wait(2, a) == .seconds(10))
    }

    @Test("G8: a wall clock that was set back lets nothing wait for longer than the limit's interval")
    func clockBack() async throws {
        for number in 0..<2 { #expect(try await wait(number, a) == nil) }
        clock.jumpWall(by: .seconds(-3_600))
        #expect(try await wait(2, a) == .seconds(10))
        clock.advance(by: .seconds(10))
        #expect(try await wait(2, b) == nil)
        #expect(try await wait(3, a) == .seconds(10))
    }

    @Test("A claim that starts nothing counts no start; a limit that has recovered keeps no row")
    func counted() async throws {
        _ = try await a.store.hold("q/0", by: "me", reason: "", for: nil)
        #expect(try await claim(0, a).word == "held")
        #expect(try a.rows("SELECT name FROM sluice_rate_rows") == [])
        #expect(try await wait(1, a) == nil)
        #expect(try a.rows("SELECT name FROM sluice_rate_rows") == ["server"])
        clock.advance(by: .seconds(10))
        try await b.store.startRunning()
        #expect(try a.rows("SELECT name FROM sluice_rate_rows") == [])
    }

    @Test("A roll-back takes back the start that it counted")
    func rollBack() async throws {
        try a.execute(
            """
            CREATE TRIGGER planted BEFORE INSERT ON sluice_claim_rows
            BEGIN SELECT RAISE(ABORT, 'planted'); END
            """
        )
        for number in 0..<3 { await #expect(throws: SluiceError.self) { try await claim(number, a) } }
        try a.execute("DROP TRIGGER planted")
        for number in 0..<2 { #expect(try await wait(number, a) == nil) }
        #expect(try await wait(2, a) == .seconds(10))
    }
}
