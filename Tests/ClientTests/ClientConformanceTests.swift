import Sluice
import SluiceTestKit
import Testing

// What users write in modules without any upcoming feature: each requirement of a protocol must be met by it,
// and not by a default in its place.

private struct Audit: Middleware {
    let log: EventLog<String>

    func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID] {
        log.append("enqueues \(context.actions.count)")
        return try await next(context)
    }

    func attempt(_ context: AttemptContext, next: NextAttempt) async throws -> AttemptResult {
        log.append("attempt \(context.attempt.number)")
        return try await next()
    }
}

private struct Greeting: Action {
    static let kind = "greeting"
    static let version = 2
    var name: String
    var queue: QueueName { "greetings" }
    var sortKey: SortKey { .text(name) }
}

private struct Greeter: Handler {
    let log: EventLog<String>

    func handle(_ action: Greeting, _ attempt: Attempt) async throws -> Outcome {
        log.append("greets \(action.name), version \(attempt.version)")
        return .success
    }
}

private struct CallingBack: CompletionHandler {
    let log: EventLog<String>

    func handle(_ action: Greeting, _ attempt: Attempt, completion: Completion) {
        log.append("calls back for \(action.name)")
        completion(.success)
    }
}

@Suite("A user's module, without our settings", .timeLimit(.minutes(2))) struct ClientConformanceTests {
    private func run(_ route: (Broker, EventLog<String>) throws -> Void) async throws -> [String] {
        let log = EventLog<String>()
        var options = BrokerOptions()
        options.middleware = [Audit(log: log)]
        let broker = try await Broker.inMemory(options)
        try route(broker, log)
        try await broker.enqueue(Greeting(name: "Ada"))
        let running = Task { try await broker.run() }
        await broker.waitUntilIdle()
        await broker.close()
        try await running.value
        return log.elements
    }

    @Test("Middleware goes around enqueues and attempts, and a handler handles")
    func handler() async throws {
        let told = try await run { broker, log in try broker.route("greetings", to: Greeter(log: log)) }
        #expect(told == ["enqueues 1", "attempt 1", "greets Ada, version 2"])
    }

    @Test("A handler that calls back is called")
    func completion() async throws {
        let told = try await run { broker, log in try broker.route("greetings", to: CallingBack(log: log)) }
        #expect(told == ["enqueues 1", "attempt 1", "calls back for Ada"])
    }
}
