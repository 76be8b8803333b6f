#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Several processes on one file, and what they have written down of it.
///
/// `SLUICE_HISTORY_SECONDS` says for how long, and nothing else runs beside it: 40 seconds in
/// `make test-all`, with two to eight of them; ten minutes in `make test-processes`, shared by all these
/// numbers in turn.
///
/// `SLUICE_HISTORY_SEED` repeats a run as far as the machine lets it be repeated, and what the processes have
/// written is copied into the folder `SLUICE_HISTORY_KEEP`.
@Suite("Several processes on one file", .watched(minutes: 30)) struct ProcessHistoryTests {
    private static let seconds = number("SLUICE_HISTORY_SECONDS").map { Int($0) }

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
    }

    @Test(
        "G1, G2, G3, G4, G5: killed and stopped processes lose nothing, never overlap, and keep the order",
        .enabled(if: seconds != nil, "`make test-all` runs it alone"),
        .enabled(if: RealInput.isThere, "this machine has no ../shared/data/conversations.jsonl")
    )
    func history() async throws {
        let seed = Self.number("SLUICE_HISTORY_SEED") ?? .random(in: 0...UInt64.max)
        let seconds = try #require(Self.seconds)
        print("the seed of the processes' test: \(seed)")
        let all = Array(2...8)
        // Each number in turn, where each has a minute; one of them otherwise.
        var random = Seeded(state: seed)
        let counts = seconds >= all.count * 60 ? all : [Int.random(in: 2...8, using: &random)]
        var tally = Tally()
        for count in counts {
            let file = try TemporaryFile()
            let each = seconds / counts.count
            let workers = Workers(
                site: FileSite(file: file),
                count: count,
                seconds: each,
                seed: seed &+ UInt64(count),
                lines: min(100 * each, try RealInput.messages().count)
            )
            let history = try await workers.run()
            let found = HistoryChecker.violations(of: history, takeover: Workers.takeover)
            let place = "seed \(seed), \(count) processes"
            #expect(found.isEmpty, "\(place): \(found.count), such as \(found.prefix(10))")
            #expect(try await Shell.answer(file.path, "PRAGMA integrity_check") == ["ok"], "\(place)")
            for view in ["sluice_actions", "sluice_queues", "sluice_dead"] {
                let rows = try await Shell.answer(file.path, "SELECT count(*) FROM \(view)")
                #expect(rows == ["0"], "\(place): \(view)")
            }
            tally.add(history)
        }
        let numbers = counts.map(String.init).joined(separator: ", ")
        Reliability.report("histories", "\(numbers) processes, \(seconds) seconds, \(tally)")
        #expect(tally.coversAll, "seed \(seed): \(tally)")
    }
}

/// What has come to pass in some histories: what did not was not tried.
struct Tally: CustomStringConvertible {
    private var kills = 0
    private var freezes = 0
    private var longFreezes = 0
    private var actions = 0
    private var runs = 0
    private var retries = 0
    private var cut = 0
    private var vain = 0
    private var effects = 0
    private var messages = 0

    mutating func add(_ history: History) {
        kills += history.kills.count
        freezes += history.freezes.count
        longFreezes += history.freezes.count { $0.to - $0.from >= Workers.takeover }
        actions += history.lines.values.joined().count
        runs += history.runs.count
        retries += history.runs.count { $0.outcome == "retry" }
        cut += history.runs.count { $0.end == nil }
        let written = Set(history.effects)
        // Its process was killed behind it, or had lost the queue.
        vain += history.runs.count { run in
            run.outcome == "success" && history.linesWithEffect.contains(run.line)
                && !written.contains(.init(line: run.line, process: run.process, run: run.number))
        }
        effects += history.effects.count
        messages += history.messages.count
    }

    var coversAll: Bool {
        kills > 0 && freezes > 0 && longFreezes > 0 && retries > 0 && effects > 0 && messages > 0
    }

    var description: String {
        "\(kills) kills, \(freezes) freezes, \(longFreezes) of them beyond the lease, \(actions) actions, "
            + "\(runs) runs, \(retries) retries, \(cut) cut by a kill, \(vain) successes that settled "
            + "nothing, \(effects) effects, \(messages) messages"
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
#endif
