#if CommandLineTool && os(Linux)
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// A test that fails, for another to look at what it leaves behind: this very program runs once more.
@Suite("A test that fails has its history attached", .watched(minutes: 3))
struct FailingTests {
    private static let isAsked = "SLUICE_FAILING_TEST"

    @Test(
        "Fails, when asked to",
        .enabled(if: ProcessInfo.processInfo.environment[isAsked] != nil, "another test asks for it"),
        .broker { try $0.route("*", to: ScriptedHandler<Note>()) }
    )
    func sample() async throws {
        let test = try TestBroker.current
        try await test.broker.enqueue(Note("a"))
        try await test.broker.enqueue(raw: [RawAction(queue: "other", kind: "nobody's", payload: "1")])
        try await test.broker.closeGate("network")
        try await test.drain()
        Issue.record("on purpose")
    }

    @Test("The history of a failed test stands in events.txt, with how its broker stands at the end")
    func attachment() async throws {
        let file = try TemporaryFile()
        let folder = URL(filePath: file.path).deletingLastPathComponent().path
        let result = try await Subprocess.run(
            .path("/proc/self/exe"),
            arguments: [
                "--testing-library", "swift-testing", "--filter", "FailingTests.sample",
                "--attachments-path", folder,
            ],
            environment: .inherit.updating([.init(stringLiteral: Self.isAsked): "1"]),
            output: .discarded,
            error: .string(limit: 100_000)
        )
        #expect(!result.terminationStatus.isSuccess)
        let text = result.standardError
        #expect(text.contains("on purpose") && text.contains("1 issue"), "\(text)")
        try #require(FileManager.default.contentsOfDirectory(atPath: folder) == ["events.txt"])
        let history = try String(contentsOfFile: "\(folder)/events.txt", encoding: .utf8)
        let words = [
            "Fails, when asked to\n", "enqueued: action 1 of notes\n", "started", "succeeded",
            "blocked: action 2 of other: unknown kind\n", "the clock is at 2026-01-01",
            "\nother: unknown kind, depth 1\n", "gate network: closed",
        ]
        for word in words { #expect(history.contains(word), "\(word): \(history)") }
    }
}
#endif
