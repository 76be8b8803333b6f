import Sluice

struct SendMessage: Action {
    static let kind = "send-message"
    var conversation, text: String
    var queue: QueueName { "conversation/\(conversation)" }
}

func chat(_ path: String, send: @escaping @Sendable (SendMessage, String) async throws -> Void) async throws {
    let outbox = try await Broker(file: path)
    try outbox.route("conversation/*", SendMessage.self) { message, attempt in
        try await send(message, attempt.idempotencyKey)
        return .success
    }
    try await outbox.enqueue(SendMessage(conversation: "42", text: "Are you there?"))
    try await outbox.run()
    await outbox.close()
}
