#if CommandLineTool && PostgreSQL
import Foundation
import Subprocess
import TestSupport
import Testing

/// A schema of its own on the server of the tests, and room for scripts and logs.
final class ServerPlace {
    let server: TestServer
    let schema = "tool_\(UInt64.random(in: 0 ... .max))"
    let files: Workplace

    init(_ server: TestServer? = TestServer.shared) throws {
        self.server = try #require(server)
        files = try Workplace()
    }

    /// The options by which a verb finds the queues.
    var options: [String] { ["--postgres", server.url, "--schema", schema] }

    /// Runs a verb on the schema; the verb may have two words.
    func sluice(_ verb: String, _ arguments: String..., input: String = "") async throws -> Tool.Result {
        try await Tool.run(verb.split(separator: " ").map(String.init) + options + arguments, input: input)
    }

    /// Runs a verb that must succeed, and returns its output without the last line break.
    @discardableResult
    func output(_ verb: String, _ arguments: String..., input: String = "") async throws -> String {
        let words = verb.split(separator: " ").map(String.init)
        let result = try await Tool.run(words + options + arguments, input: input)
        try #require(result.status == .exited(0), "\(result)")
        return result.output.trimmingCharacters(in: .newlines)
    }

    /// Enqueues an action of the kind `k` in each queue; the payloads are 1, 2, 3 and so on.
    func enqueue(_ queues: String...) async throws {
        for (index, queue) in queues.enumerated() {
            try await output("enqueue", "--queue", queue, "--kind", "k", "--payload", "\(index + 1)")
        }
    }

    /// The queues, by name.
    func queues() async throws -> [[String: Any]] {
        try await sluice("queues", "--json", "--sort", "name").objects()
    }

    /// What psql answers; `@` stands for the schema.
    @discardableResult
    func sql(_ statement: String) async throws -> String {
        let text = statement.replacing("@", with: "\(schema).")
        let result = try await Tool.launch(
            "psql",
            [server.url, "-AtqX", "-v", "ON_ERROR_STOP=1", "-c", text]
        )
        try #require(result.status == .exited(0), "\(result)")
        return result.output.trimmingCharacters(in: .newlines)
    }
}
#endif
