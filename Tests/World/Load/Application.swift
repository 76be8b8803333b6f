import Sluice
import SluiceSQLite

/// The application's tables in the engine's file, on a connection of its own.
final class Application: Sendable {
    static let table = "CREATE TABLE IF NOT EXISTS effects (id INTEGER PRIMARY KEY, line INTEGER NOT NULL)"
    private let process: SimulatedProcess
    private let path: String
    private let opensOften: Bool
    private let queue: any WorkQueue
    /// Used by the queue.
    private nonisolated(unsafe) var connection: Connection?

    init(_ process: SimulatedProcess, _ path: String, opensOften: Bool) {
        (self.process, self.path, self.opensOften) = (process, path, opensOften)
        queue = process.place.queue("application", isUrgent: false)
    }

    func write<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws -> Output {
        try await queue.run { [self] in
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
                    throw error
                }
            }
        }.get()
    }

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

extension Note {
    func write(_ connection: Connection) throws {
        try connection.prepare("INSERT INTO effects (line) VALUES (?1)").bind(1, line).run()
    }
}
