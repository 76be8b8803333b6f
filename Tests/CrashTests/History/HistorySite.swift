#if CommandLineTool
import Foundation
import SluiceSQLite
import SluiceTestKit

/// Where several processes have their queues, and the application its tables.
protocol HistorySite: Sendable {
    /// Where the processes write down what they do.
    var folder: String { get }

    /// Where a worker finds the queues; `nil` is the one that runs behind the others.
    func place(of worker: Int?) -> String
    /// Makes the application's tables.
    func prepare() async throws
    /// Cuts a worker off for a time, if it can be, and returns when.
    func cutOff(_ worker: Int, _ random: inout Seeded) async throws -> History.Freeze?
    /// Disturbs all workers until a time, if it can, and returns when none of them could go on.
    func disturb(until end: Int64, _ random: inout Seeded) async throws -> [History.Freeze]
    /// What handlers have left, in the order of the commits.
    func effects() async throws -> [History.Effect]
    /// The actions of the application's messages, by line.
    func messages() async throws -> [Int: Int64]
}

extension HistorySite {
    /// The application's tables, in the words of both.
    static var tables: String {
        """
        CREATE TABLE effects (
            id \(serial), line INTEGER NOT NULL, process TEXT NOT NULL, run INTEGER NOT NULL);
        CREATE TABLE messages (line INTEGER PRIMARY KEY, action BIGINT NOT NULL);
        """
    }

    private static var serial: String {
        Self.self is FileSite.Type ? "INTEGER PRIMARY KEY" : "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    }
}

/// A file.
struct FileSite: HistorySite {
    let file: TemporaryFile

    var folder: String { file.path + ".histories" }
    func place(of worker: Int?) -> String { file.path }

    private func connection() throws -> Connection {
        let connection = try Connection(path: file.path, mode: .create)
        connection.setBusyTimeout(.seconds(60))
        return connection
    }

    func prepare() throws { try connection().execute(Self.tables) }
    func cutOff(_ worker: Int, _ random: inout Seeded) -> History.Freeze? { nil }
    func disturb(until end: Int64, _ random: inout Seeded) -> [History.Freeze] { [] }

    func effects() throws -> [History.Effect] {
        try connection().prepare("SELECT line, process, run FROM effects ORDER BY id")
            .all { History.Effect(line: $0.int(0), process: $0.text(1), run: $0.int(2)) }
    }

    func messages() throws -> [Int: Int64] {
        let rows = try connection().prepare("SELECT line, action FROM messages").all {
            ($0.int(0), $0.int64(1))
        }
        return Dictionary(rows) { first, _ in first }
    }
}
#endif
