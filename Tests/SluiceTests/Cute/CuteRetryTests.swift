import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The retry strategies of Cute: halt, at most so often, backing off, and one's own.
@Suite("Cute: retry strategies", .watched) struct CuteRetryTests {
    @Test("Cute: halt stops the queue at the first failure, its head in place, until it is started")
    func halt() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        try jobs.route(retrying(.halt)) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            if attempt.number == 1 && note.text == "a" { throw TestError("no network") }
            return .success
        }
        try await jobs.add([Note("a"), Note("b")])
        try await running(broker) {
            await broker.waitUntilIdle()
            site.clock.advance(by: .seconds(1_000_000))
            await broker.waitUntilIdle()
            #expect(log.elements == ["a 1"])
            try await #expect(jobs.texts() == ["a", "b"])
            try await jobs.start()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 2", "b 1"])
    }

    @Test(
        "Cute: at most n attempts, at once; then the failure policy decides",
        arguments: [FailurePolicy.skip, .block]
    )
    func attempts(_ policy: FailurePolicy) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        let options = RouteOptions(retry: .attempts(3), failure: FailurePolicies(exhausted: policy))
        try jobs.route(options) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            if note.text == "a" { throw TestError("no network") }
            return .success
        }
        try await jobs.add([Note("a"), Note("b")])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a 1", "a 2", "a 3"] + (policy == .skip ? ["b 1"] : []))
        #expect(site.clock.uptime == .zero)
        try await #expect(broker.deadLetters().count == (policy == .skip ? 1 : 0))
        try await #expect(broker.status(of: "jobs").state == (policy == .skip ? .empty : .parked))
    }

    @Test(
        "Cute: backing off waits 1 second, twice as long each time, and an hour at most",
        arguments: [(1, 1), (2, 2), (3, 4), (12, 2_048), (13, 3_600), (1_000, 3_600)]
    )
    func backoff(_ number: Int, _ seconds: Int) {
        #expect(decision(.backoff(), number) == .retry(after: .seconds(seconds)))
        #expect(decision(.backoff(upTo: .seconds(3)), number) == .retry(after: .seconds(min(seconds, 3))))
    }

    private func decision(_ policy: RetryPolicy, _ number: Int) -> RetryDecision {
        var generator: any RandomNumberGenerator = SplitMix(seed: 1)
        return policy.decision(after: failure(number), using: &generator)
    }

    private func failure(_ number: Int) -> AttemptFailure {
        let attempt = Attempt(
            id: ActionID(rawValue: 1),
            queue: "q",
            kind: "note",
            version: 1,
            number: number,
            nonce: 1,
            enqueuedAt: ManualClock().now.date,
            lastError: nil
        )
        return AttemptFailure(attempt: attempt, error: nil)
    }

    @Test("Cute: the queue waits as long as the strategy says, and the head is tried again in its place")
    func backingOff() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let jobs = broker.queue("jobs", of: Note.self)
        let log = EventLog<String>()
        try jobs.route(retrying(.backoff())) { note, attempt in
            log.append("\(note.text) at \(site.clock.uptime)")
            if note.text == "a" && attempt.number < 4 { throw TestError("no network") }
            return .success
        }
        try await jobs.add([Note("a"), Note("b")])
        try await running(broker) {
            for (count, time) in [(1, 1), (2, 3), (3, 7)] {
                _ = try await log.wait(forCount: count)
                try await site.clock.waitForSleeper(untilUptime: .seconds(time))
                site.clock.advance(by: .seconds(time) - site.clock.uptime)
            }
            await broker.waitUntilIdle()
        }
        let expected = ["a at 0.0", "a at 1.0", "a at 3.0", "a at 7.0", "b at 7.0"].map { "\($0) seconds" }
        #expect(log.elements == expected)
    }

    @Test("Cute: one's own strategy gets the action, the error and the attempt, and may answer halt")
    func custom() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (asked, log) = (EventLog<String>(), EventLog<String>())
        let policy = RetryPolicy.attempts(2).deciding(for: Note.self) { note, failure in
            let error = failure.error.map { "\($0)" } ?? "none"
            asked.append("\(note.text) \(error) \(failure.attempt.number) in \(failure.attempt.queue)")
            if note.text == "halts" { return .halt }
            return note.text == "twice" && failure.attempt.number == 1 ? .retry(after: .zero) : nil
        }
        let options = RouteOptions(retry: policy, failure: .all(.skip))
        try broker.route("*", Note.self, options) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            throw TestError("no network")
        }
        try await broker.queue("one", of: Note.self).add(Note("halts"))
        try await broker.queue("two", of: Note.self).add(Note("twice"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(
            Set(asked.elements) == [
                "halts no network 1 in one", "twice no network 1 in two", "twice no network 2 in two",
            ]
        )
        #expect(log.elements.count == 3)
        try await #expect(broker.status(of: "one").state == .parked)
        // The other policy has given up.
        try await #expect(broker.deadLetters().map(\.queue) == ["two"])
    }

    @Test(
        "Cute: a strategy sees the payload that was attempted, brought up to date, and none of another type"
    )
    func action() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let found = EventLog<String?>()
        let asking = RetryPolicy { failure, _ in
            found.append(failure.action(as: Note.self)?.text)
            found.append(failure.action(as: Photo.self)?.album)
            return .giveUp
        }
        try broker.routeAnyKind("*", RouteOptions(retry: asking, failure: .all(.skip))) { _, _ in .retry }
        try await broker.enqueue(Note("a"))
        try await broker.enqueue(raw: [RawAction(queue: "notes", kind: "note", payload: "7")])
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(found.elements == ["a", nil, nil, nil])
        #expect(failure(1).action(as: Note.self)?.text == nil)
        #expect(decision(.halt.deciding(for: Note.self) { _, _ in .giveUp }, 1) == .halt)
    }
}
