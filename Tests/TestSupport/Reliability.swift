internal import Foundation

/// What the tests that break things have in common: how much they do, from which seed, and what they report.
package enum Reliability {
    /// The seed of all that is random; `SLUICE_SEED` repeats a run.
    package static let seed =
        ProcessInfo.processInfo.environment["SLUICE_SEED"].flatMap { UInt64($0) }
        ?? UInt64.random(in: 0...UInt64.max)

    /// A number of the environment, which makes a test as long as it is wanted.
    package static func number(_ name: String) -> Int? {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) }
    }

    /// Returns how much a test does: as the environment says, else the usual, or less for `make test`.
    package static func number(_ name: String, usually usual: Int, short: Int) -> Int {
        number(name) ?? (number("SLUICE_SHORT") == nil ? usual : short)
    }

    /// Writes one line with the counts of a test to standard error.
    package static func report(_ name: String, _ counts: String) {
        FileHandle.standardError.write(Data("reliability: \(name): \(counts)\n".utf8))
    }
}
