#if PostgreSQL
internal import Foundation

/// A PostgreSQL server of this process, which ends with it: `.ci/postgres`.
package final class TestServer: Sendable {
    /// The one that tests share; `nil` where there is no server to run.
    package static let shared: TestServer? = try? TestServer(["fsync=off"])

    /// Whether the tests of servers run: alone, as others would keep the server from its turns.
    package static var isToRun: Bool {
        ProcessInfo.processInfo.environment["SLUICE_POSTGRES"] != nil && shared != nil
    }

    /// What `.ci/postgres` does with the server.
    package enum Order: String, Sendable { case crash, promote, fill, free }

    package let folder: String
    private let process: Process
    private let input: Pipe
    private let output: Pipe

    /// - Parameter arguments: Those of `.ci/postgres`: options, then settings of the server.
    package init(_ arguments: [String] = []) throws {
        let script = URL(fileURLWithPath: #filePath).appending(path: "../../../.ci/postgres").standardized
        (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = script
        process.arguments = arguments
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        folder = try Self.line(of: output)[0]
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// The address of a database of the server.
    package var url: String { "postgresql:///postgres?host=\(folder)&user=postgres" }

    /// Has `psql` execute statements.
    package func execute(_ sql: String) throws {
        let psql = Process()
        psql.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        psql.arguments = ["psql", url, "-AtqX", "-v", "ON_ERROR_STOP=1", "-c", sql]
        psql.standardOutput = FileHandle.nullDevice
        try psql.run()
        psql.waitUntilExit()
        guard psql.terminationStatus == 0 else { throw StatementRefused(sql: sql) }
    }

    package struct StatementRefused: Error { let sql: String }

    /// The address of the server and of its standby: of the one that is written to.
    package var urlOfBoth: String {
        "postgresql:///postgres?host=\(folder),\(folder)&port=5432,5433&user=postgres"
            + "&target_session_attrs=read-write"
    }

    /// Returns when the order has been carried out.
    package func perform(_ order: Order) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(order.rawValue)\n".utf8))
        _ = try Self.line(of: output)
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
