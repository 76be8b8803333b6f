#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("A process that forks while it has a file open", .watched(minutes: 5)) struct ForkTests {
    @Test("In the child every call throws and none waits; the parent goes on, and loses nothing")
    func fork() async throws {
        let file = try TemporaryFile()
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["fork", file.path],
            output: .string(limit: 65_536),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        let lines = result.standardOutput.split(separator: "\n").map(String.init)
        let calls = lines.prefix { $0 != "dropped" }
        #expect(calls.count == 13)
        #expect(calls.filter { !$0.hasSuffix(": forked") } == [])
        #expect(lines.dropFirst(calls.count) == ["dropped", "child: 0", "parent: 3"])
        // Nothing is left that a close of the child would have kept or taken away.
        let directory = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["queues.sqlite"])
        let broker = try await Broker(file: file.path)
        try await #expect(broker.actionCount() == 3)
        await broker.close()
    }
}
#endif
