import Sluice
import SluiceTestKit
import Testing

@testable import outbox

/// Is offline in one conversation for one call, and records all other calls.
final class TestServer: ChatServer {
    let received = EventLog<String>()
    let keys = EventLog<String>()
    private let failures = EventLog<String>()
    private let offline: String

    init(offline: String = "") { self.offline = offline }

    func send(_ text: String, to conversation: String, key: String) async throws {
        if conversation == offline, failures.elements.isEmpty {
            failures.append(text)
            throw Offline()
        }
        received.append("\(conversation): \(text)")
        keys.append(key)
    }
}

@Suite("The outbox") struct OutboxTests {
    @Test("A conversation that is offline keeps its order and delays no other", .broker())
    func order() async throws {
        let test = try TestBroker.current
        let server = TestServer(offline: "Bo")
        try addRoutes(to: test.broker, server: server)
        for (name, text) in [("Bo", "one"), ("Bo", "two"), ("Ana", "hello")] {
            try await test.broker.enqueue(SendMessage(conversation: name, text: text))
        }
        try await test.drain()
        #expect(server.received.elements == ["Ana: hello"])

        try await test.drain(for: .seconds(10))
        #expect(server.received.elements == ["Ana: hello", "Bo: one", "Bo: two"])
    }
}
