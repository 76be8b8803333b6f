import Foundation
import Sluice
import SluiceTestKit
import Testing

@Suite("README") struct ReadmeTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("the example of the README is the one that is compiled here")
    func exampleIsCompiled() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let example = try String(
            contentsOf: Self.root.appendingPathComponent("Tests/SluiceTests/Readme/ReadmeExample.swift"),
            encoding: .utf8
        )
        #expect(readme.contains("```swift\n\(example)```"))
    }

    @Test("the example sends each conversation in order, to a server that fails at first")
    func exampleRuns() async throws {
        let file = try TemporaryFile()
        let server = ForgetfulServer()
        let outbox = try await openOutbox(file.path, sendingTo: server)
        try await chat(outbox)
        #expect(server.received("42") == ["Are you there?", "Hello?"])
        #expect(server.received("7") == ["This one waits for nobody."])
        #expect(try await outbox.actionCount() == 0)
        await outbox.close()
    }
}

/// Refuses the first message that it is sent, and takes every other.
private final class ForgetfulServer: ChatServer {
    private struct Refused: Error {}

    private let log = EventLog<(conversation: String, text: String)>()
    private let calls = EventLog<String>()

    func received(_ conversation: String) -> [String] {
        log.elements.filter { $0.conversation == conversation }.map(\.text)
    }

    func send(_ text: String, to conversation: String, transaction: String) async throws {
        calls.append(transaction)
        if calls.elements.first == transaction, calls.elements.count == 1 { throw Refused() }
        log.append((conversation, text))
    }
}
