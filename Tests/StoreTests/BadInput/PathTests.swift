import Foundation
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Paths that are no files of queues", .watched(minutes: 1)) struct PathTests {
    /// The error of an opening in each role; all of them say the same, unless that depends on the role.
    private func refusal(_ path: String, dependsOnRole: Bool = false) async throws -> SluiceError {
        var errors: [SluiceError] = []
        for role in [BrokerRole.run, .enqueueOnly, .readOnly] {
            var options = BrokerOptions.on(ManualClock())
            options.file.role = role
            do {
                let broker = try await Broker(file: path, options: options)
                await broker.close()
                Issue.record("\(path) was opened as \(role)")
            } catch {
                errors.append(error)
            }
        }
        let error = #expect(throws: SluiceError.self) { _ = try FileFacts(of: path, isFull: false) }
        if let error { errors.append(error) }
        #expect(errors.count == 4)
        #expect(dependsOnRole || Set(errors.map(\.message)).count == 1, "\(errors)")
        #expect(Set(errors.map(\.code)).count == 1, "\(errors)")
        return try #require(errors.first)
    }

    @Test("The names that stand for no file are refused, with what to do, and make none")
    func names() async throws {
        for (path, words) in [
            ("", "is empty; give one"), (":memory:", "Broker.inMemory()"), ("a\u{0}b", "holds a NUL"),
        ] {
            let error = try await refusal(path)
            #expect(error.code == .cannotOpen)
            #expect(error.message.contains(words), "\(error)")
        }
        for name in ["", ":memory:", "a", "a\u{0}b"] {
            #expect(!FileManager.default.fileExists(atPath: "./" + name) || name.isEmpty)
        }
    }

    @Test("A directory, a pipe and a device are refused as what they are, and stay so")
    func noPlainFile() async throws {
        let file = try TemporaryFile()
        let directory = file.path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        for path in [directory, directory + "/", directory + "/.", directory + "/.."] {
            let error = try await refusal(path)
            #expect(error.code == .cannotOpen)
            #expect(error.message == "\(path) is a directory; give the path of a file in it")
        }
        let pipe = directory + "/pipe"
        try #require(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "/dev/null", "/dev/zero"] {
            let error = try await refusal(path)
            #expect(error.code == .cannotOpen)
            #expect(error.message.contains("no plain file but a pipe, a socket or a device"), "\(error)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["pipe"])
    }

    @Test("A link to a file is the file: one broker has it, and its log stands beside the file")
    func link() async throws {
        let file = try TemporaryFile()
        let link = file.path + "-link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: file.path)
        // Nothing is made at the other end of a link.
        #expect(try await refusal(link, dependsOnRole: true).code == .cannotOpen)
        try await openAndClose(file.path)
        let broker = try await Broker(file: link, options: .on(ManualClock()))
        try await broker.enqueue(Note("a"))
        let error = await #expect(throws: SluiceError.self) {
            _ = try await Broker(file: file.path, options: .on(ManualClock()))
        }
        #expect(error?.code == .alreadyOpen)
        #expect(
            Set(try contents(besides: file.path).keys) == [
                "queues.sqlite", "queues.sqlite-link", "queues.sqlite-wal", "queues.sqlite-shm",
            ]
        )
        await broker.close()
        let again = try await Broker(file: file.path, options: .on(ManualClock()))
        try await #expect(again.actionCount() == 1)
        await again.close()
    }

    @Test("A link that leads to itself is refused")
    func circle() async throws {
        let file = try TemporaryFile()
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: file.path)
        for role in [BrokerRole.run, .readOnly] {
            let error = await #expect(throws: SluiceError.self) {
                try await openAndClose(file.path) { $0.file.role = role }
            }
            #expect(error?.code == .cannotOpen)
        }
    }

    @Test("A name that no file system takes is refused, with the system's reason")
    func long() async throws {
        let file = try TemporaryFile()
        for name in [String(repeating: "x", count: 256), String(repeating: "é/", count: 5_000)] {
            let error = await #expect(throws: SluiceError.self) {
                try await openAndClose(file.path + name)
            }
            #expect(error?.code == .cannotOpen)
        }
    }
}
