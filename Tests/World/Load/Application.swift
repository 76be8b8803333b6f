import Foundation
import Sluice
import SluiceSQLite

/// The application's tables in the engine's file, on a connection of its own.
final class Application: Sendable {
    static let tables = [
        "CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY, line INTEGER NOT NULL)",
        "CREATE TABLE IF NOT EXISTS sent (line INTEGER PRIMARY KEY)",
    ]
    private let process: SimulatedProcess
    private let path: String
    private let opensOften: Bool
    private let queue: any WorkQueue
    /// Used by the queue.
    private nonisolated(unsafe) var connection: Connection?
    /// Used by the one thread of the world that runs.
    private nonisolated(unsafe) var broker: Broker?
    private nonisolated(unsafe) var hasFailed = false  // As above.

    init(_ process: SimulatedProcess, _ path: String, opensOften: Bool) {
        (self.process, self.path, self.opensOften) = (process, path, opensOften)
        queue = process.place.queue("application", isUrgent: false)
    }

    func write<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws -> Output {
        // A connection that is opened after a sync has failed is not told of it.
        if hasFailed, let broker {
            try await broker.file?.flush()
            hasFailed = false
        }
        return try await queue.run { [self] in
            Result {
                do {
                    let connection = try connection ?? open()
                    self.connection = connection
                    let output = try connection.immediate { try body(connection) }
                    if opensOften { end() }
                    return output
                } catch {
                    // After an error of the disk, SQLite wants a new one.
                    end()
                    hasFailed = true
                    throw error
                }
            }
        }.get()
    }

    func use(_ broker: Broker) { self.broker = broker }
    func close() async { await queue.run { self.end() } }

    private func end() {
        connection?.close()
        connection = nil
    }

    private func open() throws -> Connection {
        let connection = try Connection(path: path, mode: .write, vfs: process.vfs)
        connection.setBusyTimeout(.seconds(60))
        try connection.set(Pragma("wal_autocheckpoint", 0))
        return connection
    }
}

extension Connection {
    /// The lines whose actions stand in the file, with their numbers.
    func remainingLines() throws -> [Int: Int64] {
        let rows = try cached(
            """
            SELECT json_extract(payload, '$.line'), id FROM sluice_actions
            UNION ALL SELECT json_extract(payload, '$.line'), id FROM sluice_dead
            """
        ).all { ($0.int(0), $0.int64(1)) }
        return Dictionary(rows) { first, _ in first }
    }

    func hasClaims() throws -> Bool { try cached("SELECT 1 FROM sluice_claim_rows").hasRow() }

    /// The lines that have had their effect.
    func effects() throws -> [Int] {
        try cached("SELECT line FROM effects ORDER BY id").all { $0.int(0) }
    }
}

extension Note {
    func write(_ connection: Connection) throws {
        try connection.cached("INSERT INTO effects (line) VALUES (?1)").bind(1, line).run()
    }

    /// Enqueues it as the shell does, once.
    func insert(_ connection: Connection) throws {
        let sent = try connection.cached("SELECT 1 FROM sent WHERE line = ?1").bind(1, line).hasRow()
        // Written in any case: a commit without changes syncs nothing.
        try connection.cached("REPLACE INTO sent (line) VALUES (?1)").bind(1, line).run()
        if sent { return }
        let payload = String(decoding: try JSONEncoder().encode(self), as: UTF8.self)
        let key: Int64? = role == .sorted ? sortNumber : nil
        try connection.cached(
            "INSERT INTO sluice_actions (queue, kind, payload, sort_key) VALUES (?1, ?2, ?3, ?4)"
        ).bind(1, queue.rawValue).bind(2, Self.kind).bind(3, payload).bind(4, key).run()
    }
}
