#if CommandLineTool
import Foundation
import SluiceSQLite
import Sluice
import SluiceTestKit
import Subprocess
import TestSupport
import Testing

/// A process that is killed while it brings up a file of an older schema, at one call after the other.
///
/// `SLUICE_KILL_POINTS` sets at how many, 0 for all; `SLUICE_SEED` chooses them.
@Suite("Kills during an upgrade", .watched(minutes: 60)) struct UpgradeKillTests {
    private static let points = Reliability.number("SLUICE_KILL_POINTS", usually: 5, short: 2)
    private static let versions = Array(1..<Migration.all.count)

    @Test(
        "G1, G10: killed in the midst of any call of an upgrade, each row stays, and it goes on",
        arguments: versions
    )
    func anyCall(_ version: Int) async throws {
        let calls = try await calls(from: version)
        let count = Self.points == 0 ? calls : min(calls, Self.points)
        var (killed, unfinished) = (0, 0)
        for point in 0..<count {
            let stretch = max(1, calls * (point + 1) / count - calls * point / count)
            let call = calls * point / count + Int(Reliability.seed % UInt64(stretch))
            let file = try TemporaryFile()
            try OlderSchema.lay(version, at: file.path)
            let before = try OlderSchema.rows(of: file.path)
            let told = try await Scenario.run(["upgrade", file.path, "\(call)"])
            let words = "killed at call \(call), SLUICE_SEED=\(Reliability.seed)"
            if told.status == .signaled(SIGKILL) { killed += 1 }
            #expect(told.violations == [], "\(words)")
            if try stepsOfCopy(of: file.path) < Migration.all.count { unfinished += 1 }
            let broker = try await Broker(file: file.path)
            await broker.close()
            try #expect(OlderSchema.steps(of: file.path) == Migration.all.count, "\(words)")
            try #expect(OlderSchema.rows(of: file.path) == before, "\(words)")
        }
        // A closing may make a few calls less than the first one did.
        #expect(killed >= count * 2 / 3 && unfinished > 0)
        Reliability.report(
            "kills of an upgrade from \(version)",
            "\(killed) kills of \(calls) calls, \(unfinished) files to be brought up"
        )
    }

    /// How many calls an upgrade makes.
    private func calls(from version: Int) async throws -> Int {
        let file = try TemporaryFile()
        try OlderSchema.lay(version, at: file.path)
        let before = try OlderSchema.rows(of: file.path)
        let told = try await Scenario.run(["upgrade", file.path, "-1"])
        try #require(told.status == .exited(0) && told.count > 20, "\(told.lines)")
        try #require(OlderSchema.rows(of: file.path) == before)
        return told.count
    }

    /// How many migrations a copy has had: the broker is to find the file, its log and its index as the kill
    /// has left them.
    private func stepsOfCopy(of path: String) throws -> Int {
        let copy = try TemporaryFile()
        for suffix in ["", "-wal"] where FileManager.default.fileExists(atPath: path + suffix) {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: copy.path + suffix)
        }
        return try OlderSchema.steps(of: copy.path)
    }
}
#endif
