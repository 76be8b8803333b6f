#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("What enqueue has promised when it returned", .watched) struct DurabilityTests {
    @Test("G1: actions whose enqueue returned survive a kill at any of ten moments", arguments: 1...10)
    func survivesKill(moment: Int) async throws {
        let file = try TemporaryFile()
        // Killed behind another number of acknowledgements each time, in the middle of whatever comes next.
        let target = moment * 37
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["enqueue", file.path, "1000000"],
            input: .none,
            output: .sequence,
            error: .discarded
        ) { execution in
            var acknowledged: [ActionID] = []
            for try await line in execution.standardOutput.strings() {
                guard let number = Int64(line.trimmingCharacters(in: .newlines)) else { continue }
                acknowledged.append(ActionID(rawValue: number))
                if acknowledged.count == target { try execution.send(signal: .kill) }
            }
            return acknowledged
        }
        #expect(result.terminationStatus == .signaled(SIGKILL))
        try #require(result.closureResult.count >= target)

        let broker = try await Broker(file: file.path)
        let stored = Set(try await broker.actionSummaries(limit: 1_000_000).map(\.id))
        #expect(result.closureResult.filter { !stored.contains($0) } == [])
        // At most the one that was under way when the kill came is there without an acknowledgement.
        #expect(stored.count <= result.closureResult.count + 1)
        await broker.close()
    }

    @Test("G1: each enqueue that returns has synced the log once", .needs("strace"))
    func syncs() async throws {
        let file = try TemporaryFile()
        let trace = file.path + ".strace"
        func countSyncs(_ actions: Int) async throws -> Int {
            let result = try await Subprocess.run(
                .name("strace"),
                arguments: [
                    "-f", "-qq", "-e", "trace=fdatasync,fsync", "-o", trace,
                    BuiltProducts.path(of: "CrashChild"), "enqueue", file.path, "\(actions)",
                ],
                output: .discarded,
                error: .string(limit: 65_536)
            )
            try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
            return try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n")
                .count { $0.contains("sync(") && !$0.contains("resumed") }
        }
        // The first run also syncs what it creates. Opening and closing cost both others the same.
        _ = try await countSyncs(10)
        let few = try await countSyncs(20)
        let many = try await countSyncs(70)
        #expect(many - few == 50)
    }
}
#endif
