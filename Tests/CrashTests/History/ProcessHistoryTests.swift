import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Several processes on one file, and what they have written down of it.
///
/// `SLUICE_HISTORY_SECONDS` says for how long, and nothing else runs beside it: a minute in `make test`,
/// ten in `make test-processes`. `SLUICE_HISTORY_SEED` repeats a run as far as the machine lets it be
/// repeated, and what the processes have written is copied into the folder `SLUICE_HISTORY_KEEP`.
@Suite("Several processes on one file", .timeLimit(.minutes(30))) struct ProcessHistoryTests {
    private static let seconds = number("SLUICE_HISTORY_SECONDS").map { Int($0) }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test(
        "G1, G2, G3, G4, G5: killed and stopped processes lose nothing, never overlap, and keep the order",
        .enabled(if: seconds != nil, "`make test` runs it alone, behind the others"),
        .enabled(if: RealInput.isThere, "this machine has no ../shared/data/conversations.jsonl")
    )
    func history() async throws {
        let seed = Self.number("SLUICE_HISTORY_SEED") ?? .random(in: 0...UInt64.max)
        let seconds = try #require(Self.seconds)
        print("the seed of the processes' test: \(seed)")
        var random = Seeded(state: seed)
        let file = try TemporaryFile()
        let workers = Workers(
            file: file,
            count: Int.random(in: 2...8, using: &random),
            seconds: seconds,
            seed: seed,
            lines: min(100 * seconds, try RealInput.messages().count)
        )
        let history = try await workers.run()
        let found = HistoryChecker.violations(of: history, takeover: Workers.takeover)
        #expect(found.isEmpty, "seed \(seed): \(found.count), such as \(found.prefix(10))")
        #expect(try await Shell.answer(file.path, "PRAGMA integrity_check") == ["ok"], "seed \(seed)")
        for view in ["sluice_actions", "sluice_queues", "sluice_dead"] {
            let count = try await Shell.answer(file.path, "SELECT count(*) FROM \(view)")
            #expect(count == ["0"], "seed \(seed): \(view)")
        }
        let retries = history.runs.count { $0.outcome == "retry" }
        let cut = history.runs.count { $0.end == nil }
        let long = history.freezes.count { $0.to - $0.from >= Workers.takeover }
        let effects = Set(history.effects)
        // Its process was killed behind it, or had lost the queue.
        let vain = history.runs.count { run in
            run.outcome == "success" && history.linesWithEffect.contains(run.line)
                && !effects.contains(.init(line: run.line, process: run.process, run: run.number))
        }
        Reliability.report(
            "histories",
            "\(workers.count) processes, \(seconds) seconds, \(history.kills.count) kills, "
                + "\(history.freezes.count) freezes, \(long) of them beyond the lease, "
                + "\(history.lines.values.joined().count) actions, \(history.runs.count) runs, "
                + "\(retries) retries, \(cut) cut by a kill, \(vain) successes that settled nothing, "
                + "\(history.effects.count) effects, \(history.messages.count) messages"
        )
        #expect(retries > 0 && !history.kills.isEmpty && !history.freezes.isEmpty, "seed \(seed)")
        #expect(long > 0 && !history.messages.isEmpty && !history.effects.isEmpty, "seed \(seed)")
    }
}

/// The `sqlite3` shell.
enum Shell {
    /// The lines that it answers.
    static func answer(_ path: String, _ sql: String) async throws -> [String] {
        let result = try await Subprocess.run(
            .name("sqlite3"),
            arguments: ["-bail", "-cmd", ".timeout 60000", path, sql],
            output: .string(limit: 1_024 * 1_024),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        return result.standardOutput.split(separator: "\n").map(String.init)
    }
}
