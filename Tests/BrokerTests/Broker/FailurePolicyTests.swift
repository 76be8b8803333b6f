import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Failure policies and dead letters", .watched) struct FailurePolicyTests {
    /// The causes that a handler or a payload can bring about.
    static let causes: [FailureCause] = [.failed, .exhausted, .undecodable]

    /// Routes notes so that "bad" ends by a cause; other causes have another policy, so that a mix-up shows.
    private func route(
        _ broker: Broker,
        _ cause: FailureCause,
        _ policy: FailurePolicy,
        to log: EventLog<String>
    ) throws {
        let other: FailurePolicy = policy == .skip ? .block : .skip
        var policies = FailurePolicies.all(other)
        switch cause {
        case .failed: policies.failed = policy
        case .exhausted: policies.exhausted = policy
        default: policies.undecodable = policy
        }
        let options = RouteOptions(retry: .fixed(.zero).limited(to: 2), failure: policies)
        try broker.route("*", Note.self, options) { note, _ in
            log.append(note.text)
            guard note.text == "bad" else { return .success }
            if cause == .exhausted { throw TestError("no luck") }
            return .fail("no such room")
        }
    }

    /// Enqueues what ends by a cause.
    private func enqueueBad(
        _ broker: Broker,
        _ cause: FailureCause,
        in queue: QueueName = "notes"
    ) async throws {
        let payload = cause == .undecodable ? #"{"txet":1}"# : #"{"text":"bad"}"#
        try await broker.enqueue(raw: [RawAction(queue: queue, kind: "note", payload: payload)])
    }

    @Test("Block parks the head and its queue, and no arrival lifts it", arguments: causes)
    func block(_ cause: FailureCause) async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try route(broker, cause, .block, to: log)
        try await enqueueBad(broker, cause)
        try await broker.enqueue(Note("b"))
        try await broker.enqueue(Note("other", in: "other"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("c"))
            await broker.waitUntilIdle()
            let status = try await broker.status(of: "notes")
            #expect(status.state == (cause == .undecodable ? .undecodable : .parked))
            #expect(status.depth == 3)
            #expect(status.lastError != nil)
        }
        #expect(!log.elements.contains("b") && !log.elements.contains("c"))
        #expect(log.elements.contains("other"))
        try await #expect(broker.deadLetters().isEmpty)
        await broker.close()
    }

    @Test("Skip sets the head aside, with its cause and error, and goes on", arguments: causes)
    func skip(_ cause: FailureCause) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try route(broker, cause, .skip, to: log)
        try await enqueueBad(broker, cause)
        try await broker.enqueue(Note("b"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements.last == "b")
        let dead = try #require(await broker.deadLetters().first)
        #expect(dead.cause == cause)
        #expect(dead.queue == "notes")
        #expect(dead.kind == "note")
        #expect(dead.attempts == [.failed: 1, .exhausted: 2, .undecodable: 0][cause])
        #expect(dead.payload == (cause == .undecodable ? #"{"txet":1}"# : #"{"text":"bad"}"#))
        let error = [.failed: "no such room", .exhausted: "no luck"][cause]
        #expect(error == nil ? dead.error.contains("'text' is missing") : dead.error == error)
        try await #expect(broker.actionCount() == 0)
    }

    @Test("failQueue sets aside all that waits at that moment; what arrives later runs", arguments: causes)
    func failQueue(_ cause: FailureCause) async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try route(broker, cause, .failQueue, to: log)
        try await enqueueBad(broker, cause)
        // More than one transaction sets aside.
        try await broker.enqueue((0..<1_200).map { Note("behind \($0)") })
        try await broker.enqueue(Note("other", in: "other"))
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.enqueue(Note("later"))
            await broker.waitUntilIdle()
        }
        #expect(log.elements.filter { $0 != "bad" } == ["other", "later"])
        let dead = try await broker.deadLetters(limit: 2_000)
        #expect(dead.count == 1_201)
        #expect(dead.count { $0.cause == cause } == 1)
        #expect(dead.count { $0.cause == .behind } == 1_200)
        #expect(Set(dead.map(\.error)).count == 1)
        try await #expect(broker.actionCount() == 0)
    }

    @Test("Halting parks the queue although the failure policy would skip")
    func halt() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let options = RouteOptions(retry: .halt, failure: .all(.skip))
        try broker.route("*", Note.self, options) { _, _ in throw TestError("broken") }
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            await broker.waitUntilIdle()
            let status = try await broker.status(of: "notes")
            #expect(status.state == .parked)
            #expect(status.because.first?.description == "parked by action 1 after failure (failed): broken")
            #expect(status.attempt == 1)
        }
        #expect(broker.statistics.started == 1)
        await broker.close()
    }

    @Test("G4: a parking outlives a restart; retryNow lifts it and tries the head again")
    func parkingOutlivesRestart() async throws {
        let site = try Site()
        let log = EventLog<String>()
        func open() async throws -> Broker {
            let broker = try await site.broker()
            try broker.route("*", Note.self) { note, attempt in
                log.append("\(note.text) \(attempt.number)")
                return note.text == "a" && attempt.number == 1 ? .fail("x") : .success
            }
            return broker
        }
        let first = try await open()
        try await first.enqueue([Note("a"), Note("b")])
        try await running(first) { await first.waitUntilIdle() }
        await first.close()

        let second = try await open()
        try await running(second) {
            await second.waitUntilIdle()
            try await second.enqueue(Note("c"))
            await second.waitUntilIdle()
            #expect(log.elements == ["a 1"])
            try await #expect(second.retryNow("notes") == 1)
            await second.waitUntilIdle()
        }
        #expect(log.elements == ["a 1", "a 2", "b 1", "c 1"])
        await second.close()
    }

    @Test("Removing the head that parked a queue lets the next one through; removing another does not")
    func removalUnblocks() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self) { note, _ in
            log.append(note.text)
            return note.text == "a" ? .fail("x") : .success
        }
        let ids = try await broker.enqueue([Note("a"), Note("b"), Note("c")])
        try await running(broker) {
            await broker.waitUntilIdle()
            try await #expect(broker.cancel(ids[1]) == .removed)
            await broker.waitUntilIdle()
            #expect(log.elements == ["a"])
            try await #expect(broker.cancel(ids[0]) == .removed)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "c"])
    }

    @Test("A requeued dead letter runs at its old place, under its number and key, with no attempt spent")
    func requeue() async throws {
        let site = try Site()
        let broker = try await site.broker()
        let log = EventLog<String>()
        let keys = EventLog<String>()
        let options = RouteOptions(retry: .fixed(.zero).limited(to: 3), failure: .all(.skip))
        try broker.route("*", Note.self, options) { note, attempt in
            log.append("\(note.text) \(attempt.number)")
            if note.text == "a" { keys.append(attempt.idempotencyKey) }
            if note.text == "a" && keys.elements.count <= 3 { throw TestError("x") }
            return .success
        }
        let id = try await broker.enqueue(Note("a")).id
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.deadLetters().map(\.id) == [id])
        try await broker.enqueue([Note("b"), Note("c")])
        try await #expect(broker.requeue(id))
        try await #expect(!broker.requeue(id))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a 1", "a 2", "a 3", "a 1", "b 1", "c 1"])
        #expect(Set(keys.elements).count == 1)
        try await #expect(broker.deadLetters().isEmpty)
        await broker.close()
    }

    @Test(
        "A requeue wakes a running broker, and is refused when the queue has another type of sort key by now"
    )
    func requeueWakes() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { note, _ in
            log.append(note.text)
            return log.elements.count <= 2 ? .fail("x") : .success
        }
        let id = try await broker.enqueue(Note("a")).id
        let other = try await broker.enqueue(Note("b", in: "mixed")).id
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.requeue(id)
            _ = try await log.wait(forCount: 3)
            await broker.waitUntilIdle()
        }
        #expect(log.elements.last == "a")
        try await broker.enqueue(Note("c", in: "mixed", order: .integer(1)))
        let error = await #expect(throws: SluiceError.self) { try await broker.requeue(other) }
        #expect(error?.code == .sortKeyMismatch)
        try await #expect(broker.deadLetters().map(\.id) == [other])
    }

    @Test(
        "G7: what crashed too often is parked without being run; retryNow tries it again"
    )
    func crashed() async throws {
        let site = try Site(clock: .farAhead())
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeNotes(to: log)
        let ids = try await broker.enqueue([Note("a"), Note("b")])
        try site.shell(
            "INSERT INTO sluice_state_rows (action_id, is_suspect, crashes) VALUES (\(ids[0]), 1, 3)"
        )
        try await running(broker) {
            await broker.waitUntilIdle()
            #expect(log.elements.isEmpty)
            let status = try await broker.status(of: "notes")
            #expect(status.state == .parked)
            let because = try #require(status.because.first).description
            #expect(
                because.hasPrefix(
                    "parked by action \(ids[0]) after failure (crashed): the process died 3 times"
                )
            )
            try await #expect(broker.retryNow("notes") == 1)
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        await broker.close()
    }

    @Test("Dead letters are listed the newest first, up to the limit")
    func listing() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        try broker.route("*", Note.self, RouteOptions(failure: .all(.skip))) { _, _ in .fail("x") }
        let ids = try await broker.enqueue((0..<5).map { Note("\($0)") })
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.deadLetters(limit: 3).map(\.id) == ids.reversed().prefix(3).map { $0 })
    }
}
