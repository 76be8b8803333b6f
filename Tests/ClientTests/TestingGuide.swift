import Foundation
import Sluice
import SluiceTestKit
import Testing

/// Cannot be reached for the first calls, as many as `failures`; accepts all later ones.
final class RecordingServer: ChatServer {
    private struct Unreachable: Error {}

    let received = EventLog<String>()
    let keys = EventLog<String>()
    private let calls = EventLog<Void>()
    private let failures: Int

    init(failures: Int = 0) { self.failures = failures }

    func send(_ text: String, to conversation: String, key: String) async throws {
        calls.append(())
        if calls.elements.count <= failures { throw Unreachable() }
        received.append(text)
        keys.append(key)
    }
}

@Suite("Sending", .broker(.file)) struct SendingTests {
    @Test("Messages of a conversation arrive in their order") func order() async throws {
        let test = try TestBroker.current
        let server = RecordingServer()
        try test.broker.route("conversation/*", to: Sender(server: server))
        for text in ["one", "two", "three"] {
            try await test.broker.enqueue(SendMessage(conversation: "42", text: text))
        }
        try await test.drain()
        #expect(server.received.elements == ["one", "two", "three"])
    }
}

@Test("A message waits while the server cannot be reached", .broker())
func retries() async throws {
    let test = try TestBroker.current
    let server = RecordingServer(failures: 2)
    let options = RouteOptions(retry: .fixed(.seconds(30)))
    try test.broker.route("conversation/*", to: Sender(server: server), options)
    try await test.broker.enqueue(SendMessage(conversation: "42", text: "hello"))

    try await test.drain()
    let status = try await test.broker.status(of: "conversation/42")
    #expect(status.state == .retry, "\(status)")

    test.clock.advance(by: .seconds(30))
    try await test.drain()
    #expect(server.received.elements.isEmpty)

    try await test.drain(for: .seconds(3_600))
    #expect(server.received.elements == ["hello"])
}

@Test("A message that waits says why", .broker())
func stuck() async throws {
    let test = try TestBroker.current
    let server = RecordingServer(failures: 1)
    let options = RouteOptions(retry: .fixed(.seconds(30)))
    try test.broker.route("conversation/*", to: Sender(server: server), options)
    let message = try await test.broker.enqueue(SendMessage(conversation: "42", text: "hello"))
    let error = await #expect(throws: TestBroker.Stuck.self) { try await test.settled(message.id) }
    #expect(error?.description.hasSuffix("; advance the clock") == true)
    test.clock.advance(by: .seconds(30))
    #expect(try await test.settled(message.id) == .succeeded)
}

@Test("A message that is refused stops its conversation, and no other", .broker())
func refused() async throws {
    let test = try TestBroker.current
    let sender = ScriptedHandler<SendMessage>(.returns(.fail("refused")), .throws(Rejected()))
    try test.broker.route("conversation/*", to: sender, RouteOptions(retry: .fixed(.seconds(5))))
    try await test.broker.enqueue(SendMessage(conversation: "1", text: "refused"))
    try await test.drain()
    try await test.broker.enqueue(SendMessage(conversation: "1", text: "behind it"))
    try await test.broker.enqueue(SendMessage(conversation: "2", text: "of another"))
    try await test.drain(for: .seconds(60))

    #expect(sender.calls.elements.map(\.action.text) == ["refused", "of another", "of another"])
    #expect(sender.calls.elements.map(\.attempt.number) == [1, 1, 2])
    let status = try await test.broker.status(of: "conversation/1")
    #expect(status.state == .parked, "\(status)")
}

@Test("A message that is cancelled while it is sent does not come back", .broker())
func cancelled() async throws {
    let test = try TestBroker.current
    let sender = ScriptedHandler<SendMessage>()
    try test.broker.route("conversation/*", to: sender)
    test.holdAttempts(heedingCancellation: false)
    let message = try await test.broker.enqueue(SendMessage(conversation: "1", text: "no, wait"))
    try await test.drain()
    #expect(test.heldAttempts.map(\.id) == [message.id])

    #expect(try await test.broker.cancel(message.id) == .signalled)
    try await test.finish(message.id, throwing: Rejected())
    #expect(try await test.settled(message.id) == .removed)
    #expect(sender.calls.elements.isEmpty)
}

@Test("Messages wait for the network, over a restart too")
func network() async throws {
    let server = RecordingServer()
    let test = try await TestBroker(.file) { broker in
        var options = RouteOptions()
        options.gates = ["network"]
        try broker.route("conversation/*", to: Sender(server: server), options)
    }
    let message = try await test.broker.enqueue(SendMessage(conversation: "1", text: "hello"))
    try await test.drain()
    try await test.restart()
    #expect(server.received.elements.isEmpty)

    try await test.openGate("network")
    try await test.events.wait(for: .succeeded, of: message.id)
    #expect(server.received.elements == ["hello"])
    #expect(test.violations.isEmpty)
    try await test.close()
}

@Test("A message that is sent twice because of a crash has one key")
func crash() async throws {
    let server = RecordingServer()
    let test = try await TestBroker(.file) { try $0.route("conversation/*", to: Sender(server: server)) }
    let message = try await test.broker.enqueue(SendMessage(conversation: "1", text: "hello"))
    try await test.crash(afterHandlerOf: message.id)
    #expect(try await test.settled(message.id) == .succeeded)
    #expect(server.received.elements == ["hello", "hello"])
    #expect(Set(server.keys.elements).count == 1)
    try await test.close()
}

// The code of <Sources/SluiceTestKit/SluiceTestKit.docc/TestingYourHandlers.md> is here; its handler has a
// file of its own.
@Suite("Guide: testing your handlers") struct TestingGuideTests {
    private static func text(_ path: String) throws -> String {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    @Test("The code of the guide is the one that is compiled here") func isCompiled() throws {
        let guide = try Self.text("Sources/SluiceTestKit/SluiceTestKit.docc/TestingYourHandlers.md")
        let handler = try Self.text("Tests/ClientTests/TestingGuideHandler.swift")
        let database = try Self.text("Tests/ClientTests/TestingGuideDatabase.swift")
        let code = try handler + database + Self.text("Tests/ClientTests/TestingGuide.swift")
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        #expect(blocks.count == 9)
        for block in blocks { #expect(code.contains(block), "\(block)") }
    }
}
