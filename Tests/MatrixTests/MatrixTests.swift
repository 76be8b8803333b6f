#if CommandLineTool && GRDB
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// `Examples/MatrixOutbox` and Synapse, a Matrix server that is not ours; `make example-matrix` does more.
@Suite("A Matrix server", .watched(minutes: 5))
struct MatrixTests {
    private static let root: URL = {
        var root = URL(fileURLWithPath: #filePath)
        for _ in 0..<3 { root.deleteLastPathComponent() }
        return root
    }()
    private static let script = root.appendingPathComponent("Examples/MatrixOutbox/Server/trial").path
    /// `make setup-tests` installs it.
    private static let server = root.appendingPathComponent(".build/synapse/bin/python").path

    @Test(
        "G1, G2, G5: another user of the server reads each message once and in order, whatever was killed",
        .enabled(if: Reliability.number("SLUICE_MATRIX") != nil, "`make test-all` runs it alone"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: server), "Synapse is not installed")
    )
    func trial() async throws {
        var options = PlatformOptions()
        // It ends the server and the senders.
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(20))]
        let result = try await Subprocess.run(
            .path(FilePath(Self.script)),
            arguments: ["quick", Self.program],
            platformOptions: options,
            output: .string(limit: 64 * 1_024),
            error: .string(limit: 64 * 1_024)
        )
        #expect(
            result.terminationStatus == .exited(0),
            "\(result.standardOutput)\(result.standardError)"
        )
        let reports = result.standardOutput.split(separator: "\n").compactMap { line in
            line.hasPrefix("reliability: ") ? line.dropFirst("reliability: ".count) : nil
        }
        #expect(reports.count == 3)
        for report in reports {
            let parts = report.split(separator: ": ", maxSplits: 1).map(String.init)
            if parts.count == 2 { Reliability.report(parts[0], parts[1]) }
        }
    }

    /// The program lies beside the tests.
    private static let program = BuiltProducts.path(of: "sluice-matrix-outbox")
}
#endif
