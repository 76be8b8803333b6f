#if CommandLineTool && os(Linux)
import Foundation
import TestSupport

/// The program that runs worlds.
enum WorldProgram {
    struct Answer {
        let text: String
        let status: Int32
    }

    private static let environment = ProcessInfo.processInfo.environment

    /// Runs the same worlds each time, or new ones for `SLUICE_WORLD_SECONDS`, or that of the seed in a
    /// variable, and prints its steps.
    static func run(_ command: [String] = [], count: Int, seedIn variable: String) async throws -> Answer {
        if let seed = environment[variable].flatMap({ UInt64($0) }) {
            let answer = try await run(command + ["\(seed)", "1", "trace"])
            print(answer.text)
            return answer
        }
        if let seconds = environment["SLUICE_WORLD_SECONDS"].flatMap({ Int($0) }) {
            return try await run(command + ["\(UInt64.random(in: 0..<1 << 48))", "for", "\(seconds)"])
        }
        return try await run(command + ["1", "\(count)"])
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
