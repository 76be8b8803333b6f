import Foundation
import Observation
import Sluice
import SluiceObservation
import SluiceTestKit
import Testing

// The code of <Sources/Sluice/Sluice.docc/ShowingQueues.md>, and a test that uses it.

struct PostMessage: Action {
    static let kind = "post-message"
    var message: UUID
    var conversation: String
    var text: String

    var queue: QueueName { "conversation/\(conversation)" }
}

struct ChatMessage: Identifiable, Sendable {
    let id = UUID()
    var text: String

    var tag: String { id.uuidString }
}

@MainActor
@Observable
final class Chat {
    private(set) var messages: [ChatMessage] = []
    private var ends: [UUID: ActionEnd] = [:]
    let conversation: String
    let outbox: ActionListModel
    private let broker: Broker

    init(_ conversation: String, _ broker: Broker) {
        (self.conversation, self.broker) = (conversation, broker)
        outbox = ActionListModel(broker, .queue("conversation/\(conversation)"))
    }

    func send(_ text: String) async throws {
        let message = ChatMessage(text: text)
        let post = PostMessage(message: message.id, conversation: conversation, text: text)
        // By its tag a message finds its action.
        let receipt = try await broker.enqueue(post, EnqueueOptions(tag: message.tag))
        // Only now is there something that its buttons can cancel and edit.
        messages.append(message)
        // The list never has an action that ends at once.
        Task { [weak self] in
            let end = try await receipt.settled()
            self?.ends[message.id] = end
        }
    }

    func note(on message: ChatMessage) -> String {
        // The list may still show an action whose end is known.
        if ends[message.id] == .succeeded { return "sent" }
        guard let state = outbox[tag: message.tag] else {
            return switch outbox.end(tag: message.tag) ?? ends[message.id] {
            case .succeeded: "sent"
            case nil: "sending"
            default: "not to be sent"
            }
        }
        return switch state.phase {
        case .waiting: "queued: \(outbox.because(of: state).first?.description ?? "")"
        case .retrying(let date): "trying again at \(date.formatted(date: .omitted, time: .standard))"
        case .parked, .dead: "not sent: \(state.lastError ?? "")"
        default: "sending"
        }
    }

    func canRetry(_ message: ChatMessage) -> Bool {
        switch outbox[tag: message.tag]?.phase {
        case .parked, .dead, .retrying: true
        default: false
        }
    }

    func retry(_ message: ChatMessage) { outbox.retry(tag: message.tag) }

    func edit(_ message: ChatMessage, to text: String) async {
        let post = PostMessage(message: message.id, conversation: conversation, text: text)
        // A message that is being sent, or has been sent, keeps its text.
        guard await outbox.edit(tag: message.tag, to: post).value == .done else { return }
        if let index = messages.firstIndex(where: { $0.id == message.id }) { messages[index].text = text }
    }

    func cancel(_ message: ChatMessage) {
        messages.removeAll { $0.id == message.id }
        outbox.cancel(tag: message.tag)
    }
}

#if canImport(SwiftUI)
import SwiftUI

struct ChatView: View {
    let chat: Chat

    var body: some View {
        List(chat.messages) { message in
            VStack(alignment: .leading) {
                Text(message.text)
                Text(chat.note(on: message)).font(.caption)
                if chat.canRetry(message) { Button("Try again") { chat.retry(message) } }
            }
            .swipeActions { Button("Delete", role: .destructive) { chat.cancel(message) } }
        }
        .overlay { if let error = chat.outbox.error { Text(error.localizedDescription) } }
    }
}
#endif

@MainActor final class Badge {
    private(set) var failures = 0
    private var token: ObservationToken?

    init(_ broker: Broker) {
        token = broker.observeOnMain { [weak self] element in
            if case .event(let event) = element, event.kind == .failed { self?.failures += 1 }
        }
    }
}

/// Returns when a condition holds; it is read again after each change of what it reads.
@MainActor
private func until(_ condition: () -> Bool) async throws {
    while true {
        let changed = EventLog<Void>()
        let holds = withObservationTracking {
            condition()
        } onChange: {
            changed.append(())
        }
        if holds { return }
        _ = try await changed.wait(forCount: 1)
    }
}

@Suite("Guide: showing actions", .timeLimit(.minutes(1))) @MainActor struct ShowingGuideTests {
    @Test("The code of the guide is the one that is compiled here") func isCompiled() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        func text(_ path: String) throws -> String {
            try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
        }
        let guide = try text("Sources/Sluice/Sluice.docc/ShowingQueues.md")
        let code = try text("Tests/ClientTests/ShowingGuide.swift")
        let blocks = guide.components(separatedBy: "```swift\n").dropFirst().map {
            $0.components(separatedBy: "```")[0]
        }
        // A block without an ellipsis is compiled; the others leave parts to the reader.
        let whole = blocks.filter { !$0.contains("…") }
        #expect(whole.count == 5)
        for block in whole { #expect(code.contains(block), "\(block)") }
    }

    @Test("Messages are shown as queued, retrying, refused and sent, and can be edited, retried and deleted")
    func shows() async throws {
        let test = try await TestBroker()
        let chat = Chat("42", test.broker)
        let options = RouteOptions(retry: .fixed(.seconds(30)))
        try test.broker.route("conversation/*", PostMessage.self, options) { post, attempt in
            if post.text == "refused" { return .fail("too rude") }
            return attempt.number == 1 ? .retry : .success
        }
        try await chat.send("hello")
        try await chat.send("refused")
        try await chat.send("deleted")
        let messages = chat.messages
        try await until { messages.allSatisfy { chat.note(on: $0) == "queued: broker stopped" } }
        try await test.drain()
        try await until { chat.note(on: messages[0]).hasPrefix("trying again at ") }
        try await until { chat.note(on: messages[1]).hasPrefix("queued: waiting for retry until ") }
        #expect(chat.canRetry(messages[0]) && !chat.canRetry(messages[1]))
        try await test.drain(for: .seconds(30))
        try await until { chat.note(on: messages[1]) == "not sent: too rude" && chat.canRetry(messages[1]) }
        try await until { chat.note(on: messages[0]) == "sent" }
        chat.cancel(messages[2])
        try await until { chat.outbox.end(tag: messages[2].tag) == .removed }
        await chat.edit(messages[1], to: "polite")
        chat.retry(messages[1])
        try await until { chat.messages.map { chat.note(on: $0) } == ["sent", "sent"] }
        #expect(chat.messages.map(\.text) == ["hello", "polite"])
        #expect(chat.outbox.error == nil)
    }

    @Test("Deleted or edited right after it is stored, a message is not sent, or with its new text")
    func rightAfterSending() async throws {
        let test = try await TestBroker()
        let sent = EventLog<String>()
        let chat = Chat("42", test.broker)
        try test.broker.route("conversation/*", PostMessage.self) { post, _ in
            sent.append(post.text)
            return .success
        }
        try await chat.send("deleted")
        chat.cancel(chat.messages[0])
        try await chat.send("rude")
        await chat.edit(chat.messages[0], to: "polite")
        #expect(chat.messages.map(\.text) == ["polite"])
        try await until { chat.outbox[tag: chat.messages[0].tag] != nil }
        try await test.drain()
        #expect(sent.elements == ["polite"])
        try await until { chat.note(on: chat.messages[0]) == "sent" }
        await chat.edit(chat.messages[0], to: "too late")
        #expect(chat.messages.map(\.text) == ["polite"])
    }

    @Test("A message that is being sent keeps its text")
    func whileSending() async throws {
        let test = try await TestBroker()
        let sent = EventLog<String>()
        let chat = Chat("42", test.broker)
        try test.broker.route("conversation/*", PostMessage.self) { post, _ in
            sent.append(post.text)
            return .success
        }
        test.holdAttempts()
        try await chat.send("old")
        try await test.drain()
        await chat.edit(chat.messages[0], to: "new")
        try await until { chat.note(on: chat.messages[0]) == "sending" }
        try await test.step()
        try await until { chat.note(on: chat.messages[0]) == "sent" }
        #expect(sent.elements == ["old"] && chat.messages.map(\.text) == ["old"])
    }

    @Test("A message whose action somebody else removes is not shown as being sent")
    func removedByOthers() async throws {
        let test = try await TestBroker()
        let chat = Chat("42", test.broker)
        try await chat.send("hello")
        let message = chat.messages[0]
        try await until { chat.outbox[tag: message.tag] != nil }
        try await test.broker.cancel(queues: "conversation/42")
        try await until { chat.note(on: message) == "not to be sent" }
    }
}
