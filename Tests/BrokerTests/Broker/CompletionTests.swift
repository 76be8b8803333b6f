import Dispatch
import Foundation
import Sluice
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import EngineSupport

@Suite("Handlers with a completion", .watched) struct CompletionTests {
    @Test("A completion may be called from any thread, before or after the handler has returned")
    func anyThread() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let handler = NoteHandler { note, _, completion in
            log.append(note.text)
            switch note.text {
            case "at once": completion(.success)
            case "queue": DispatchQueue.global().async { completion(.success) }
            case "thread": Thread { completion(.success) }.start()
            default: Task { completion(.success) }
            }
        }
        try broker.route("*", to: handler)
        let texts = ["at once", "queue", "thread", "task"]
        try await broker.enqueue(texts.map { Note($0) })
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == texts)
        #expect(broker.statistics.succeeded == 4)
        #expect(broker.statistics.repeatedCompletions + broker.statistics.droppedCompletions == 0)
    }

    @Test("G3: the queue waits until the completion is called, though the handler has returned")
    func queueWaits() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let (log, inside) = (EventLog<String>(), HandlersInside())
        let keeper = Keeper()
        try broker.route(
            "*",
            to: NoteHandler { note, attempt, completion in
                inside.enter(attempt.queue)
                keeper.keep(completion)
                log.append(note.text)
            }
        )
        try await broker.enqueue([Note("a"), Note("b"), Note("other", in: "other")])
        try await running(broker) {
            _ = try await log.wait(forCount: 2)
            try await inside.settle(broker)
            #expect(Set(log.elements) == ["a", "other"] && inside.most == 1)
            for queue in ["notes", "other"] as [QueueName] { inside.leave(queue) }
            keeper.take()?(.success)
            keeper.take()?(.success)
            _ = try await log.wait(forCount: 3)
            keeper.take()?(.success)
            await broker.waitUntilIdle()
        }
        #expect(log.elements.last == "b")
    }

    @Test("A dropped completion counts as thrown: it is retried by the policy, says so, and is counted")
    func dropped() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let errors = EventLog<String?>()
        let handler = NoteHandler { _, attempt, completion in
            errors.append(attempt.lastError)
            if attempt.number > 1 { completion(.success) }
        }
        try broker.route("*", to: handler, retrying(.fixed(.zero)))
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(errors.elements == [nil, "the handler dropped its completion without calling it"])
        #expect(broker.statistics.droppedCompletions == 1)
        #expect(broker.statistics.retried == 1)
    }

    @Test("G6: a completion that is called twice, also late, is counted and changes nothing")
    func twice() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        let keeper = Keeper()
        try broker.route(
            "*",
            to: NoteHandler { note, _, completion in
                log.append(note.text)
                completion(.success)
                completion(.fail("the second call"))
                keeper.keep(completion)
            }
        )
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            await broker.waitUntilIdle()
            let late = try #require(keeper.take())
            late(.retry)
            late(throwing: TestError("the fourth call"))
            await broker.waitUntilIdle()
        }
        #expect(log.elements == ["a", "b"])
        #expect(broker.statistics.succeeded == 2)
        #expect(broker.statistics.repeatedCompletions == 4)
        #expect(broker.statistics.droppedCompletions == 0)
        try await #expect(broker.actionCount() == 0)
        try await #expect(broker.deadLetters().isEmpty)
    }

    @Test("A completion told of an error is a throw; one told of another outcome is that outcome")
    func outcomes() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let errors = EventLog<String?>()
        let handler = NoteHandler { _, attempt, completion in
            errors.append(attempt.lastError)
            switch attempt.number {
            case 1: completion(throwing: TestError("no network"))
            case 2: completion(.retry(after: .zero))
            default: completion(.fail("no room"))
            }
        }
        try broker.route("*", to: handler, RouteOptions(retry: .fixed(.zero), failure: .all(.skip)))
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(errors.elements == [nil, "no network", "the handler asked for a retry"])
        try await #expect(broker.deadLetters().map(\.error) == ["no room"])
    }

    @Test("G3: a timeout tells the completion; the slot is free when it is called or dropped, not before")
    func timeout() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String?>()
        let cancelled = Signal()
        let keeper = Keeper()
        let handler = NoteHandler { note, attempt, completion in
            defer { log.append(attempt.lastError) }
            guard note.text == "a", attempt.number == 1 else { return completion(.success) }
            keeper.keep(completion)
            completion.onCancel { cancelled.send() }
        }
        try broker.route("*", to: handler, RouteOptions(retry: .fixed(.zero), timeout: .seconds(5)))
        try await broker.enqueue([Note("a"), Note("b")])
        try await running(broker) {
            _ = try await log.wait(forCount: 1)
            try await site.clock.waitForSleeper(untilUptime: .seconds(5))
            site.clock.advance(by: .seconds(5))
            try await cancelled.received()
            site.clock.advance(by: .seconds(500))
            try await broker.enqueue(Note("c"))
            #expect(log.elements.count == 1)
            #expect(broker.statistics.droppedCompletions == 0)
            keeper.drop()
            await broker.waitUntilIdle()
        }
        #expect(log.elements == [nil, "timed out after 5.0 seconds", nil, nil])
        #expect(broker.statistics.droppedCompletions == 1)
        #expect(broker.statistics.timeouts == 1)
    }

    @Test("A completion says whether it is cancelled, and an action given late is called at once")
    func cancellation() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let keeper = Keeper()
        let (started, cancelled) = (Signal(), Signal())
        try broker.route(
            "*",
            to: NoteHandler { _, _, completion in
                keeper.keep(completion)
                started.send()
            }
        )
        let id = try await broker.enqueue(Note("a")).id
        try await running(broker) {
            try await started.received()
            let completion = try #require(keeper.take())
            #expect(!completion.isCancelled)
            completion.onCancel { Issue.record("the first action was replaced") }
            completion.onCancel { cancelled.send() }
            try await broker.cancel(id)
            try await cancelled.received()
            #expect(completion.isCancelled)
            completion.onCancel { cancelled.send() }
            try await cancelled.received(2)
            completion(throwing: CancellationError())
            await broker.waitUntilIdle()
        }
        try await #expect(broker.actionCount() == 0)
    }

    @Test("A payload that does not decode never reaches the handler, and no completion is counted as dropped")
    func undecodable() async throws {
        let site = try Site(.memory)
        let broker = try await site.broker()
        let options = RouteOptions(failure: .all(.skip))
        try broker.route("*", to: NoteHandler { _, _, completion in completion(.success) }, options)
        try await broker.enqueue(raw: [RawAction(queue: "notes", kind: "note", payload: "{}")])
        try await running(broker) { await broker.waitUntilIdle() }
        try await #expect(broker.deadLetters().map(\.cause) == [.undecodable])
        #expect(broker.statistics.droppedCompletions == 0)
    }

    @Test("A handler as a type of its own is called with the action and its attempt")
    func handlerProtocol() async throws {
        struct Recorder: Handler {
            let log: EventLog<String>
            func handle(_ action: Note, _ attempt: Attempt) async throws -> Outcome {
                log.append("\(action.text) \(attempt.queue) \(attempt.kind) \(attempt.number)")
                return .success
            }
        }
        let site = try Site(.memory)
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.route("notes", to: Recorder(log: log))
        try await broker.enqueue(Note("a"))
        try await running(broker) { await broker.waitUntilIdle() }
        #expect(log.elements == ["a notes note 1"])
    }
}
