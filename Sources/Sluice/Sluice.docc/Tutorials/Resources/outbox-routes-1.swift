import Sluice

func addRoutes(to broker: Broker, server: some ChatServer) throws {
    try broker.route("conversation/*", SendMessage.self) { message, attempt in
        try await server.send(message.text, to: message.conversation, key: attempt.idempotencyKey)
        return .success
    }
}
