import Sluice

struct SendMessage: Action {
    static let kind = "send-message"
    var conversation: String
    var text: String

    var queue: QueueName { "conversation/\(conversation)" }
}

protocol ChatServer: Sendable {
    func send(_ text: String, to conversation: String, key: String) async throws
}

/// The server never accepts this message.
struct Rejected: Error {}

struct Sender: Handler {
    let server: any ChatServer

    func handle(_ message: SendMessage, _ attempt: Attempt) async throws -> Outcome {
        do {
            try await server.send(message.text, to: message.conversation, key: attempt.idempotencyKey)
            return .success
        } catch is Rejected {
            return .fail("the server does not want it")
        }
    }
}
