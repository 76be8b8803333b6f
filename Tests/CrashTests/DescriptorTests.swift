#if CommandLineTool && os(Linux)
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Whoever opens a database file beside SQLite drops SQLite's locks on it with the close, in the whole
/// process (<https://www.sqlite.org/howtocorrupt.html>, 2.2).
@Suite("Who opens the file", .needs("strace"), .watched(minutes: 5)) struct DescriptorTests {
    /// An open of the database, its log or the log's index.
    private struct Opening: CustomStringConvertible {
        let path: String
        let call: String
        /// The libraries on the stack, the innermost first; `open` itself is the C library's.
        var libraries: [String] = []

        var isSQLite: Bool {
            libraries.first { !$0.contains("/libc.so") && !$0.contains("/libpthread") }?.contains(
                "/libsqlite3"
            )
                == true
        }

        var description: String { "\(call) by \(libraries.prefix(4))" }
    }

    /// Runs a program to its end and tells what it and its children have opened.
    private func openings(
        of file: TemporaryFile,
        _ program: String,
        _ arguments: [String]
    ) async throws -> [Opening] {
        let trace = file.path + ".strace"
        // Other opens are not shown: the stack of each is unwound, which takes longer than the program.
        let paths = Self.paths(of: file.path).flatMap { ["-P", $0] }
        let result = try await Subprocess.run(
            .name("strace"),
            arguments: Arguments(
                ["-f", "-qq", "-k", "-s", "4096", "-e", "trace=open,openat,openat2,creat", "-o", trace]
                    + paths + [program] + arguments
            ),
            output: .discarded,
            error: .string(limit: 65_536)
        )
        try #require(
            [.exited(0), .exited(1)].contains(result.terminationStatus),
            "\(arguments) \(result.standardError)"
        )
        defer { try? FileManager.default.removeItem(atPath: trace) }
        return parse(try String(contentsOfFile: trace, encoding: .utf8), file.path)
    }

    /// A database, its log and the log's index, and a journal, which it should not have.
    private static func paths(of file: String) -> [String] {
        ["", "-wal", "-shm", "-journal"].map { file + $0 }
    }

    private func parse(_ trace: String, _ path: String) -> [Opening] {
        let paths = Set(Self.paths(of: path))
        var openings: [Opening] = []
        // What a thread has begun to open when another one came between.
        var begun: [Substring: String] = [:]
        var isOurs = false
        for line in trace.split(separator: "\n") {
            if line.hasPrefix(" > ") {
                let library = line.dropFirst(3).prefix { $0 != "(" }
                if isOurs { openings[openings.count - 1].libraries.append(String(library)) }
                continue
            }
            isOurs = false
            let thread = line.prefix { $0 != " " }
            var call = String(line)
            if call.contains("resumed>") { call = begun.removeValue(forKey: thread) ?? "" }
            if call.hasSuffix("<unfinished ...>") && line.hasSuffix("<unfinished ...>") {
                begun[thread] = call
                continue
            }
            guard let opened = call.split(separator: "\"").dropFirst().first.map(String.init) else {
                continue
            }
            guard paths.contains(opened) else { continue }
            openings.append(Opening(path: opened, call: call))
            isOurs = true
        }
        return openings
    }

    private func expectSQLite(_ openings: [Opening], _ file: TemporaryFile, _ words: String) {
        #expect(openings.filter { !$0.isSQLite }.map(\.description) == [], "\(words)")
        #expect(
            Set(openings.map(\.path)).isSuperset(of: ["", "-wal", "-shm"].map { file.path + $0 }),
            "\(words)"
        )
    }

    @Test("A program that enqueues, runs, looks, suspends and copies leaves every open to SQLite")
    func library() async throws {
        let file = try TemporaryFile()
        let found = try await openings(of: file, BuiltProducts.path(of: "CrashChild"), ["files", file.path])
        // A writer, a reader, a lookout and a copy in each round, and the log's index with each of them.
        #expect(found.count > 20)
        expectSQLite(found, file, "CrashChild")
    }

    /// Each verb with what it takes to have it open the file, but for those that go on.
    private static func verbs(_ file: TemporaryFile) -> [[String]] {
        let enqueue = ["enqueue", "--queue", "q", "--kind", "k", "--payload", "1"]
        return [
            enqueue, ["run", "--exec", "true", "--until-empty"],
            enqueue, ["drain", "--exec", "true", "--deadline", "1m"],
            enqueue, ["queues"], ["show", "q"], ["actions"], ["export"], ["import", "--from", "/dev/null"],
            ["move", "3", "--to", "r"], ["reschedule", "3", "--now"], ["expire", "3", "--never"],
            ["edit", "3", "--payload", "2"],
            ["gate", "close", "g"], ["gate", "list"], ["gate", "open", "g"],
            ["hold", "--all"], ["pause", "q"], ["holds"], ["resume", "--all"], ["retry", "--all"],
            ["skip", "r"], ["dead", "list"], ["dead", "show", "3"], ["dead", "requeue", "--all"],
            ["dead", "purge", "--all"], ["doctor", "--full"], ["remove", "--queue", "q"],
            ["backup", file.path + ".copy"],
        ]
    }

    @Test("So does every verb of the tool")
    func tool() async throws {
        let (file, tool) = (try TemporaryFile(), BuiltProducts.path(of: "sluice"))
        let verbs = Self.verbs(file)
        for words in verbs {
            expectSQLite(try await openings(of: file, tool, words + ["--file", file.path]), file, "\(words)")
        }
        // Until a signal, after the first line.
        let script = """
            file=$1
            shift
            mkfifo "$file.fifo"
            "$0" "$@" --file "$file" > "$file.fifo" &
            read -r line < "$file.fifo"
            kill $!
            wait $!
            rm "$file.fifo"
            """
        _ = try await openings(of: file, tool, verbs[0] + ["--file", file.path])
        #if Web
        let page = [["serve", "--port", "0"]]
        #else
        // Without the trait the verb opens nothing.
        let page: [[String]] = []
        #endif
        let lasting = [["watch", "--plain"]] + page
        for words in lasting {
            let found = try await openings(of: file, "sh", ["-c", script, tool, file.path] + words)
            expectSQLite(found, file, "\(words)")
        }
        let known = try await allVerbs(of: tool)
        let tried = known.filter { verb in (verbs + lasting).contains { $0.starts(with: verb) } }
        #expect(known.count > 20)
        #expect(tried == known.filter { !page.isEmpty || $0 != ["serve"] })
    }

    /// A command of the tool, as swift-argument-parser describes it.
    private struct Command: Decodable {
        var commandName: String
        var subcommands: [Command]?

        /// The ways to the commands below it that have none themselves.
        var leaves: [[String]] {
            (subcommands ?? []).filter { $0.commandName != "help" }.flatMap { command in
                let below = command.leaves
                return below.isEmpty
                    ? [[command.commandName]] : below.map { [command.commandName] + $0 }
            }
        }
    }

    private func allVerbs(of tool: String) async throws -> [[String]] {
        struct Description: Decodable { var command: Command }
        let result = try await Subprocess.run(
            .path(FilePath(tool)),
            arguments: ["--experimental-dump-help"],
            output: .string(limit: 4 * 1_024 * 1_024),
            error: .discarded
        )
        let description = Data(result.standardOutput.utf8)
        return try JSONDecoder().decode(Description.self, from: description).command.leaves
    }

    @Test("An open by anybody else would be noticed")
    func others() async throws {
        let file = try TemporaryFile()
        try Data().write(to: URL(fileURLWithPath: file.path))
        let found = try await openings(of: file, "sh", ["-c", "cat \"$1\"; true < \"$1\"", "sh", file.path])
        #expect(found.count == 2)
        #expect(found.filter(\.isSQLite).isEmpty)
    }
}
#endif
