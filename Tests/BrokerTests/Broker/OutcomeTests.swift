import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Outcomes", .watched) struct OutcomeTests {
    @Test(
        "Successes run a queue's actions in the order of arrival, and nothing is left",
        arguments: QueueStorage.allCases
    )
    func success(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        try await broker.enqueue((0..<200).map { Note("\($0)") })
        try await running(broker) {
            try await broker.enqueue((200..<400).map { Note("\($0)") })
            await broker.waitUntilIdle()
        }
        #expect(log.elements == (0..<400).map { "\($0)" })
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }

    @Test(
        "A retry waits as long as the policy says, and the same action is tried again",
        arguments: QueueStorage.allCases
    )
    func retryByPolicy(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let log = EventLog<Int>()
        try broker.route("*", Note.self, retrying(.fixed(.seconds(10)))) { _, attempt in
            log.append(attempt.number)
            return attempt.number < 3 ? .retry : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            for attempt in 1...2 {
                _ = try await log.wait(forCount: attempt)
                try await until { broker.statistics.retried == attempt }
                // One microsecond short of it, nothing happens.
                site.clock.advance(by: .seconds(10) - .microseconds(1))
                await settle(broker)
                #expect(log.elements.count == attempt)
                site.clock.advance(by: .microseconds(1))
            }
            _ = try await log.wait(forCount: 3)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == [1, 2, 3])
        await broker.close()
    }

    /// Gives the engine the chance to do what it should not: a round trip through writer and scheduler.
    private func settle(_ broker: Broker) async {
        for _ in 0..<50 { await Task.yield() }
        _ = try? await broker.enqueue(Photo(album: "unrouted", width: 1))
        _ = try? await broker.actionCount()
    }

    @Test("A retry with a delay of its own overrides the policy's; zero and less is at once")
    func retryWithDelay() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<Int>()
        try broker.route("*", Note.self, retrying(.fixed(.seconds(1_000)))) { _, attempt in
            log.append(attempt.number)
            return switch attempt.number {
            case 1: .retry(after: .zero)
            case 2: .retry(after: .seconds(-5))
            case 3: .retry(after: .seconds(3))
            default: .success
            }
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            _ = try await log.wait(forCount: 3)
            try await site.clock.waitForSleeper(untilUptime: .seconds(3))
            site.clock.advance(by: .seconds(3))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == [1, 2, 3, 4])
    }

    @Test(
        "What a handler throws is kept as the last error and handed to the next attempt",
        arguments: QueueStorage.allCases
    )
    func thrown(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker()
        let errors = EventLog<String?>()
        try broker.route("*", Note.self, retrying(.fixed(.seconds(5)))) { _, attempt in
            errors.append(attempt.lastError)
            if attempt.number == 1 { throw TestError("no network today") }
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.retried == 1 }
            let summary = try #require(await broker.actionSummaries().first)
            #expect(summary.lastError == "no network today")
            #expect(summary.attempts == 1)
            #expect(summary.nextAttemptAt != nil)
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
        }
        #expect(errors.elements == [nil, "no network today"])
        await broker.close()
    }

    @Test("A long error text is cut at a character's boundary within the limit")
    func longError() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.route("*", Note.self) { _, _ in .fail("x" + String(repeating: "é", count: 5_000)) }
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        let error = try #require(await broker.status(of: "notes").lastError)
        #expect(error.utf8.count == SluiceError.maximumTextByteCount - 1)
        #expect(error.hasSuffix("é"))
    }

    @Test("A release spends no attempt, waits at least a second, and its queue's others wait with it")
    func release() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return log.elements.count <= 2 ? .release : .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            for round in 1...2 {
                _ = try await log.wait(forCount: round)
                try await until { broker.statistics.released == round }
                site.clock.advance(by: .milliseconds(999))
                await settle(broker)
                #expect(log.elements.count == round)
                site.clock.advance(by: .milliseconds(1))
            }
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 1", "a 1", "b 1"])
    }

    @Test("A release keeps the number of an attempt that failed before")
    func releaseAfterRetry() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<Int>()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
            log.append(attempt.number)
            return switch log.elements.count {
            case 1: .retry
            case 2: .release
            default: .success
            }
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.released == 1 }
            try await broker.retryNow()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == [1, 2, 2])
    }

    @Test(
        "A release waits for its route's delay, but retryNow and a restart end it",
        arguments: [true, false]
    )
    func releaseEnds(_ byRestart: Bool) async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<Int>()
        var options = RouteOptions()
        options.releaseDelay = .seconds(3_600)
        try broker.route("*", Note.self, options) { _, attempt in
            log.append(attempt.number)
            return log.elements.count == 1 ? .release : .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await until { broker.statistics.released == 1 }
            if !byRestart {
                try await #expect(broker.retryNow() == 1)
                await broker.waitUntilIdle()
            }
        }
        if byRestart {
            try await running(broker) { _ = try await log.wait(forCount: 2) }
        }
        #expect(log.elements == [1, 1])
        await broker.close()
    }

    @Test("retryNow ends the waits of the queues it names and no others; attempts go on counting")
    func retryNow() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self, retrying(.fixed(.seconds(50)))) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            return attempt.number == 1 ? .retry : .success
        }
        try await broker.enqueue([Note("a", in: "x/1"), Note("b", in: "x/2"), Note("c", in: "xy/1")])
        try await running(broker) {
            try await until { broker.statistics.retried == 3 }
            try await #expect(broker.retryNow("x/1") == 1)
            try await #expect(broker.retryNow("unknown") == 0)
            try await until { broker.statistics.succeeded == 1 }
            try await #expect(broker.retryNow("x/*") == 1)
            try await until { broker.statistics.succeeded == 2 }
            try await #expect(broker.retryNow() == 1)
            await broker.waitUntilIdle()
        }
        #expect(log.elements.suffix(3) == ["a 2", "b 2", "c 2"])
    }

    @Test("retryNow touches neither what runs nor what waits for nothing, and counts neither")
    func retryNowWhileRunning() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        let go = Signal()
        try broker.route("*", Note.self, retrying(.fixed(.zero))) { _, attempt in
            if attempt.number == 1 { return .retry }
            started.send()
            try await go.received()
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await started.received()
            try await #expect(broker.retryNow() == 0)
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.started == 2)
    }
}
