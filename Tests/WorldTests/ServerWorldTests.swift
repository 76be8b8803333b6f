#if CommandLineTool && PostgreSQL && os(Linux)
import Foundation
import TestSupport
import Testing

/// Worlds by seed with a model of a server: see `Tests/World/Server`.
///
/// `SLUICE_SERVER_SEED` runs the world of one seed, and prints what happened in it.
/// `SLUICE_WORLD_SECONDS` runs new ones for so long; without it the same ones are run each time.
@Suite("Worlds by seed, on a server", .watched(minutes: 30)) struct ServerWorldTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let seed = environment["SLUICE_SERVER_SEED"].flatMap { UInt64($0) }
    private static let seconds = environment["SLUICE_WORLD_SECONDS"].flatMap { Int($0) }
    private static let count = 24

    @Test("G3, G5, G6, G11, G14: whatever a network does, and however long a process is frozen")
    func worlds() async throws {
        let arguments =
            if let seed = Self.seed {
                ["\(seed)", "1", "trace"]
            } else if let seconds = Self.seconds {
                ["\(UInt64.random(in: 0..<1 << 48))", "for", "\(seconds)"]
            } else {
                ["1", "\(Self.count)"]
            }
        let answer = try await WorldProgram.run(["server"] + arguments)
        #expect(answer.status == 0, "\(answer.text)")
        if Self.seed != nil { print(answer.text) }
    }

    @Test("G6: what was claimed before the worker was taken off is not settled by a lost answer of later")
    func earlierClaims() async throws {
        let changes = ["faults=longFreeze,slowLink", "habits=ignoresCancellation,takesLong"]
        let answer = try await WorldProgram.run(["server", "12", "4"] + changes)
        #expect(answer.status == 0, "\(answer.text)")
    }

    @Test("The same seed gives the same steps", arguments: [3, 9])
    func isRepeatable(seed: Int) async throws {
        let answers = try await [
            WorldProgram.run(["server", "\(seed)", "1", "trace"]),
            WorldProgram.run(["server", "\(seed)", "1", "trace"]),
        ]
        #expect(answers[0].text == answers[1].text && answers[0].text.count > 1_000)
    }
}
#endif
