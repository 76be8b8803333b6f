import Sluice

struct SendMessage: Action {
    static let kind = "send-message"
    var conversation, text: String
    var queue: QueueName { "conversation/\(conversation)" }
}

func chat(_ path: String, send: @escaping @Sendable (SendMessage, String) async throws -> Void) async throws {
    let broker = try await Broker(file: path)
    try broker.route("conversation/*", SendMessage.self) { message, attempt in
        try await send(message, attempt.idempotencyKey)
        return .success
    }
    try await broker.enqueue(SendMessage(conversation: "42", text: "Are you there?"))
    try await broker.run()
    await broker.close()
}
