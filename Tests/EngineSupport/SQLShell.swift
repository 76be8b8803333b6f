#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import TestSupport
import Testing

@testable import Sluice

/// The plain `sqlite3` shell on a file: what section 5 of the contract promises, it must do.
struct SQLShell {
    /// What the shell says when it refuses a statement.
    struct TestError: Error, CustomStringConvertible {
        let description: String
    }

    let path: String
    /// Keeps a file that nobody else keeps.
    private let file: TemporaryFile?

    init(_ path: String, keeping file: TemporaryFile? = nil) {
        self.path = path
        self.file = file
    }

    /// Runs statements and gives the lines that they answer.
    @discardableResult
    func run(_ sql: String) async throws -> [String] {
        // -init: nothing of the user's own settings. The busy timeout is the one thing that the shell lacks.
        // No pipe to its input: a shell that ends before it has read all would end this process with SIGPIPE.
        let result = try await Subprocess.run(
            .name("sqlite3"),
            arguments: ["-batch", "-bail", "-init", "/dev/null", "-cmd", ".timeout 10000", path, sql],
            output: .string(limit: 1 << 22),
            error: .string(limit: 1 << 16)
        )
        guard result.terminationStatus.isSuccess else {
            throw TestError(description: result.standardError)
        }
        return result.standardOutput.split(separator: "\n", omittingEmptySubsequences: false)
            .dropLast().map(String.init)
    }

    /// The one line that a statement answers.
    func line(_ sql: String) async throws -> String {
        let lines = try await run(sql)
        guard lines.count == 1 else { throw Unexpected(description: "\(lines.count) lines: \(lines)") }
        return lines[0]
    }

    /// What the shell says when it refuses a statement; empty where it does not.
    func refusal(_ sql: String) async -> String {
        do {
            try await run(sql)
            return ""
        } catch {
            return "\(error)"
        }
    }
}

/// A file that no broker has open, with the schema and nothing else.
func closedFile() async throws -> (file: TemporaryFile, shell: SQLShell) {
    let file = try TemporaryFile()
    try await openAndClose(file.path)
    return (file, SQLShell(file.path, keeping: file))
}

extension StoreFixture {
    var shell: SQLShell { SQLShell(file.path) }
}
#else
#error("these tests start processes: swift test --enable-all-traits")
#endif
