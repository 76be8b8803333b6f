#if CommandLineTool
import Foundation
import SluiceSQLite
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("Effects in the settling transaction, over kills", .watched(minutes: 3))
struct SettlingCrashTests {
    private static let jobs = 1_200
    private static let kills = 12

    /// Runs the child until it is done, or until its handler of that number kills it.
    private func run(_ file: TemporaryFile, _ form: String, last: Int) async throws -> TerminationStatus {
        try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["settle", file.path, form, "\(last)"],
            input: .none,
            output: .discarded,
            error: .discarded
        )
        .terminationStatus
    }

    @Test(
        "G5: each action has had its effect exactly once, whenever the process was killed",
        arguments: ["engine", "own"]
    )
    func exactlyOnce(_ form: String) async throws {
        let file = try TemporaryFile()
        let connection = try Connection(path: file.path, mode: .create)
        try connection.execute("CREATE TABLE effects (action INTEGER NOT NULL, lane INTEGER NOT NULL)")
        let broker = try await Broker(file: file.path)
        let ids = try await broker.enqueue((0..<Self.jobs).map { Job(lane: $0 % 7, isPoison: false) })
        await broker.close()
        for kill in 1...Self.kills {
            // Behind another number of actions each time, in the middle of whatever comes next.
            let status = try await run(file, form, last: 3 + kill * 7)
            try #require(status == .signaled(SIGKILL), "kill \(kill)")
        }
        let before = try connection.prepare("SELECT count(*) FROM effects").first { $0.int(0) } ?? 0
        #expect(before > 0 && before < Self.jobs)
        #expect(try await run(file, form, last: 0) == .exited(0))
        let effects = try connection.prepare("SELECT action FROM effects ORDER BY action").all { $0.int64(0) }
        #expect(effects == ids.map(\.rawValue))
        // In each lane in the order of its queue.
        let inversions = try connection.prepare(
            """
            SELECT count(*) FROM effects AS a JOIN effects AS b
            ON a.lane = b.lane AND a.rowid < b.rowid AND a.action > b.action
            """
        )
        .first { $0.int(0) }
        #expect(inversions == 0)
        #expect(try connection.prepare("SELECT count(*) FROM sluice_actions").first { $0.int(0) } == 0)
        #expect(try connection.pragma("integrity_check") == "ok")
    }
}
#endif
