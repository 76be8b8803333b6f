#if PostgreSQL
import Foundation
import Sluice
import SluiceTestKit
import Synchronization

@testable import SluicePostgres

/// A PostgreSQL server of this process, which ends with it: `.ci/postgres`.
final class TestServer: Sendable {
    /// The one that tests share; `nil` where there is no server to run.
    static let shared: TestServer? = try? TestServer(["fsync=off"])

    /// Whether the tests of servers run: alone, as others would keep the server from its turns.
    static var isToRun: Bool {
        ProcessInfo.processInfo.environment["SLUICE_POSTGRES"] != nil && shared != nil
    }

    let folder: String
    private let process: Process
    private let input: Pipe
    private let output: Pipe
    private let number: Mutex<Int32>

    init(_ settings: [String] = []) throws {
        let script = URL(fileURLWithPath: #filePath).appending(path: "../../../../.ci/postgres").standardized
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
    var url: String { "postgresql:///postgres?host=\(folder)&user=postgres" }

    /// Kills the server, as a crash of the machine would, and starts it again.
    func crash() throws {
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

/// A schema of its own on the shared server, for brokers on one clock.
struct PostgresSite: ConformingEngine {
    let clock: ManualClock
    let server: TestServer
    let schema: String

    init(_ server: TestServer, clock: ManualClock = ManualClock()) {
        (self.server, self.clock) = (server, clock)
        schema = "test_\(UInt64.random(in: 0 ... .max))"
    }

    func broker() async throws -> PostgresBroker { try await broker { _, _ in } }

    /// Opens a broker whose server has the time of the manual clock.
    func broker(
        _ change: (inout BrokerOptions, inout PostgresOptions) -> Void
    ) async throws -> PostgresBroker {
        var options = BrokerOptions.on(clock)
        var own = PostgresOptions()
        own.schema = schema
        own.setsServerClock = true
        change(&options, &own)
        if own.setsServerClock { try await setClock() }
        return try await PostgresBroker(server.url, options: options, server: own)
    }

    /// Has the functions of the schema ask the setting for the time.
    private func setClock() async throws {
        let connection = PostgresConnection(PostgresAddress(url: server.url, schema: schema))
        try await PostgresSchema.migrate(connection, schema)
        _ = try await connection.call(
            """
            CREATE OR REPLACE FUNCTION @sluice_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
            AS $$ SELECT 'epoch'::timestamptz
                         + current_setting('sluice.test_now')::bigint * interval '1 microsecond' $$
            """
        )
        await connection.close()
    }
}
#endif
