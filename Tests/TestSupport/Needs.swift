internal import Foundation
package import Testing

extension Trait where Self == ConditionTrait {
    /// Passes over where a program is missing that `make setup-tests` installs.
    package static func needs(_ programs: String...) -> Self {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let missing = programs.filter { program in
            !folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
        }
        let names = missing.joined(separator: " and ")
        return .enabled(if: missing.isEmpty, "passed over: `make setup-tests` installs \(names)")
    }
}
