#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Runs the built tool as a user does.
enum Tool {
    /// What one run of it has left behind.
    struct Result: CustomTestStringConvertible {
        let status: TerminationStatus
        let output: String
        /// Standard error, with the line by which a run says at its end what it has done.
        let allErrors: String

        /// Standard error without that line.
        var errors: String {
            allErrors.split(separator: "\n", omittingEmptySubsequences: false).filter { !isSummary($0) }
                .joined(separator: "\n")
        }

        var testDescription: String { "\(status)\n\(output)\n\(allErrors)" }

        /// The lines of standard output.
        var lines: [String] { output.split(separator: "\n").map(String.init) }

        /// The lines of standard output, each a JSON object.
        func objects() throws -> [[String: Any]] {
            try lines.map {
                try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
            }
        }
    }

    /// The built tool: beside the test runner, or of the build that is chosen.
    static let path = ChosenBuild.path(of: "sluice")

    private static let limit = 16 * 1_024 * 1_024

    /// Runs it to its end.
    static func run(_ arguments: [String], input: String = "") async throws -> Result {
        try await launch(path, arguments, input: input)
    }

    /// Runs any program to its end.
    static func launch(_ program: String, _ arguments: [String], input: String = "") async throws -> Result {
        let result = try await Subprocess.run(
            program.contains("/") ? .path(FilePath(program)) : .name(program),
            arguments: Arguments(arguments),
            input: .string(input),
            output: .string(limit: limit),
            error: .string(limit: limit)
        )
        return Result(
            status: result.terminationStatus,
            output: result.standardOutput,
            allErrors: result.standardError
        )
    }

    /// Whether a line is the one by which a run says at its end what it has done.
    static func isSummary(_ line: some StringProtocol) -> Bool {
        String(line).wholeMatch(
            of: /sluice: (\d+ done, \d+ retried, \d+ failed, )?(\d+ dead letters?, )?\d+ left/
        ) != nil
    }

    /// Runs it and hands out each line of its output and remarks as it comes, but for the summary at its end.
    ///
    /// If `body` throws, the program is ended, and all that it has written is reported: after a crash, why.
    ///
    /// - Returns: How it ended.
    static func follow(
        _ arguments: [String],
        of program: String = path,
        _ body: (String, (Signal) throws -> Void) async throws -> Void
    ) async throws -> TerminationStatus {
        try await Subprocess.run(
            .path(FilePath(program)),
            arguments: Arguments(arguments),
            input: .none,
            output: .sequence,
            error: .combinedWithOutput
        ) { execution in
            var iterator = execution.standardOutput.strings().makeAsyncIterator()
            var written: [String] = []
            do {
                while let line = try await iterator.next()?.trimmingCharacters(in: .newlines) {
                    written.append(line)
                    if isSummary(line) { continue }
                    try await body(line) { signal in
                        if signal == .suspend {
                            return try suspendProcess(execution.processIdentifier.value)
                        }
                        try execution.send(signal: signal)
                    }
                }
            } catch {
                // One that has crashed may be gone: the error of the body is what counts.
                do { try execution.send(signal: .terminate) } catch { written.append("not ended: \(error)") }
                while let line = try await iterator.next() { written.append(line) }
                Issue.record("\(program) has written:\n\(written.joined(separator: "\n"))")
                throw error
            }
        }.terminationStatus
    }
}

/// A directory with a file of queues, and room for scripts and logs.
final class Workplace {
    private let file: TemporaryFile
    private var pipes: [String: FileDescriptor] = [:]

    init() throws { file = try TemporaryFile() }

    deinit {
        for descriptor in pipes.values { try? descriptor.close() }
    }

    /// The file of queues.
    var path: String { file.path }

    var directory: String { (path as NSString).deletingLastPathComponent }

    /// Writes a file and tells its path.
    func write(_ name: String, _ text: String) throws -> String {
        let path = self.path(of: name)
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    func path(of name: String) -> String { "\(directory)/\(name)" }

    func text(of name: String) throws -> String {
        try String(contentsOfFile: path(of: name), encoding: .utf8)
    }

    /// Makes a pipe with a name.
    ///
    /// A command that reads a line from it waits until ``release(_:)``. It is held open here for both
    /// directions, so that no open of it waits for the other side.
    func makePipe(_ name: String) throws -> String {
        let path = self.path(of: name)
        try #require(mkfifo(path, 0o600) == 0)
        pipes[path] = try FileDescriptor.open(
            FilePath(path),
            .readWrite,
            options: [.closeOnExec, .nonBlocking]
        )
        return path
    }

    /// Lets a command go on that reads a line from a pipe.
    func release(_ pipe: String) throws {
        _ = try #require(pipes[pipe]).writeAll(Array("go\n".utf8))
    }

    /// Whether a pipe takes nothing more.
    func isFull(_ pipe: String) throws -> Bool {
        var wish = pollfd(fd: try #require(pipes[pipe]).rawValue, events: Int16(POLLOUT), revents: 0)
        return poll(&wish, 1, 0) == 0
    }

    /// Writes to a pipe.
    func write(to pipe: String, _ text: String) throws {
        _ = try #require(pipes[pipe]).writeAll(Array(text.utf8))
    }

    /// Runs a verb on the file.
    func sluice(_ verb: String, _ arguments: String..., input: String = "") async throws -> Tool.Result {
        try await Tool.run([verb, "--file", path] + arguments, input: input)
    }

    /// Enqueues an action of the kind `k` in each queue.
    ///
    /// The payloads are 1, 2, 3 and so on.
    func enqueue(_ queues: String...) async throws {
        for (index, queue) in queues.enumerated() {
            let result = try await sluice(
                "enqueue",
                "--queue",
                queue,
                "--kind",
                "k",
                "--payload",
                "\(index + 1)"
            )
            try #require(result.status == .exited(0), "\(result)")
        }
    }

    /// The actions in the file.
    func actions() async throws -> [[String: Any]] {
        try await sluice("actions", "--json").objects()
    }

    /// The queues in the file, by name.
    func queues() async throws -> [[String: Any]] {
        try await sluice("queues", "--json", "--sort", "name").objects()
    }

    /// What the sqlite3 shell answers.
    func sql(_ statement: String) async throws -> String {
        let result = try await Tool.launch("sqlite3", ["-cmd", ".timeout 10000", path, statement])
        try #require(result.status == .exited(0), "\(result)")
        return result.output.trimmingCharacters(in: .newlines)
    }
}
#endif
