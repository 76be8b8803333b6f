import Foundation

protocol ChatServer: Sendable {
    func send(_ text: String, to conversation: String, key: String) async throws
}

struct Offline: Error {}

/// Prints messages, except in a conversation with a file such as `Bo-is-offline`.
struct PrintingServer: ChatServer {
    func send(_ text: String, to conversation: String, key: String) async throws {
        if FileManager.default.fileExists(atPath: "\(conversation)-is-offline") { throw Offline() }
        // In a pipe, `print` would show nothing until the program ends.
        FileHandle.standardOutput.write(Data("\(conversation): \(text)\n".utf8))
    }
}
