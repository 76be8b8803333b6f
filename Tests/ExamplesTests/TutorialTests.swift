#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// The terminal sessions of `Tutorials/BuildAnOutbox.tutorial`, with the program of its last step.
@Suite("The tutorial's program", .watched) struct TutorialTests {
    @Test("G1, G5: messages to an offline conversation wait, say why, and are sent in order after a kill")
    func killed() async throws {
        let file = try TemporaryFile(name: "outbox.sqlite")
        let offline = URL(fileURLWithPath: file.path).deletingLastPathComponent()
            .appendingPathComponent("Bo-is-offline")
        try Data().write(to: offline)
        let messages = [["Bo", "Are you there?"], ["Bo", "Hello?"], ["Ana", "Good morning"]]
        for (index, message) in messages.enumerated() {
            let output = try await Self.output(of: Self.program, Arguments(message), in: file)
            #expect(output == "stored as action \(index + 1)\n")
        }
        try await Self.waitForAnswer(of: "stopped", in: file)

        let first = try await Self.run(until: "Ana: Good morning", in: file) {
            // Then Ana's message is marked as sent, and Bo's waits for a retry.
            try await Self.waitForAnswer(of: "because", in: file)
            let session = try Session("actions")
            let rows = Session.rows(of: try await Self.output(ofStatementOf: session, in: file))
            // The number of attempts depends on the time.
            #expect(rows.map { Array($0.suffix(2)) } == session.rows.map { Array($0.suffix(2)) })
        }
        #expect(first == ["Ana: Good morning"])
        try await Self.waitForAnswer(of: "kill", in: file)

        try FileManager.default.removeItem(at: offline)
        let second = try await Self.run(until: "Bo: Hello?", in: file)
        #expect(second == ["Bo: Are you there?", "Bo: Hello?"])
    }

    @Test("With a wrong number of arguments the program neither enqueues nor runs, and prints its usage")
    func usage() async throws {
        let file = try TemporaryFile(name: "outbox.sqlite")
        let output = try await Self.output(of: Self.program, ["Bo"], in: file)
        #expect(output == "usage: outbox [NAME TEXT]\n")
    }

    /// Runs the queues, and kills the process after it has written a line; the lines until then.
    private static func run(
        until last: String,
        in file: TemporaryFile,
        beforeKill: @escaping @Sendable () async throws -> Void = {}
    ) async throws -> [String] {
        let result = try await Subprocess.run(
            program,
            arguments: [],
            workingDirectory: directory(of: file),
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var lines: [String] = []
            for try await line in execution.standardOutput.strings() where lines.last != last {
                lines.append(line.trimmingCharacters(in: .newlines))
                guard lines.last == last else { continue }
                try await beforeKill()
                try execution.send(signal: .kill)
            }
            return lines
        }
        #expect(result.terminationStatus == .signaled(SIGKILL))
        return result.closureResult
    }

    /// Repeats the statement of a session until the answer is the one that the tutorial shows.
    private static func waitForAnswer(of name: String, in file: TemporaryFile) async throws {
        let session = try Session(name)
        #expect(!session.rows.isEmpty)
        var rows: [[String]] = []
        while rows != session.rows {
            try Task.checkCancellation()
            rows = Session.rows(of: try await output(ofStatementOf: session, in: file))
        }
    }

    private static func output(
        ofStatementOf session: Session,
        in file: TemporaryFile
    ) async throws -> String {
        try await output(of: .path("/bin/sh"), ["-c", session.statement], in: file)
    }

    private static func output(
        of program: Executable,
        _ arguments: Arguments,
        in file: TemporaryFile
    ) async throws -> String {
        let result = try await Subprocess.run(
            program,
            arguments: arguments,
            workingDirectory: directory(of: file),
            output: .string(limit: 64 * 1_024),
            error: .string(limit: 64 * 1_024)
        )
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        return result.standardOutput
    }

    private static func directory(of file: TemporaryFile) -> FilePath {
        FilePath(file.path).removingLastComponent()
    }

    /// The program lies beside the tests.
    private static var program: Executable { .path(FilePath(BuiltProducts.path(of: "TutorialOutbox"))) }
}

/// A terminal session of the tutorial that has one statement for `sqlite3`, and its answer.
private struct Session {
    let statement: String
    /// The cells of each row, without a time.
    let rows: [[String]]

    init(_ name: String) throws {
        let path = "../../Sources/Sluice/Sluice.docc/Tutorials/Resources/outbox-terminal-\(name).txt"
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
        let commands = text.split(separator: "\n").filter { $0.hasPrefix("$ sqlite3 ") }
        statement = String(try #require(commands.first).dropFirst(2))
        rows = Self.rows(of: text)
    }

    /// The rows of a table that `sqlite3 -box` has drawn, after its head.
    static func rows(of table: String) -> [[String]] {
        let lines = table.split(separator: "\n").filter { $0.hasPrefix("│") }
        return lines.dropFirst().map { line in
            line.split(separator: "│").map { cell in
                let text = cell.trimmingCharacters(in: .whitespaces)
                return text.hasPrefix("waiting for retry until ") ? "waiting for retry" : text
            }
        }
    }
}
#endif
