#if CommandLineTool && GRDB
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The program of the guide "A chat's outbox", with the server that it is tried with.
@Suite("The chat outbox", .needs("python3"), .watched(minutes: 3))
struct ChatOutboxTests {
    private static let conversations = ["1", "2", "3"]
    private static let count = 12

    @Test(
        "G1, G5: through kills, lost answers, 401 and 429 the server gets each message once, in their order"
    )
    func killed() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        try await Self.withServer { url in
            _ = try await Self.run(["login", "ana", url], in: file)
            for conversation in Self.conversations {
                for number in 1...Self.count {
                    _ = try await Self.run(["send", "ana", conversation, "message \(number)"], in: file)
                }
            }
            #expect(try await Self.run(["list", "ana"], in: file).allSatisfy { $0.contains("[waiting]") })
            try await Self.runAndKill(url, file)
            _ = try await Self.run(["run", url], in: file)

            let list = try await Self.run(["list", "ana"], in: file)
            #expect(list.count == Self.conversations.count * Self.count)
            #expect(list.allSatisfy { $0.contains("[sent]") }, "\(list)")
            let received = try await Self.messages(of: url)
            for conversation in Self.conversations {
                let texts = received.filter { $0.conversation == conversation }.map(\.text)
                #expect(texts == (1...Self.count).map { "message \($0)" })
            }
        }
    }

    @Test("Edits and deletions reach the server, and a message that is too large says so")
    func changed() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        try await Self.withServer { url in
            _ = try await Self.run(["login", "ana", url], in: file)
            var ids: [String] = []
            for text in ["one", "two", "three", String(repeating: "x", count: 20_000)] {
                ids += try await Self.run(["send", "ana", "1", text], in: file)
            }
            _ = try await Self.run(["edit", ids[0], "uno"], in: file)
            _ = try await Self.run(["run", url], in: file)
            _ = try await Self.run(["edit", ids[1], "due"], in: file)
            _ = try await Self.run(["delete", ids[2]], in: file)
            _ = try await Self.run(["run", url], in: file)
            #expect(try await Self.messages(of: url).map(\.text) == ["uno", "due"])
            let list = try await Self.run(["list", "ana"], in: file)
            #expect(list.prefix(2) == ["1 [sent] uno", "1 [sent] due"])
            #expect(list.last?.hasPrefix("1 [not sent: too large] xxx") == true)
        }
    }

    @Test("The list follows what another process sends")
    func follows() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        try await Self.withServer { url in
            _ = try await Self.run(["login", "ana", url], in: file)
            for text in ["one", "two"] { _ = try await Self.run(["send", "ana", "1", text], in: file) }
            let result = try await Subprocess.run(
                Self.program,
                arguments: ["list", "ana", "--follow"],
                workingDirectory: file.directory,
                input: .none,
                output: .sequence,
                error: .discarded
            ) { execution in
                var lines: [String] = []
                for try await line in execution.standardOutput.strings() {
                    lines.append(line)
                    if lines.count == 2 { _ = try await Self.run(["run", url], in: file) }
                    if line == "1 [sent] two" { try execution.send(signal: .kill) }
                }
                return lines
            }
            let lines = result.closureResult
            #expect(lines.first == "1 [waiting] one", "\(lines)")
            #expect(lines.contains("1 [sent] one"))
        }
    }

    @Test("A message that is not there can be neither edited nor deleted, and a wrong verb shows the usage")
    func unknown() async throws {
        let file = try TemporaryFile(name: "chat.sqlite")
        for (arguments, sentence) in [
            (["edit", "7", "text"], "there is no such message"),
            (["delete", "7"], "there is no such message"),
            (["lits"], "usage: login"),
        ] {
            let result = try await Subprocess.run(
                Self.program,
                arguments: Arguments(arguments),
                workingDirectory: file.directory,
                output: .discarded,
                error: .string(limit: 64 * 1_024)
            )
            #expect(result.terminationStatus == .exited(64))
            #expect(result.standardError.contains(sentence))
        }
    }
}

extension ChatOutboxTests {
    private struct Received: Decodable {
        var conversation: String
        var text: String
    }

    /// Starts the server, passes its address, and ends it.
    private static func withServer(_ body: (String) async throws -> Void) async throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Examples/ChatOutbox/server.py")
        _ = try await Subprocess.run(
            .name("python3"),
            arguments: [script.path],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            for try await url in execution.standardOutput.strings() {
                let result: Result<Void, any Error>
                do { result = .success(try await body(url)) } catch { result = .failure(error) }
                try execution.send(signal: .kill)
                try result.get()
            }
        }
    }

    /// What the server has, in the order of arrival.
    private static func messages(of url: String) async throws -> [Received] {
        let (data, _) = try await URLSession.shared.data(from: try #require(URL(string: url + "/messages")))
        return try data.split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(Received.self, from: $0)
        }
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

    /// How many messages the server accepts before further calls wait.
    private static func setLimit(_ limit: String, of url: String) async throws {
        var request = URLRequest(url: try #require(URL(string: url + "/limit")))
        request.httpMethod = "PUT"
        request.httpBody = Data(limit.utf8)
        _ = try await URLSession.shared.data(for: request)
    }

    /// Has messages sent, and kills the process when the server has some of them.
    private static func runAndKill(_ url: String, _ file: TemporaryFile) async throws {
        for count in [3, 9, 15] {
            try await setLimit("\(count)", of: url)
            let result = try await Subprocess.run(
                program,
                arguments: ["run", url],
                workingDirectory: file.directory,
                input: .none,
                output: .discarded,
                error: .discarded
            ) { execution in
                while try await messages(of: url).count < count { try Task.checkCancellation() }
                try execution.send(signal: .kill)
            }
            #expect(result.terminationStatus == .signaled(SIGKILL))
        }
        try await setLimit("inf", of: url)
    }

    /// The program lies beside the tests.
    private static var program: Executable {
        .path(FilePath(BuiltProducts.path(of: "sluice-chat-outbox")))
    }
}

extension TemporaryFile {
    /// The program keeps its file where it is started.
    fileprivate var directory: FilePath { FilePath(path).removingLastComponent() }
}
#endif
