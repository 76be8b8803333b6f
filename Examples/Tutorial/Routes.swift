import Sluice

func addRoutes(to broker: Broker, server: some ChatServer) throws {
    let options = RouteOptions(retry: .exponential(limit: .seconds(10)))
    try broker.route("conversation/*", SendMessage.self, options) { message, attempt in
        try await server.send(message.text, to: message.conversation, key: attempt.idempotencyKey)
        return .success
    }
}
