#if CommandLineTool
import Foundation
import Subprocess
import SystemPackage
import TestSupport
import Testing

@Suite("The demo", .watched)
struct DemoTests {
    @Test(
        "G1, G2, G5, G8: messages sent through a kill arrive once and in order, the demo says, and cleans up",
        .watched(minutes: 3)
    )
    func wholeShow() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try await Subprocess.run(
            .path(FilePath(Self.program)),
            arguments: ["--seed", "7"],
            environment: .inherit.updating(["TMPDIR": folder.path]),
            output: .string(limit: 1_024 * 1_024),
            error: .string(limit: 64 * 1_024)
        )
        let output = result.standardOutput
        #expect(result.terminationStatus == .exited(0), "\(output)")
        #expect(result.standardError.isEmpty)
        for line in [
            "  ok      146 of 146 messages delivered, each of them once",
            "  ok      in order in each of the 10 conversations",
            "  ok      one idempotency key for each message, at every attempt",
            "  ok      nothing left in the file, nothing set aside",
            "  ok      worker 2 has stopped in order",
        ] {
            #expect(output.split(separator: "\n").contains(Substring(line)), "\(output)")
        }
        #expect(output.contains("sent again after the kill and recognised"))
        #expect(output.contains("kill -9"))
        #expect(output.contains("an outage"))
        // Standard output is no terminal here.
        #expect(!output.contains("\u{1B}"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    #if PostgreSQL
    @Test(
        "G1, G2, G5: the same show on a server, by one argument",
        .enabled(
            if: TestSupport.TestServer.isToRun,
            "`make test-all` runs it alone, where there is a server"
        ),
        .watched(minutes: 3)
    )
    func server() async throws {
        let server = try TestSupport.TestServer(["fsync=off"])
        defer { withExtendedLifetime(server) {} }
        let result = try await Subprocess.run(
            .path(FilePath(Self.program)),
            arguments: ["--seed", "7", "--postgres", server.url],
            output: .string(limit: 1_024 * 1_024),
            error: .string(limit: 64 * 1_024)
        )
        let output = result.standardOutput
        #expect(result.terminationStatus == .exited(0), "\(output) \(result.standardError)")
        for line in [
            "  ok      146 of 146 messages delivered, each of them once",
            "  ok      in order in each of the 10 conversations",
            "  ok      nothing left in the database, nothing set aside",
            "  ok      worker 2 has stopped in order",
        ] {
            #expect(output.split(separator: "\n").contains(Substring(line)), "\(output)")
        }
    }
    #endif

    @Test("An unknown option is refused with a usage line")
    func usage() async throws {
        let result = try await Subprocess.run(
            .path(FilePath(Self.program)),
            arguments: ["--no-such-option"],
            output: .discarded,
            error: .string(limit: 64 * 1_024)
        )
        #expect(result.terminationStatus == .exited(64))
        #expect(result.standardError.contains("Usage: sluice-demo"))
    }

    /// The program lies beside the tests.
    private static let program = ChosenBuild.path(of: "sluice-demo")
}
#endif
