protocol ChatServer: Sendable {
    func send(_ text: String, to conversation: String, key: String) async throws
}
