import Foundation
import Sluice

struct SendMessage: Action {
    static let kind = "send-message"  // stored; outlives renames of the type
    var conversation: String
    var sentAt: Date
    var text: String

    var queue: QueueName { "conversation/\(conversation)" }
    var sortKey: SortKey { .date(sentAt) }
}

/// Whatever takes your messages; it may fail at any time.
protocol ChatServer: Sendable {
    func send(_ text: String, to conversation: String, transaction: String) async throws
}

func openOutbox(_ path: String, sendingTo server: any ChatServer) async throws -> Broker {
    let broker = try await Broker(file: path)
    try broker.route("conversation/*", SendMessage.self) { message, attempt in
        try await server.send(message.text, to: message.conversation, transaction: attempt.idempotencyKey)
        return .success
    }
    return broker
}

func chat(_ outbox: Broker) async throws {
    async let running: Void = outbox.run()  // until stopped

    // Durable when it returns: it leaves as soon as the server takes it, after a crash too.
    try await outbox.enqueue(SendMessage(conversation: "42", sentAt: .now, text: "Are you there?"))
    try await outbox.enqueue(SendMessage(conversation: "42", sentAt: .now, text: "Hello?"))
    try await outbox.enqueue(SendMessage(conversation: "7", sentAt: .now, text: "This one waits for nobody."))

    await outbox.waitUntilIdle()
    await outbox.stop()
    try await running
}
