#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("A process that changes its working directory", .watched(minutes: 5)) struct WorkingDirectoryTests {
    @Test("A file that was opened by a relative path stays the one that was meant")
    func relativePath() async throws {
        let (first, second) = try (TemporaryFile(name: "outbox.sqlite"), TemporaryFile(name: "outbox.sqlite"))
        let directories = [first, second].map { URL(filePath: $0.path).deletingLastPathComponent().path }
        // Another file of that name waits where the process goes, and one action in it.
        let job = Job(lane: 1, isPoison: false)
        let other = try await Broker(file: second.path)
        try await other.enqueue(job)
        await other.close()
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["move", directories[0], directories[1], "outbox.sqlite"],
            output: .string(limit: 65_536),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        #expect(result.standardOutput == "depth 3, summaries 3, WAL true, left 0\n")
        // A relative path of a call means the directory of that call.
        for (path, count) in [
            (first.path, 0), (second.path, 1), (directories[1] + "/copy.sqlite", 3),
        ] {
            let broker = try await Broker(file: path)
            try await #expect(broker.actionCount() == count, "\(path)")
            await broker.close()
        }
    }
}
#endif
