#if CommandLineTool
import Foundation
import Subprocess
import Synchronization
import Testing

/// A `sqlite3` shell that stays: it is fed a line at a time, and so can be left inside a transaction.
final class OpenShell: Sendable {
    /// The shell's own process.
    let processIdentifier: Int
    private let feed: FileHandle
    private let answers = Mailbox<[String]>()
    private let answer = Mutex<[String]>([])

    private init(_ processIdentifier: Int, _ feed: FileHandle) {
        self.processIdentifier = processIdentifier
        self.feed = feed
    }

    private static let mark = "that was the answer"

    /// Has a shell on a file while `body` is at work.
    ///
    /// When `body` ends the shell is told to, which rolls back what is open in it.
    static func with<Output: Sendable>(
        _ path: String,
        _ body: @escaping @Sendable (OpenShell) async throws -> Output
    ) async throws -> Output {
        // It reads from a pipe with a name, which is opened for both directions here: so no open of it waits
        // for the other side, and a shell that has gone leaves nobody with SIGPIPE.
        let pipe = path + ".lines-\(UUID().uuidString)"
        try #require(mkfifo(pipe, 0o600) == 0)
        defer { unlink(pipe) }
        let descriptor = open(pipe, O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        let feed = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        return try await Subprocess.run(
            .name("sh"),
            arguments: [
                "-c", "exec sqlite3 -batch -init /dev/null -cmd '.timeout 10000' \"$1\" < \"$2\"", "sh", path,
                pipe,
            ],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            let shell = OpenShell(Int(execution.processIdentifier.value), feed)
            async let output = shell.use(body)
            for try await line in execution.standardOutput.strings() { shell.receive(line) }
            shell.answers.close()
            return try await output
        }.closureResult
    }

    private func use<Output>(_ body: @Sendable (OpenShell) async throws -> Output) async throws -> Output {
        defer { try? feed.write(contentsOf: Data(".quit\n".utf8)) }
        return try await body(self)
    }

    private func receive(_ line: String) {
        let line = line.trimmingCharacters(in: .newlines)
        let whole = answer.withLock { lines -> [String]? in
            guard line == Self.mark else {
                lines.append(line)
                return nil
            }
            defer { lines = [] }
            return lines
        }
        if let whole { answers.put(whole) }
    }

    /// Runs statements, which stand on one line, and gives the lines that they answer.
    ///
    /// An error of theirs is not told: the answer is empty then.
    @discardableResult
    func run(_ sql: String) async throws -> [String] {
        try feed.write(contentsOf: Data("\(sql)\nSELECT '\(Self.mark)';\n".utf8))
        return try await answers.take()
    }

    /// Kills it, whatever it is at.
    func die() { kill(pid_t(processIdentifier), SIGKILL) }
}
#endif
