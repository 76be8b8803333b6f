import Sluice
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("A broker for tests", .watched)
struct TestBrokerTests {
    @Test("Draining runs all that can run, and lets no time pass", arguments: TestBroker.Storage.allCases)
    func drain(_ storage: TestBroker.Storage) async throws {
        let test = try await TestBroker(storage)
        let handler = ScriptedHandler<Note>(.throws(TestError("no")))
        try test.broker.route("*", to: handler, retrying(.fixed(.seconds(10))))
        let first = try await test.broker.enqueue(Note("a", in: "a")).id
        try await test.broker.enqueue(Note("b", in: "a"))
        try await test.drain()
        #expect(handler.calls.elements.map(\.action.text) == ["a"])
        try await test.broker.enqueue(Note("c", in: "c"))
        try await test.drain()
        #expect(handler.calls.elements.map(\.action.text) == ["a", "c"])
        #expect(test.clock.uptime == .zero)
        try await test.drain(for: .seconds(15))
        #expect(handler.calls.elements.map(\.action.text) == ["a", "c", "a", "b"])
        #expect(handler.calls.elements.map(\.attempt.number) == [1, 1, 2, 1])
        #expect(test.clock.uptime == .seconds(15))
        #expect(try await test.events.wait(for: .succeeded, of: first).attempt == 2)
        #expect(test.violations.isEmpty)
        try await test.close()
    }

    @Test("Draining waits for a handler that takes its time, and for commits of another connection")
    func slowHandler() async throws {
        let test = try await TestBroker(.file)
        let (begun, mayEnd) = (Signal(), Signal())
        try test.broker.route("*", Note.self) { _, _ in
            begun.send()
            try await mayEnd.received()
            return .success
        }
        try Connection(path: #require(test.path), mode: .write).execute(
            "INSERT INTO sluice_actions (queue, kind, payload) VALUES ('q', 'note', '{\"text\":\"a\"}')"
        )
        async let drained: Void = test.drain()
        try await begun.received()
        #expect(try await test.broker.actionCount() == 1)
        mayEnd.send()
        try await drained
        #expect(try await test.broker.actionCount() == 0)
        try await test.close()
    }

    @Test("Each step lets one attempt go, in the order of their claims")
    func steps() async throws {
        let test = try await TestBroker()
        let handler = ScriptedHandler<Note>()
        try test.broker.route("*", to: handler)
        for text in ["a", "b"] { try await test.broker.enqueue(Note(text, in: QueueName(text))) }
        try await test.broker.enqueue(Note("c", in: "a"))
        var texts: [[String]] = []
        while try await test.step() != nil { texts.append(handler.calls.elements.map(\.action.text)) }
        #expect(texts == [["a"], ["a", "b"], ["a", "b", "c"]])
        test.letAttemptsGo()
        try await test.broker.enqueue(Note("d"))
        try await test.drain()
        #expect(handler.calls.elements.count == 4)
        try await test.close()
    }

    @Test("An attempt that is held ends as the test says, and its handler is not called")
    func finish() async throws {
        let test = try await TestBroker()
        let handler = ScriptedHandler<Note>()
        try test.broker.route("*", to: handler, retrying(.fixed(.seconds(1))))
        test.holdAttempts()
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.drain()
        #expect(try await test.finish(id, throwing: TestError("no")))
        #expect(try await test.finish(id) == false)
        try await test.drain(for: .seconds(1))
        #expect(test.heldAttempts.map(\.number) == [2])
        #expect(test.heldAttempts.first?.lastError == "no")
        #expect(try await test.finish(id, with: .success))
        #expect(try await test.broker.actionCount() == 0)
        #expect(handler.calls.elements.isEmpty)
        try await test.close()
    }

    @Test("A held attempt that is cancelled ends, unless it is not to heed that", arguments: [true, false])
    func cancelled(heedsCancellation: Bool) async throws {
        let test = try await TestBroker { try $0.route("*", to: ScriptedHandler<Note>()) }
        test.holdAttempts(heedingCancellation: heedsCancellation)
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.drain()
        #expect(try await test.broker.cancel(id) == .signalled)
        try await test.drain()
        #expect(test.heldAttempts.isEmpty == heedsCancellation)
        try await test.stop()
        #expect(try await test.broker.actionCount() == 0)
        #expect(test.events.history.events.map(\.kind).contains(.removed))
        try await test.close()
    }

    @Test("A stop starts nothing, though what was cancelled and held ends with it")
    func stopsFirst() async throws {
        // So many that the first of them could start what is behind it while the last is still to end.
        let queues = 2_000
        var options = BrokerOptions()
        options.concurrency = queues
        let test = try await TestBroker(options: options) { try $0.route("*", to: ScriptedHandler<Note>()) }
        test.holdAttempts(heedingCancellation: false)
        let notes = (0..<2 * queues).map { Note("a", in: QueueName("\($0 / 2)")) }
        try await test.broker.enqueue(notes)
        try await test.drain()
        for attempt in test.heldAttempts { try await test.broker.cancel(attempt.id) }
        try await test.stop()
        let kinds = test.events.history.events.map(\.kind)
        #expect(kinds.count { $0 == .removed } == queues)
        #expect(kinds.count { $0 == .started } == queues)
        #expect(try await test.broker.actionCount() == queues)
        try await test.close()
    }

    @Test(
        "A restart gives back what is held, and finds what the file has",
        arguments: TestBroker.Storage.allCases
    )
    func restart(_ storage: TestBroker.Storage) async throws {
        let test = try await TestBroker(storage) { try $0.route("*", to: ScriptedHandler<Note>()) }
        test.holdAttempts()
        let id = try await test.broker.enqueue(Note("a")).id
        try await test.drain()
        try await test.restart()
        try await test.drain()
        #expect(test.heldAttempts.map(\.id) == [id])
        #expect(test.heldAttempts.map(\.number) == [1])
        test.letAttemptsGo()
        try await test.drain()
        #expect(test.violations.isEmpty)
        let kinds = test.events.history.events.compactMap { $0.action == nil ? nil : $0.kind }
        #expect(kinds == [.enqueued, .started, .released, .started, .succeeded])
        try await test.close()
    }

    @Test("Time goes from one deadline to the next also while an attempt is held")
    func heldOverTime() async throws {
        var options = retrying(.fixed(.seconds(10)))
        options.timeout = .seconds(5)
        let test = try await TestBroker()
        try test.broker.route("*", to: ScriptedHandler<Note>(), options)
        test.holdAttempts()
        try await test.broker.enqueue(Note("a"))
        // Held at 0, 15, 30, 45 and 60 seconds, and timed out after five each.
        try await test.drain(for: .seconds(60))
        #expect(test.heldAttempts.map(\.number) == [5])
        #expect(test.clock.uptime == .seconds(60))
        try await test.close()
    }

    /// Runs each attempt twice at once, as an engine would that has lost count of its slots.
    private struct Doubling: Middleware {
        func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
            async let other = next()
            let result = try await next()
            _ = try await other
            return result
        }
    }

    @Test("G3: handlers of one queue that overlap are found, whatever the history tells")
    func overlap() async throws {
        var options = BrokerOptions()
        options.middleware = [Doubling()]
        let test = try await TestBroker(options: options)
        let begun = EventLog<ActionID>()
        try test.broker.route("*", Note.self) { _, attempt in
            begun.append(attempt.id)
            _ = try await begun.wait(forCount: 2)
            return .success
        }
        try await test.broker.enqueue(Note("a", in: "q"))
        try await test.drain()
        #expect(
            test.violations.map(\.description) == [
                "G3: a handler of action 1 began in q before those of [1] had returned"
            ]
        )
        try await test.close()
    }

    @Test("What cannot run throws, and does not hang")
    func closed() async throws {
        let test = try await TestBroker()
        try await test.close()
        #expect(await refusal { try await test.drain() } == .closed)
    }

    @Test("Time passes from one due time to the next, also when the wall clock has gone back meanwhile")
    func drainAfterStepBack() async throws {
        let log = EventLog<Duration>()
        let test = try await TestBroker(.file)
        try test.broker.route("*", Note.self, retrying(.fixed(.seconds(60)))) {
            [clock = test.clock] _, attempt in
            log.append(clock.uptime)
            return attempt.number == 1 ? .retry : .success
        }
        try await test.broker.enqueue(Note("a"))
        try await test.drain()
        test.clock.jumpWall(by: .seconds(-10))
        try await test.drain(for: .seconds(120))
        #expect(log.elements == [.zero, .seconds(60)])
        #expect(test.clock.uptime == .seconds(120))
        try await test.close()
    }
}

@Suite("The trait of a broker", .broker(.file) { try $0.route("*", to: ScriptedHandler<Note>()) }, .watched)
struct BrokerTraitTests {
    @Test("Each case has a broker of its own, with the routes of the set-up", arguments: 1...3)
    func ownBroker(_ count: Int) async throws {
        let test = try TestBroker.current
        try await test.broker.enqueue((0..<count).map { Note("\($0)") })
        try await test.drain()
        #expect(test.events.history.events.count { $0.kind == .succeeded } == count)
    }

    @Test("A test that fails is told of with its history: what breaks a promise fails it")
    func failing() async throws {
        let trait = BrokerTrait.broker { try $0.route("*", to: ScriptedHandler<Note>()) }
        let test = try #require(Test.current)
        try await withKnownIssue {
            try await trait.provideScope(for: test, testCase: Test.Case.current) {
                let inner = try TestBroker.current
                inner.holdAttempts()
                let id = try await inner.broker.enqueue(Note("a")).id
                try await inner.drain()
                let started = try await inner.events.wait(for: .started, of: id)
                inner.events.add(started)
            }
        } matching: { issue in
            issue.comments.contains { $0.rawValue == "G3: action 1 started while it ran" }
        }
    }
}
