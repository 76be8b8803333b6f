#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("A process that its own handlers kill", .watched) struct PoisonTests {
    private static let lanes = 64

    /// Runs the child once.
    ///
    /// - Returns: Whether it came to its end, and was not killed.
    private func runChild(_ file: TemporaryFile, log: String, _ run: String) async throws -> Bool {
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["poison", file.path, log, "\(Self.lanes)", run],
            output: .discarded,
            error: .string(limit: 65_536)
        )
        if result.terminationStatus == .signaled(SIGKILL) { return false }
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        return true
    }

    @Test("G7: a poison action among 64 is set aside within ten deaths, and its neighbours lose nothing")
    func poisonIsFound() async throws {
        let file = try TemporaryFile()
        let log = file.path + ".log"
        let broker = try await Broker(file: file.path)
        let ids = try await broker.enqueue((0..<Self.lanes).map { Job(lane: $0, isPoison: $0 == 17) })
        let poison = ids[17]
        await broker.close()

        #expect(try await runChild(file, log: log, "first") == false)
        var deaths = 1
        while try await !runChild(file, log: log, "later") {
            deaths += 1
            try #require(deaths <= 10, "the poison action is not set aside")
        }

        let after = try await Broker(file: file.path)
        let dead = try await after.deadLetters()
        #expect(dead.map(\.id) == [poison])
        #expect(dead.first?.cause == .crashed)
        #expect(try await after.actionCount() == 0)
        await after.close()

        let starts = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n").map {
            $0.split(separator: " ").map(String.init)
        }
        // Each neighbour ran once more at least, and always as attempt 1.
        for id in ids where id != poison {
            let attempts = starts.filter { $0[1] == "\(id)" }.map { $0[2] }
            #expect(attempts.count >= 2 && Set(attempts) == ["1"])
        }
        // The last three deaths were its own.
        let own = starts.filter { $0[1] == "\(poison)" }.map { $0[2] }
        #expect(own.count == deaths && own.suffix(3) == ["1", "2", "3"] && Set(own.dropLast(2)) == ["1"])
    }
}
#endif
