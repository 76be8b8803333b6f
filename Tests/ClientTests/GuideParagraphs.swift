import Foundation
import Logging
import Sluice
import SluiceTestKit
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

#if GRDB
import GRDB
import SluiceGRDB
#endif

// Code of several guides: each block of a guide that is here is compared with it.

private struct Invite: Action {
    static let kind = "invite"
    var room: String

    var queue: QueueName { QueueName(room) }
}

/// Returns what is wrong with the name of a room; `nil` if the invitation is stored.
private func invite(to room: String, _ broker: Broker) async throws -> String? {
    do {
        try await broker.enqueue(Invite(room: room))
        return nil
    } catch let error as SluiceError where error.code == .invalidQueueName {
        return error.message
    }
}

private func outcome(status: Int, retryAfter: String?) -> Outcome {
    switch status {
    case 200..<300: .success
    case 429, 503:
        .release(
            after: RetryAfter.parse(retryAfter) ?? .seconds(5),
            closing: "server",
            because: "HTTP \(status)"
        )
    case 401: .release(after: .seconds(300), closing: "login", because: "HTTP 401")
    case 408, 425, 500...: .retry(because: "HTTP \(status)")
    default: .fail("HTTP \(status)")
    }
}

/// On Linux a cancellation must not reach `URLSession`: it could hang there, or trap (seen with Swift 6.3).
private func data(for request: URLRequest) async throws -> (Data, URLResponse) {
    #if canImport(FoundationNetworking)
    try await Task { try await URLSession.shared.data(for: request) }.value
    #else
    try await URLSession.shared.data(for: request)
    #endif
}

private func route(_ broker: Broker, _ server: URL, _ options: RouteOptions) throws {
    try broker.route("conversation/*", SendMessage.self, options) { message, attempt in
        var request = URLRequest(url: server.appending(path: "send"))
        request.httpMethod = "PUT"
        // The same at each attempt: the server recognizes what it has already.
        request.setValue(attempt.idempotencyKey, forHTTPHeaderField: "Idempotency-Key")
        request.httpBody = try JSONEncoder().encode(message)
        // A URLError is thrown: the route's policy retries.
        let (_, response) = try await data(for: request)
        guard let answer = response as? HTTPURLResponse else { return .retry }
        return outcome(status: answer.statusCode, retryAfter: answer.value(forHTTPHeaderField: "Retry-After"))
    }
}

private func purge(_ broker: Broker) async throws {
    for letter in try await broker.deadLetters("customer/7") where letter.cause == .expired {
        try await broker.purge(letter.id)  // false: somebody else has purged or requeued it
    }
}

private func open(_ path: String) async throws -> Broker {
    var options = BrokerOptions()
    options.logger = Logger(label: "chat.outbox")
    options.logger.logLevel = .notice
    let broker = try await Broker(file: path, options: options)
    return broker
}

private struct Banned: Error {}

private struct WorkingHours: Middleware {}

private func isBanned(_ queue: QueueName) -> Bool { queue == "banned" }

private func report(_ kind: String, _ cause: FailureCause?, _ policy: FailurePolicy?) {}

private func optionsWithMiddleware() -> BrokerOptions {
    struct FailureReport: Middleware {
        func attempt(
            _ context: AttemptContext,
            next: NextAttempt
        ) async throws -> AttemptResult {
            let result = try await next()
            if result.kind == .failed { report(context.attempt.kind, result.cause, result.policy) }
            return result
        }

        func enqueue(_ context: EnqueueContext, next: NextEnqueue) async throws -> [ActionID] {
            for action in context.actions where isBanned(action.queue) { throw Banned() }
            return try await next(context)
        }
    }

    var options = BrokerOptions()
    options.middleware = [FailureReport(), WorkingHours()]
    return options
}

#if GRDB
private enum Records {
    struct Message: Codable, FetchableRecord, PersistableRecord {
        var id: Int64
        var text: String
        var number: Int?

        enum Columns {
            static let number = Column(CodingKeys.number)
        }
    }
}
#endif

@Suite("Guides: paragraphs", .timeLimit(.minutes(1))) struct GuideParagraphTests {
    /// The text of a file: no indentation, single spaces, no `private`.
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../..").standardized
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
            .replacing(/\n +/, with: "\n").replacing("private ", with: "")
    }

    @Test(
        "The code of the guides is the one that is compiled here",
        arguments: [
            ("Sluice/Sluice.docc/Enqueueing.md", "struct Invite"),
            ("Sluice/Sluice.docc/RetriesAndFailures.md", "for letter in"),
            ("Sluice/Sluice.docc/Operating.md", "var options = BrokerOptions()"),
            ("Sluice/Sluice.docc/CallingServers.md", "func outcome("),
            ("Sluice/Sluice.docc/CallingServers.md", "import FoundationNetworking"),
            ("Sluice/Sluice.docc/CallingServers.md", "func data(for request"),
            ("Sluice/Sluice.docc/CallingServers.md", "URLRequest(url"),
            ("Sluice/Sluice.docc/AroundAttempts.md", "struct FailureReport"),
            ("SluiceGRDB/SluiceGRDB.docc/SluiceGRDB.md", "enum Columns"),
        ]
    )
    func isCompiled(_ page: String, _ mark: String) throws {
        let code = try Self.text("Tests/ClientTests/GuideParagraphs.swift")
            .replacing("import Logging\nimport Sluice\nimport SluiceTestKit\nimport Testing\n", with: "")
        let blocks = try Self.text("Sources/" + page).components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        let marked = blocks.filter { $0.contains(mark) }
        #expect(marked.count == 1)
        for block in marked { #expect(code.contains(block), "\(block)") }
    }

    @Test("A name of a queue that is not valid is refused with a sentence, and nothing is stored", .broker())
    func names() async throws {
        let broker = try TestBroker.current.broker
        #expect(try await invite(to: "Ana's room", broker) == nil)
        for name in ["", "all/*", "nul\0", String(repeating: "x", count: 513)] {
            let message = try #require(try await invite(to: name, broker))
            #expect(message.contains("queue"), "\(message)")
        }
        #expect(try await broker.actionCount() == 1)
    }

    @Test("An expired dead letter is deleted, and another one stays", .broker())
    func purges() async throws {
        let test = try TestBroker.current
        struct Note: Action {
            static let kind = "note"
            var queue: QueueName { "customer/7" }
        }
        let options = RouteOptions(failure: FailurePolicies(failed: .skip))
        try test.broker.route("customer/*", Note.self, options) { _, _ in .fail("refused") }
        try await test.broker.enqueue(Note(), EnqueueOptions(expiresAt: test.clock.date - 1))
        try await test.broker.enqueue(Note())
        try await test.drain()
        try await purge(test.broker)
        #expect(try await test.broker.deadLetters().map(\.cause) == [.failed])
    }

    @Test("Middleware of the guide refuses an enqueue, and lets others through")
    func middleware() async throws {
        let broker = try await Broker.inMemory(optionsWithMiddleware())
        await #expect(throws: Banned.self) { try await broker.enqueue(Invite(room: "banned")) }
        try await broker.enqueue(Invite(room: "open"))
        #expect(try await broker.actionCount() == 1)
        await broker.close()
    }

    @Test("A broker with a logger of the application opens")
    func logs() async throws {
        let file = try TemporaryFile()
        let broker = try await open(file.path)
        await broker.close()
    }

    @Test("A handler that calls a server that is not there is tried again", .broker())
    func noServer() async throws {
        let test = try TestBroker.current
        // A port of this machine on which nobody listens.
        let server = try #require(URL(string: "http://127.0.0.1:1"))
        try route(test.broker, server, RouteOptions(retry: .fixed(.seconds(30))))
        try await test.broker.enqueue(SendMessage(conversation: "1", text: "hello"))
        try await test.drain()
        #expect(try await test.broker.status(of: "conversation/1").state == .retry)
    }
}
