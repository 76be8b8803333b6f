internal import Foundation

/// The build whose programs are tested: that of the tests, or the one that `SLUICE_BUILD` names.
///
/// Users run release builds, and compilers have faults that only those show.
package enum ChosenBuild {
    /// The path of a built program.
    package static func path(of program: String) -> String {
        folder.appendingPathComponent(program).path
    }

    private static var folder: URL {
        let own = BuiltProducts.folder
        guard let name = ProcessInfo.processInfo.environment["SLUICE_BUILD"] else { return own }
        precondition(["debug", "release"].contains(name), "SLUICE_BUILD is \(name): give debug or release")
        return own.deletingLastPathComponent().appendingPathComponent(name)
    }
}
