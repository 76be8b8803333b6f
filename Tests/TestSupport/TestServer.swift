#if PostgreSQL
internal import Foundation
internal import Synchronization

/// A PostgreSQL server of this process, which ends with it: `.ci/postgres`.
package final class TestServer: Sendable {
    /// The one that tests share; `nil` where there is no server to run.
    package static let shared: TestServer? = try? TestServer(["fsync=off"])

    /// Whether the tests of servers run: alone, as others would keep the server from its turns.
    package static var isToRun: Bool {
        ProcessInfo.processInfo.environment["SLUICE_POSTGRES"] != nil && shared != nil
    }

    package let folder: String
    private let process: Process
    private let input: Pipe
    private let output: Pipe
    private let number: Mutex<Int32>

    package init(_ settings: [String] = []) throws {
        let script = URL(fileURLWithPath: #filePath).appending(path: "../../../.ci/postgres").standardized
        (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = script
        process.arguments = settings
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let words = try Self.line(of: output)
        folder = words[0]
        number = Mutex(Int32(words[1]) ?? 0)
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// The address of a database of the server.
    package var url: String { "postgresql:///postgres?host=\(folder)&user=postgres" }

    /// Kills the server, as a crash of the machine would, and starts it again.
    package func crash() throws {
        kill(number.withLock { $0 }, SIGKILL)
        try input.fileHandleForWriting.write(contentsOf: Data("restart\n".utf8))
        let words = try Self.line(of: output)
        number.withLock { $0 = Int32(words[1]) ?? 0 }
    }

    private static func line(of output: Pipe) throws -> [String] {
        var bytes = Data()
        while bytes.last != UInt8(ascii: "\n") {
            guard let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty else {
                throw CocoaError(.fileReadUnknown)
            }
            bytes += byte
        }
        return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
#endif
