#if CommandLineTool && os(Linux)
import Foundation
import TestSupport

/// The program that runs worlds.
enum WorldProgram {
    struct Answer {
        let text: String
        let status: Int32
    }

    static func run(_ arguments: [String]) async throws -> Answer {
        try await onOwnThread {
            let world = Process()
            world.executableURL = URL(fileURLWithPath: BuiltProducts.path(of: "World"))
            world.arguments = arguments
            let output = Pipe()
            world.standardOutput = output
            try world.run()
            let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
            world.waitUntilExit()
            return Answer(text: text, status: world.terminationStatus)
        }
    }
}
#endif
