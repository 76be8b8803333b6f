#if CommandLineTool
import Foundation
import SluiceTestKit
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// The process that works through the scenario of `Tests/CrashChild`.
enum Scenario {
    struct Told {
        let status: TerminationStatus
        let lines: [String]

        /// What was found wrong.
        var violations: [String] { lines.filter { $0.hasPrefix("violation") } }
        /// The last line, which tells what was done.
        var counts: String { lines.last ?? "" }
        /// The number that the last line begins with.
        var count: Int { Int(counts.prefix { $0.isNumber }) ?? 0 }
    }

    static func run(_ arguments: [String]) async throws -> Told {
        try await run(.path(FilePath(BuiltProducts.path(of: "CrashChild"))), arguments)
    }

    /// Runs it below a program that is given first.
    static func run(_ program: Executable, _ arguments: [String]) async throws -> Told {
        let result = try await Subprocess.run(
            program,
            arguments: Arguments(arguments),
            output: .string(limit: 1_000_000),
            error: .string(limit: 1_000_000)
        )
        let lines = result.standardOutput.split(separator: "\n").map(String.init)
        if result.standardError.isEmpty { return Told(status: result.terminationStatus, lines: lines) }
        let remarks = result.standardError.split(separator: "\n").map { "violation: it says: \($0)" }
        return Told(status: result.terminationStatus, lines: remarks + lines)
    }
}
#endif
