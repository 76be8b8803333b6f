internal import Foundation

/// The executables that were built with these tests.
package enum BuiltProducts {
    /// The path of one of them: they stand beside the test runner.
    package static func path(of name: String) -> String {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let runner =
            bundle.map { URL(fileURLWithPath: $0.bundlePath) }
            ?? URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0])
        return runner.deletingLastPathComponent().appendingPathComponent(name).path
    }
}
