#if CommandLineTool && os(Linux)
import Foundation
import TestSupport
import Testing

/// Worlds by seed: see `Tests/World`.
///
/// `SLUICE_SEED` runs the world of one seed, and prints what happened in it. `SLUICE_WORLD_SECONDS` runs new
/// ones for so long; without it the same ones are run each time.
@Suite("Worlds by seed", .watched(minutes: 30)) struct WorldTests {
    @Test("G1 to G11: nothing is lost, doubled, late or out of order, whatever processes and disk suffer")
    func worlds() async throws {
        let answer = try await WorldProgram.run(count: 40, seedIn: "SLUICE_SEED")
        #expect(answer.status == 0, "\(answer.text)")
    }

    @Test("G7: an action that ends its process is tried alone, also where others were tried before")
    func laterDeaths() async throws {
        let answer = try await WorldProgram.run(["3012", "8", "acts=die,hang", "faults=", "processes=2"])
        #expect(answer.status == 0, "\(answer.text)")
    }

    @Test("G8: what stands aside is tried again in time, though the clock was set back before a reopening")
    func clockBack() async throws {
        let faults = "faults=clock,failSyncsLong,fullDisk,longFreeze,suspend"
        let plan = ["processes=1", "queues=passes", faults, "acts=", "actions=40", "seconds=15"]
        let answer = try await WorldProgram.run(["7", "5"] + plan)
        #expect(answer.status == 0, "\(answer.text)")
    }

    @Test("The same seed gives the same steps", arguments: [1, 7, 42])
    func isRepeatable(seed: Int) async throws {
        let answers = try await [
            WorldProgram.run(["\(seed)", "1", "trace"]), WorldProgram.run(["\(seed)", "1", "trace"]),
        ]
        #expect(answers[0].text == answers[1].text && answers[0].text.count > 1_000)
    }
}
#endif
