#if CommandLineTool
import Foundation
import Sluice
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// A process that is busy for long: what it needs must not grow.
///
/// `SLUICE_SOAK_SECONDS` says for how long: 20 seconds in `make test-all`, where nothing runs beside it, ten
/// minutes in `make test-reliability`.
@Suite("Soak", .watched(minutes: 60)) struct SoakTests {
    private static let seconds = ProcessInfo.processInfo.environment["SLUICE_SOAK_SECONDS"].flatMap {
        Int($0)
    }

    @Test(
        "G11, G12: memory, descriptors, threads, log, file and latency of a busy process do not drift",
        .enabled(if: seconds != nil, "`make test-all` runs it alone"),
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd"), "the system has no /proc")
    )
    func soak() async throws {
        let seconds = try #require(Self.seconds)
        let file = try TemporaryFile()
        let result = try await Subprocess.run(
            .path(FilePath(BuiltProducts.path(of: "CrashChild"))),
            arguments: ["soak", file.path, "\(seconds)"],
            output: .string(limit: 64 * 1_024 * 1_024),
            error: .string(limit: 65_536)
        )
        try #require(result.terminationStatus == .exited(0), "\(result.standardError)")
        let samples = SoakSamples(result.standardOutput)
        try #require(samples.count == seconds)
        let report = samples.report
        Reliability.report("soak", report)
        // Each grows at first: caches fill, and pools of threads with the first load.
        for (name, slack) in [("resident", 8_192), ("descriptors", 2), ("threads", 4)] {
            let (early, late) = samples.medians(of: name)
            #expect(late <= early + early / 10 + slack, "\(name): \(report)")
        }
        // G12: 64 MiB, and what one group of commits and one checkpoint's wait may add.
        #expect(samples.largest("log") <= 96 * 1_024 * 1_024, "\(report)")
        let (early, late) = samples.medians(of: "file")
        #expect(late <= 2 * early + 8 * 1_024 * 1_024, "\(report)")
        for (name, slack) in [("p50", 5_000), ("p99", 20_000)] {
            let (early, late) = samples.medians(of: name)
            #expect(late <= 3 * early + slack, "\(name): \(report)")
        }
        // It worked all the time.
        #expect(samples.smallestStep(of: "settled") > 0, "\(report)")
        #expect(try await Shell.answer(file.path, "PRAGMA integrity_check") == ["ok"])
        let left = try await Shell.answer(
            file.path,
            "SELECT count(*) FROM sluice_actions WHERE kind = 'message'"
        )
        #expect(left == ["40"])
    }
}

/// What a process that is being soaked has told of itself, a second after the other.
struct SoakSamples {
    private let samples: [[String: Int]]

    init(_ text: String) {
        samples = text.split(separator: "\n").map { line in
            let words = line.split(separator: " ")
            let pairs = stride(from: 0, to: words.count - 1, by: 2).map {
                (String(words[$0]), Int(words[$0 + 1]) ?? -1)
            }
            return Dictionary(pairs) { $1 }
        }
    }

    var count: Int { samples.count }

    /// The median of the second fifth, and that of the last.
    func medians(of name: String) -> (early: Int, late: Int) {
        let (values, fifth) = (samples.map { $0[name] ?? -1 }, samples.count / 5)
        return (Self.median(values[fifth..<2 * fifth]), Self.median(values.suffix(fifth)))
    }

    func largest(_ name: String) -> Int { samples.map { $0[name] ?? .max }.max() ?? .max }

    func smallestStep(of name: String) -> Int {
        zip(samples, samples.dropFirst()).map { ($1[name] ?? 0) - ($0[name] ?? 0) }.min() ?? 0
    }

    /// One line for people.
    var report: String {
        let names = ["resident", "descriptors", "threads", "log", "file", "p50", "p99"]
        let drifts = names.map { name in
            let (early, late) = medians(of: name)
            return "\(name) \(early) -> \(late)"
        }
        let settled = samples.last?["settled"] ?? 0
        return "\(count) seconds, \(settled) actions; " + drifts.joined(separator: ", ")
            + "; the largest log \(largest("log"))"
    }

    private static func median(_ values: ArraySlice<Int>) -> Int {
        values.isEmpty ? -1 : values.sorted()[values.count / 2]
    }
}
#endif
