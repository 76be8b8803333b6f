package import Foundation

/// The build whose programs are tested: that of the tests, or the one that `SLUICE_BUILD` names.
///
/// Users run release builds, and compilers have faults that only those show.
package enum ChosenBuild {
    /// Returns the folder of the built programs.
    ///
    /// - Parameter runner: The program of the tests, which is in the folder of its own build.
    package static func folder(beside runner: URL) -> URL {
        let own = runner.deletingLastPathComponent()
        guard let name = ProcessInfo.processInfo.environment["SLUICE_BUILD"] else { return own }
        precondition(["debug", "release"].contains(name), "SLUICE_BUILD is \(name): give debug or release")
        return own.deletingLastPathComponent().appendingPathComponent(name)
    }
}
