import Foundation
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

/// The machine loses power while a file of an older schema is brought up.
///
/// `SLUICE_POWER_POINTS` sets at how many moments, of some hundred.
@Suite("Loss of power during an upgrade", .watched(minutes: 30)) struct UpgradeLossTests {
    private static let points = Reliability.number("SLUICE_POWER_POINTS", usually: 8, short: 3)
    private static let versions = Array(1..<Migration.all.count)

    @Test("G1, G10: at any point of an upgrade each row stays, and it goes on", arguments: versions)
    func anyPoint(_ version: Int) async throws {
        let place = try TemporaryFile()
        let disk = try FaultyDisk()
        let journal = PowerJournal()
        disk.observe(journal)
        try OlderSchema.lay(version, at: place.path, vfs: disk.name)
        let before = try OlderSchema.rows(of: place.path)
        let start = journal.entries.count
        var options = BrokerOptions()
        options.file.vfs = disk.name
        let broker = try await Broker(file: place.path, options: options)
        await broker.close()
        var random = SplitMix(seed: Reliability.seed)
        var lossy = LossyDisk()
        var (tried, unfinished) = (0, 0)
        let stride = max(1, (journal.entries.count - start) / Self.points)
        for (index, entry) in journal.entries.enumerated() {
            lossy.apply(entry)
            guard index >= start, (index - start) % stride == 0 else { continue }
            for loss in LossyDisk.Loss.allCases {
                let copy = try TemporaryFile()
                for (path, bytes) in lossy.contents(after: loss, using: &random) {
                    let suffix = path.dropFirst(place.path.count)
                    try Data(bytes).write(to: URL(fileURLWithPath: copy.path + suffix))
                }
                let point = "step \(index - start), \(loss) lost, SLUICE_SEED=\(Reliability.seed)"
                if try OlderSchema.steps(of: copy.path) < Migration.all.count { unfinished += 1 }
                let broker = try await Broker(file: copy.path)
                await broker.close()
                try #expect(OlderSchema.steps(of: copy.path) == Migration.all.count, "\(point)")
                try #expect(OlderSchema.rows(of: copy.path) == before, "\(point)")
                tried += 1
            }
        }
        // Some of them have the upgrade before them, and some behind.
        #expect(unfinished > 0 && unfinished < tried)
        Reliability.report("upgrade from \(version)", "\(tried) files, \(unfinished) to be brought up")
    }
}
