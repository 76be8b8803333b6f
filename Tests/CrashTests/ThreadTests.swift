#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("SDL: threads", .watched(minutes: 5)) struct ThreadTests {
    private static let actions = 30_000

    /// What a process with so many busy queues tells of itself.
    ///
    /// They have the same work in all, however many they are: the pools of the system grow with its time too.
    private func run(queues: Int) async throws -> [String: Int] {
        let file = try TemporaryFile()
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["contexts", file.path, "\(queues)", "\(Self.actions)"],
            output: .string(limit: 65_536),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        let pairs = result.standardOutput.split(separator: "\n").map { $0.split(separator: " ") }
        return Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), Int($0[1]) ?? -1) })
    }

    @Test(
        "G12, SDL: 10,000 busy queues take as many threads as 100; callbacks come one at a time, in order"
    )
    func constant() async throws {
        let few = try await run(queues: 100)
        let many = try await run(queues: 10_000)
        for (facts, queues) in [(few, 100), (many, 10_000)] {
            #expect(facts["settled"] == Self.actions)
            for fault in ["overlapping", "elsewhere", "disordered", "lost"] {
                #expect(facts[fault] == 0, "\(fault) of \(queues)")
            }
        }
        let (low, high) = (try #require(few["threads"]), try #require(many["threads"]))
        // The pools of the system grow with a moment's load, whoever makes it; none is there for a queue.
        #expect(low > 0 && high <= low + 16, "\(low), \(high)")
    }
}
#endif
