#if PostgreSQL
import Foundation
import Sluice
import SluicePostgres

// The program at the start of <Sources/SluicePostgres/SluicePostgres.docc/SluicePostgres.md>.
enum PostgresStart {
    struct SendMessage: Action {
        static let kind = "send-message"
        var conversation, text: String
        var queue: QueueName { "conversation/\(conversation)" }
    }

    static func chat(
        _ server: String,
        send: @escaping @Sendable (SendMessage, String) async throws -> Void
    ) async throws {
        let broker = try await Broker(postgres: server)
        try broker.route("conversation/*", SendMessage.self) { message, attempt in
            try await send(message, attempt.idempotencyKey)
            return .success
        }
        try await broker.enqueue(SendMessage(conversation: "42", text: "Are you there?"))
        try await broker.run()
        await broker.close()
    }

    /// Never called, as it would not end.
    static func call() async throws {
        try await chat("postgres://sluice@localhost/app") { message, key in
            FileHandle.standardOutput.write(Data("\(message.text)\n".utf8))
        }
    }
}
#endif
