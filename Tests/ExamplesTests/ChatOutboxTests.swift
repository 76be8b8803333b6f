#if CommandLineTool && GRDB
import Foundation
import GRDB
import SluiceTestKit
import Subprocess
import SystemPackage
import Testing

@Suite("The chat outbox", .timeLimit(.minutes(3)))
struct ChatOutboxTests {
    private static let conversations = ["Ana", "Bo", "Cleo"]
    /// So many that they are not all sent before the kill.
    private static let count = 60

    @Test("G1, G5: messages that are sent through a kill are marked once each, and in their order")
    func killed() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        for name in Self.conversations {
            let texts = (1...Self.count).map { "\(name) says \($0)" }
            let stored = try await Self.run(["send", name] + texts, in: file)
            #expect(stored.count == Self.count)
            #expect(stored.allSatisfy { $0.contains(" \(name) [stored] \(name) says ") })
        }
        let waiting = try await Self.run(["list"], in: file)
        #expect(waiting.allSatisfy { $0.contains("[sending]") })

        try await Self.runAndKill(file, afterLines: 10)
        let rest = try await Self.run(["run"], in: file)
        #expect(rest.allSatisfy { $0.contains("[sent]") })

        let list = try await Self.run(["list"], in: file)
        #expect(list.count == Self.conversations.count * Self.count)
        #expect(list.allSatisfy { $0.contains("[sent]") })
        let database = try DatabaseQueue(path: file.path)
        try await database.read { db in
            let times = try Int.fetchAll(db, sql: "SELECT timesSent FROM message")
            #expect(times == Array(repeating: 1, count: list.count))
            for name in Self.conversations {
                // Microseconds are not stored, so that two may have one time.
                let dates = try Date.fetchAll(
                    db,
                    sql: "SELECT sentAt FROM message WHERE conversation = ? ORDER BY id",
                    arguments: [name]
                )
                #expect(dates == dates.sorted())
            }
            #expect(try Int.fetchOne(db, sql: "SELECT count(*) FROM sluice_actions") == 0)
        }
        try database.close()
    }

    @Test("A message that is retracted before it is sent takes along what was to be done for it")
    func retracted() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        _ = try await Self.run(["send", "Ana", "one", "two", "three"], in: file)
        _ = try await Self.run(["retract", "2"], in: file)
        #expect(
            try await Self.run(["list"], in: file) == [
                "1 Ana [sending] one", "3 Ana [sending] three",
            ]
        )
        let sent = try await Self.run(["run"], in: file)
        #expect(sent == ["1 Ana [sent] one", "3 Ana [sent] three"])
    }

    @Test("The list follows what another process sends")
    func follows() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        _ = try await Self.run(["send", "Ana", "one", "two"], in: file)
        let result = try await Subprocess.run(
            Self.program,
            arguments: ["list", "--follow"],
            workingDirectory: file.directory,
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var lines: [String] = []
            for try await line in execution.standardOutput.strings() {
                lines.append(line)
                if lines.count == 2 { _ = try await Self.run(["run"], in: file) }
                if line.contains("2 Ana [sent] two") { try execution.send(signal: .kill) }
            }
            return lines
        }
        let lines = result.closureResult
        #expect(lines.first?.contains("1 Ana [sending] one") == true, "\(lines)")
        #expect(lines.contains { $0.contains("1 Ana [sent] one") })
        #expect(lines.contains { $0.contains("2 Ana [sent] two") })
    }

    @Test("What is not there cannot be retracted")
    func unknown() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        let result = try await Subprocess.run(
            Self.program,
            arguments: ["retract", "7"],
            workingDirectory: file.directory,
            output: .discarded,
            error: .string(limit: 64 * 1_024)
        )
        #expect(result.terminationStatus == .exited(64))
        #expect(result.standardError.contains("there is no message 7"))
    }

    /// Runs a verb to its end; the lines that it writes.
    private static func run(_ arguments: [String], in file: TemporaryFile) async throws -> [String] {
        let result = try await Subprocess.run(
            program,
            arguments: Arguments(arguments),
            workingDirectory: file.directory,
            output: .string(limit: 1_024 * 1_024),
            error: .string(limit: 64 * 1_024)
        )
        #expect(result.terminationStatus == .exited(0), "\(result.standardError)")
        return result.standardOutput.split(separator: "\n").map(String.init)
    }

    /// Has messages sent, and kills the process when it has told of so many.
    private static func runAndKill(_ file: TemporaryFile, afterLines count: Int) async throws {
        let result = try await Subprocess.run(
            program,
            arguments: ["run"],
            workingDirectory: file.directory,
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var lines = 0
            for try await line in execution.standardOutput.strings() where line.contains("[sent]") {
                lines += 1
                if lines == count { try execution.send(signal: .kill) }
            }
            return lines
        }
        #expect(result.terminationStatus == .signaled(SIGKILL))
        #expect(result.closureResult >= count)
    }

    /// The program lies beside the tests.
    private static var program: Executable {
        let tests = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }?.bundlePath
        let neighbour = URL(fileURLWithPath: tests ?? CommandLine.arguments[0])
        let path = neighbour.deletingLastPathComponent().appendingPathComponent("sluice-chat-outbox").path
        return .path(FilePath(path))
    }
}

extension TemporaryFile {
    /// The program keeps its file where it is started.
    fileprivate var directory: FilePath { FilePath(path).removingLastComponent() }
}
#endif
