#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// A process that is killed at one call after the other.
///
/// `SLUICE_KILL_POINTS` sets at how many, 0 for all; `SLUICE_SEED` chooses them.
@Suite("Kills", .watched(minutes: 120)) struct KillTests {
    private static let points = Reliability.number("SLUICE_KILL_POINTS", usually: 14, short: 5)

    /// The scenario behind a kill: what was left is run, and all that was promised holds.
    private func finish(_ file: TemporaryFile, _ words: String) async throws {
        let told = try await Scenario.run(["finish", file.path, file.path + ".log"])
        #expect(told.status == .exited(0), "\(words): \(told.lines)")
        #expect(told.violations == [], "\(words)")
    }

    @Test(
        """
        G1, G2, G5, G7: killed in the midst of any call to the disk, also while the file is made, it loses \
        nothing, repeats nothing that was settled, and runs on
        """
    )
    func anyCall() async throws {
        let whole = try TemporaryFile()
        let told = try await Scenario.run(["die", whole.path, whole.path + ".log", "-1"])
        let calls = told.count
        try #require(told.status == .exited(0) && calls > 300, "\(told.lines)")
        let count = Self.points == 0 ? calls : min(calls, Self.points)
        var killed = 0
        for point in 0..<count {
            let start = calls * point / count
            let stretch = max(1, calls * (point + 1) / count - start)
            let call =
                start
                + Int(truncatingIfNeeded: (Reliability.seed &+ UInt64(point) &* 7_919) % UInt64(stretch))
            let file = try TemporaryFile()
            let told = try await Scenario.run(["die", file.path, file.path + ".log", "\(call)"])
            if told.status == .signaled(SIGKILL) { killed += 1 }
            let words = "killed at call \(call), SLUICE_SEED=\(Reliability.seed)"
            #expect(told.violations == [], "\(words)")
            try await finish(file, words)
        }
        // Threads take turns as they come: a scenario may have a few calls less than the first one.
        #expect(killed >= count / 2)
        Reliability.report("kills at calls to the disk", "\(killed) kills of \(calls) calls")
    }

    #if os(Linux)
    /// All that changes a file or its name, and locks.
    private static let systemCalls = [
        "pwrite64", "write", "ftruncate", "fdatasync", "fsync", "fallocate", "unlink", "unlinkat", "link",
        "linkat",
        "creat", "openat", "fchmod", "fchown", "mmap", "fcntl", "close",
    ]

    @Test(
        "G1, G2, G5, G7: killed at any system call that changes, syncs or locks its file, it runs on",
        .needs("strace")
    )
    func anySystemCall() async throws {
        var (killed, ended) = (0, 0)
        for (call, most) in try await counts().sorted(by: { $0.key < $1.key }) {
            // Few threads make as many as the one that makes the most.
            let count = Self.points == 0 ? most : max(1, most / 3)
            let points = Self.points == 0 ? count : min(count, max(1, Self.points / 14))
            for point in 0..<points {
                // A few of them: among the first are those that a thread makes in any run.
                let stretch = max(1, Self.points == 0 ? count / points : min(count / points, 3))
                let number = count * point / points + 1 + Int(Reliability.seed % UInt64(stretch))
                let file = try TemporaryFile()
                let status = try await trace(
                    ["-e", "inject=\(call):signal=KILL:when=\(number)"],
                    file,
                    [call]
                )
                if status == .signaled(SIGKILL) { killed += 1 } else { ended += 1 }
                try await finish(file, "killed at \(call) \(number), SLUICE_SEED=\(Reliability.seed)")
            }
        }
        // Threads take turns as they come, and one may make a few calls less than in the first run.
        #expect(killed > 3 && killed >= (killed + ended) * 2 / 3)
        Reliability.report(
            "kills at system calls",
            "\(killed) kills at \(Self.systemCalls.count) kinds of calls, \(ended) scenarios without"
        )
    }

    /// How many calls of each kind the thread makes that makes the most: strace counts those of each.
    private func counts() async throws -> [String: Int] {
        let file = try TemporaryFile()
        let trace = file.path + ".strace"
        let status = try await self.trace(["-o", trace], file, Self.systemCalls)
        try #require(status == .exited(0))
        var counts: [String: [Substring: Int]] = [:]
        for line in try String(contentsOfFile: trace, encoding: .utf8).split(separator: "\n") {
            // Short numbers of threads are padded with blanks.
            let thread = line.prefix { $0.isNumber }
            let rest = line.dropFirst(thread.count).drop { $0 == " " }
            guard let call = Self.systemCalls.first(where: { rest.hasPrefix("\($0)(") }) else { continue }
            counts[call, default: [:]][thread, default: 0] += 1
        }
        return counts.compactMapValues { $0.values.max() }
    }

    private func trace(
        _ options: [String],
        _ file: TemporaryFile,
        _ calls: [String]
    ) async throws -> TerminationStatus {
        // Of these files and their folder alone: a process opens and maps many others before it begins.
        let folder = URL(fileURLWithPath: file.path).deletingLastPathComponent().path
        let paths = (["", "-wal", "-shm", "-journal"].map { file.path + $0 } + [folder]).flatMap {
            ["-P", $0]
        }
        // Not with --seccomp-bpf, under which strace 6.1 finds no call but the first.
        let general = ["-f", "-qq", "-e", "trace=\(calls.joined(separator: ","))"] + paths + options
        let discards = options.contains("-o") ? [] : ["-o", "/dev/null"]
        let result = try await Subprocess.run(
            .name("strace"),
            arguments: Arguments(
                general + discards
                    + [
                        BuiltProducts.path(of: "CrashChild"), "scenario", file.path, file.path + ".log",
                    ]
            ),
            output: .discarded,
            error: .string(limit: 65_536)
        )
        return result.terminationStatus
    }
    #endif
}
#endif
