import Foundation
import Sluice
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport

@Suite("README", .watched) struct ReadmeTests {
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

    @Test("the call of the README is the one that is compiled here")
    func callIsCompiled() throws {
        let readme = try String(contentsOf: Self.root.appendingPathComponent("README.md"), encoding: .utf8)
        let tests = try String(contentsOfFile: #filePath, encoding: .utf8)
        let blocks = readme.components(separatedBy: "```swift\nimport Foundation\n\n").dropFirst()
        let lines = try #require(blocks.first).components(separatedBy: "```")[0].split(separator: "\n")
        let call = lines.map { "    \($0)\n" }.joined()
        #expect(tests.contains("private func callOfReadme() async throws {\n\(call)}\n"))
    }

    @Test("the example sends its message once the server takes it, and keeps nothing")
    func exampleRuns() async throws {
        let file = try TemporaryFile()
        let server = ForgetfulServer()
        let running = Task { try await chat(file.path) { try server.take($0, $1) } }
        _ = try await server.taken.wait(forCount: 1)
        running.cancel()
        try await running.value
        #expect(server.taken.elements == ["42: Are you there?"])
        // Both attempts have one key, by which the server knows the second one.
        #expect(server.keys.elements.count == 2)
        #expect(Set(server.keys.elements).count == 1)
        let outbox = try await Broker(file: file.path)
        #expect(try await outbox.actionCount() == 0)
        await outbox.close()
    }
}

/// Never called, as it would not end.
private func callOfReadme() async throws {
    try await chat("outbox.sqlite") { message, key in
        FileHandle.standardOutput.write(Data("\(message.text)\n".utf8))
    }
}

/// Refuses the first message that it is sent, and takes every other.
private final class ForgetfulServer: Sendable {
    private struct Refused: Error {}

    let taken = EventLog<String>()
    let keys = EventLog<String>()

    func take(_ message: SendMessage, _ key: String) throws {
        keys.append(key)
        if keys.elements.count == 1 { throw Refused() }
        taken.append("\(message.conversation): \(message.text)")
    }
}
