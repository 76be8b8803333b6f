import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Waiting in tests", .watched) struct WaitingTests {
    /// Cancels a wait at once, or when it has had some turns: before it has begun, at its start, and later.
    private func expectEnd(_ wait: @escaping @Sendable () async throws -> Void) async {
        for turns in 0..<50 {
            let task = Task { try await wait() }
            for _ in 0..<turns { await Task.yield() }
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("A wait for an event ends when its task is cancelled, and later events find nobody")
    func events() async throws {
        let log = EventLog<Int>()
        await expectEnd { _ = try await log.wait(forCount: 1) }
        log.append(7)
        try await #expect(log.wait(forCount: 1) == [7])
    }

    @Test("A wait for an event goes on when there are as many, and not before")
    func counts() async throws {
        let log = EventLog<Int>()
        let task = Task { try await log.wait(forCount: 3) }
        let first = Task { try await log.wait(forCount: 1) }
        for number in 1...3 { log.append(number) }
        try await #expect(task.value == [1, 2, 3])
        try await #expect(first.value.first == 1)
    }

    @Test("What has happened is told to a cancelled task too")
    func cancelledAfterwards() async throws {
        let log = EventLog<Int>()
        log.append(7)
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await log.wait(forCount: 1)
        }
        task.cancel()
        try await #expect(task.value == [7])
    }

    @Test("A wait for a sleeper ends when its task is cancelled, and later sleepers find nobody")
    func sleepers() async throws {
        let clock = ManualClock()
        await expectEnd { try await clock.waitForSleeper(untilUptime: .seconds(1)) }
        let sleeping = Task { try await clock.sleep(untilUptime: .seconds(1)) }
        try await clock.waitForSleeper(untilUptime: .seconds(1))
        clock.advance(by: .seconds(1))
        try await sleeping.value
    }

    @Test("A wait for a condition or a signal ends when its task is cancelled")
    func conditions() async throws {
        await expectEnd { try await until { false } }
        let signal = Signal()
        await expectEnd { try await signal.received() }
    }

    @Test("Draining ends when its task is cancelled, and later drains find nobody")
    func drains() async throws {
        let test = try await TestBroker()
        let (begun, mayEnd) = (Signal(), Signal())
        try test.broker.route("*", Note.self) { _, _ in
            begun.send()
            await mayEnd.receivedInAnyCase()
            return .success
        }
        try await test.broker.enqueue(Note("a"))
        try await test.start()
        try await begun.received()
        await expectEnd { try await test.drain() }
        mayEnd.send()
        try await test.drain()
        #expect(try await test.broker.actionCount() == 0)
        try await test.close()
    }

    @Test("A handler that does not heed its cancellation goes on at the signal")
    func inAnyCase() async throws {
        let (signal, done) = (Signal(), Signal())
        let task = Task {
            await signal.receivedInAnyCase()
            done.send()
        }
        task.cancel()
        #expect(done.elements.isEmpty)
        signal.send()
        await task.value
        #expect(done.elements.count == 1)
    }
}
