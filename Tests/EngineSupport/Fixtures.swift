import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import Sluice

/// Something that a handler waits for and a test lets happen; it goes on counting.
typealias Signal = EventLog<Void>

extension BrokerOptions {
    /// Has a broker of the test's stand for a process of its own, beside others on one file.
    ///
    /// All of them have one start of the machine in common, and each has a pid namespace of its own, so that
    /// none can tell another dead.
    mutating func standFor(process pid: Int64) {
        file.identity = ProcessIdentity(pid: pid, mark: "machine namespace-\(pid) start")
        file.sharesFile = true
    }
}

/// Runs a broker while `body` is at work, and stops it behind that.
func running<Output: Sendable>(
    _ broker: Broker,
    _ body: @Sendable () async throws -> Output
) async throws -> Output {
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await broker.run() }
        do {
            // A stop before the start would stop nothing.
            try await until { broker.fileEngine.life.withLock { $0.state != .idle || $0.hasThrown } }
            let output = try await body()
            await broker.stop(grace: .zero)
            try await group.waitForAll()
            return output
        } catch {
            await broker.stop(grace: .zero)
            try await group.waitForAll()
            throw error
        }
    }
}

extension Site {
    /// The first column of each row, as another connection reads it.
    func rows(_ sql: String) throws -> [String] {
        let connection = try Connection(path: #require(file).path, mode: .write)
        connection.setBusyTimeout(.seconds(10))
        return try connection.prepare(sql).all { $0.optionalText(0) ?? "NULL" }
    }
}

/// Runs a broker while `body` is at work, where a test has a name `running` of its own.
func whileRunning(_ broker: Broker, _ body: @Sendable () async throws -> Void) async throws {
    try await running(broker, body)
}
