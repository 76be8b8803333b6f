import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

/// The log that a process has left behind is cut or damaged.
///
/// `SLUICE_BAD_INPUT` sets how many damages are tried; 0 is all of them. `SLUICE_SEED` repeats which.
@Suite("Damaged WALs", .watched(minutes: 60)) struct DamagedWALTests {
    @Test("G1, G10: of a log that is cut or damaged the commits before that are there, all, and none behind")
    func anyFrame() async throws {
        let left = try await LeftWAL.make()
        var random = SplitMix(seed: Reliability.seed)
        let all = left.damages(using: &random)
        let damages = BadInput.sample(all, 30, using: &random)
        var found: Set<Int> = []
        for damage in damages {
            let place = try left.write(damage)
            let report = await RoughUse(place).run()
            let expected = left.commits(before: damage)
            found.insert(expected.count)
            let seed: Comment = "\(damage); SLUICE_SEED=\(Reliability.seed)"
            #expect(report.faults == [] && report.errors.isEmpty && !report.isDamageFound, seed)
            #expect(report.ran.intersection(left.enqueued) == Set(expected), seed)
            #expect(report.ran.isSuperset(of: left.file.runnable) && report.newRan, seed)
        }
        Reliability.report(
            "damaged WALs",
            "\(damages.count) of \(all.count) damages to \(left.frameCount) frames of \(left.enqueued.count) "
                + "commits; \(found.count) prefixes found; seed \(Reliability.seed)"
        )
        #expect(damages.count < all.count || found.count == left.enqueued.count + 1)
    }
}
