#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Litestream (<https://litestream.io>), which backs up SQLite files while they are in use: it reads the log
/// as it is written, and keeps a read transaction open for that.
///
/// `SLUICE_LITESTREAM_SECONDS` says for how long: 20 seconds in `make test-all`, an hour in
/// `make test-reliability`, and a fifth more for the pauses between the load's broker and the next.
@Suite("Beside Litestream", .watched(minutes: 120)) struct LitestreamTests {
    private static let seconds = Reliability.number("SLUICE_LITESTREAM_SECONDS")
    /// `.ci/setup tests` installs it.
    private static let program = URL(fileURLWithPath: BuiltProducts.path(of: ""))
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("litestream/bin/litestream").path

    @Test(
        "G12: the log stays bounded, the rate stays, and what is restored is whole and runs",
        .enabled(if: seconds != nil, "`make test-all` runs it alone"),
        .enabled(if: FileManager.default.isExecutableFile(atPath: program), "Litestream is not installed")
    )
    func replicated() async throws {
        let seconds = try #require(Self.seconds)
        let (alone, file) = try (TemporaryFile(), TemporaryFile())
        let before = try await soak(alone.path, seconds: min(seconds, 20))
        let beside = try await replicating(file.path) { try await soak(file.path, seconds: seconds) }
        let rates = [before, beside].map { $0.largest("settled") / $0.count }
        Reliability.report(
            "Litestream",
            "\(seconds) seconds, \(rates[1]) actions a second beside it and \(rates[0]) alone; "
                + "the largest log \(beside.largest("log")) bytes and \(before.largest("log")) alone"
        )
        // It shares two cores with the load.
        #expect(rates[1] * 2 > rates[0])
        // Litestream has a log copied that is longer than 1,000 pages, every few seconds.
        #expect(beside.largest("log") <= 192 * 1_024 * 1_024)
        try await restore(file)
    }

    private func soak(_ path: String, seconds: Int) async throws -> SoakSamples {
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["soak", path, "\(seconds)"],
            output: .string(limit: 64 * 1_024 * 1_024),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        let samples = SoakSamples(result.standardOutput)
        try #require(samples.count == seconds)
        return samples
    }

    /// Has the program replicate a file, into a folder beside it, while the body is at work.
    private func replicating<Output: Sendable>(
        _ path: String,
        _ body: @escaping @Sendable () async throws -> Output
    ) async throws -> Output {
        let settings =
            "dbs:\n  - path: \(path)\n    replica:\n      type: file\n      path: \(path).replica\n"
        try Data(settings.utf8).write(to: URL(fileURLWithPath: "\(path).yml"))
        let result = try await Subprocess.run(
            .path(FilePath(Self.program)),
            arguments: ["replicate", "-config", "\(path).yml"],
            input: .none,
            output: .discarded,
            error: .discarded
        ) { execution in
            let output = try await body()
            // It sends what is left before it ends.
            try execution.send(signal: .interrupt)
            return output
        }
        return result.closureResult
    }

    /// Has a copy made of what was replicated, compares it with the file, and runs it.
    private func restore(_ file: TemporaryFile) async throws {
        let copy = "\(file.path).restored"
        let result = try await Subprocess.run(
            .path(FilePath(Self.program)),
            arguments: ["restore", "-config", "\(file.path).yml", "-o", copy, file.path],
            output: .discarded,
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus.isSuccess, "\(result.standardError)")
        for sql in [
            "PRAGMA integrity_check",
            "SELECT id, queue, kind, payload, attempts FROM sluice_actions ORDER BY id",
            "SELECT id, cause FROM sluice_dead ORDER BY id",
        ] {
            let (source, restored) = try await (Shell.answer(file.path, sql), Shell.answer(copy, sql))
            #expect(source == restored)
        }
        let broker = try await Broker(file: copy)
        try await #expect(broker.actionCount() > 0)
        try broker.routeAnyKind("*") { _, _ in .success }
        try await broker.openGate("network")
        async let running: Void = broker.run()
        await broker.waitUntilIdle()
        await broker.stop()
        try await running
        try await #expect(broker.actionCount() == 0)
        await broker.close()
    }
}
#endif
