#if CommandLineTool && PostgreSQL && os(Linux)
import Foundation
import TestSupport
import Testing

/// Worlds by seed with a model of a server: see `Tests/World/Server`.
///
/// `SLUICE_SERVER_SEED` runs the world of one seed, and prints what happened in it.
/// `SLUICE_WORLD_SECONDS` runs new ones for so long; without it the same ones are run each time.
@Suite("Worlds by seed, on a server", .watched(minutes: 30)) struct ServerWorldTests {
    @Test("G3, G5, G6, G11, G14: whatever a network does, and however long a process is frozen")
    func worlds() async throws {
        let answer = try await WorldProgram.run(["server"], count: 24, seedIn: "SLUICE_SERVER_SEED")
        #expect(answer.status == 0, "\(answer.text)")
    }

    /// A world in which a guard of the worker is needed, by the guard's name in `.ci/mutants`.
    struct Need: Sendable, CustomTestStringConvertible {
        let guardName: String
        let seed: Int
        let changes: [String]

        init(_ guardName: String, _ seed: Int, _ changes: String...) {
            (self.guardName, self.seed, self.changes) = (guardName, seed, changes)
        }

        var testDescription: String { guardName }
    }

    private static let needs = [
        Need("server claim numbers", 1, "claims=20", "faults="),
        Need("server data", 1, "faults=", "habits=isUnstorable"),
        Need("server doorbell", 5, "faults=cut,restart", "habits="),
        Need(
            "server earlier claim",
            345,
            "faults=longFreeze,loss",
            "habits=ignoresCancellation",
            "processes=2"
        ),
        Need("server late answer", 9, "faults=longFreeze,delay", "habits="),
        Need("server late outcome", 5, "faults=longFreeze,cutOff", "habits=takesLong,ignoresCancellation"),
        Need("server lease", 322, "faults=cutOff", "habits=takesLong", "processes=3", "queues=12"),
        Need("server pooler", 1, "faults=pooler", "habits="),
        Need("server resync", 1, "faults=cut,loss", "processes=2"),
        Need("server slot", 16, "faults=longFreeze,cutOff", "habits=ignoresCancellation", "queues=12"),
        Need(
            "server slow link",
            1,
            "faults=slowLink",
            "habits=retries",
            "queues=12",
            "processes=2",
            "actions=200"
        ),
    ]

    @Test("G3, G5, G6, G9, G11: worlds in which one guard makes the difference", arguments: needs)
    func guarded(_ need: Need) async throws {
        let answer = try await WorldProgram.run(["server", "\(need.seed)", "1"] + need.changes)
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
