internal import Foundation

/// The executables that were built with these tests.
package enum BuiltProducts {
    /// The folder of the program that runs these tests.
    static var folder: URL {
        let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
        let runner = bundle?.bundlePath ?? ProcessInfo.processInfo.arguments[0]
        return URL(fileURLWithPath: runner).deletingLastPathComponent()
    }

    /// The path of one of them: they stand beside the test runner.
    package static func path(of name: String) -> String { folder.appendingPathComponent(name).path }
}
