import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Timeouts", .watched) struct TimeoutTests {
    private static let options = RouteOptions(retry: .fixed(.seconds(2)), timeout: .seconds(5))

    @Test(
        "G3: a timeout cancels the handler; the slot stays taken until it has returned; then it is retried",
        arguments: QueueStorage.allCases
    )
    func slotStaysTaken(_ place: QueueStorage) async throws {
        let site = try Site(place)
        let broker = try await site.broker { $0.file.durability = .everything }
        let log = EventLog<String>()
        let (cancelled, go) = (Signal(), Signal())
        try broker.route("*", Note.self, Self.options) { note, attempt in
            log.append("\(note.text) \(attempt.number) \(attempt.lastError ?? "-")")
            guard note.text == "a", attempt.number == 1 else { return .success }
            try? await untilCancelled()
            cancelled.send()
            await go.receivedInAnyCase()
            throw CancellationError()
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            defer { go.send() }
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            try await cancelled.received()
            #expect(broker.statistics.timeouts == 1)
            // However long it takes, and whatever is asked meanwhile, no second handler starts.
            site.clock.advance(by: .seconds(5))
            try await broker.retryNow()
            try await broker.enqueue(Note("c"))
            #expect(log.elements.count == 1)
            #expect(broker.statistics.retried == 0)
            go.send()
            try await until { broker.statistics.retried == 1 }
            site.clock.advance(by: .seconds(2))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1 -", "a 2 timed out after 5.0 seconds", "b 1 -", "c 1 -"])
        #expect(broker.statistics.timeouts == 1)
        await broker.close()
    }

    @Test("A handler that ends in time is not timed out, nor is the attempt that follows in the same task")
    func inTime() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let go = Signal()
        try broker.route("*", Note.self, Self.options) { note, _ in
            log.append(note.text)
            try await go.received(log.elements.count)
            return Task.isCancelled ? .fail("cancelled") : .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            site.clock.advance(by: .seconds(4))
            go.send()
            _ = try await log.wait(forCount: 2)
            // Five seconds after the start of the first, one second after that of the second.
            site.clock.advance(by: .seconds(1))
            go.send()
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 2)
        #expect(broker.statistics.timeouts == 0)
    }

    @Test("The attempt that follows a timeout runs in a task that is not cancelled")
    func nextIsNotCancelled() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let cancelled = EventLog<Bool>()
        let started = Signal()
        let options = RouteOptions(retry: .fixed(.zero), timeout: .seconds(5))
        try broker.route("*", Note.self, options) { note, attempt in
            started.send()
            if note.text == "a" && attempt.number == 1 { try await untilCancelled() }
            cancelled.append(Task.isCancelled)
            return .success
        }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            try await started.received()
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
        }
        #expect(cancelled.elements == [false, false])
    }

    @Test("A success that comes after the timeout stands")
    func lateSuccess() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        try broker.route("*", Note.self, Self.options) { _, _ in
            started.send()
            try? await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            try await started.received()
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            await broker.waitUntilIdle()
        }
        #expect(broker.statistics.succeeded == 1)
        #expect(broker.statistics.timeouts == 1)
        try await #expect(broker.actionCount() == 0)
    }

    @Test("Timeouts count as attempts: a limit of attempts ends them")
    func limited() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let started = Signal()
        let options = RouteOptions(
            retry: .fixed(.zero).limited(to: 2),
            failure: .all(.skip),
            timeout: .seconds(5)
        )
        try broker.route("*", Note.self, options) { _, _ in
            started.send()
            try await untilCancelled()
            return .success
        }
        try await broker.enqueue(Note("a"))
        try await running(broker) {
            for round in 1...2 {
                try await started.received(round)
                let deadline: Duration = .seconds(5 * round)
                try await site.clock.waitForSleeper(untilUptime: deadline)
                site.clock.advance(by: .seconds(5))
            }
            await broker.waitUntilIdle()
        }
        let dead = try #require(await broker.deadLetters().first)
        #expect(dead.cause == .exhausted)
        #expect(dead.error == "timed out after 5.0 seconds")
        #expect(dead.attempts == 2)
    }
}
