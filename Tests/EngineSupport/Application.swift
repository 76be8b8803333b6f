import CSluiceSQLite
import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import Sluice

/// An application with tables of its own in a broker's file, and a connection of its own to it.
final class Application: Sendable {
    /// One task at a time uses it.
    nonisolated(unsafe) let connection: Connection
    /// It stays as long as the application.
    private let file: TemporaryFile?

    init(
        _ path: String,
        vfs: String? = nil,
        tables: String = Application.tables,
        keeping file: TemporaryFile? = nil
    ) throws {
        self.file = file
        connection = try Connection(path: path, mode: .create, vfs: vfs)
        connection.setBusyTimeout(patience)
        try connection.execute(tables)
    }

    convenience init(_ site: Site, tables: String = Application.tables) throws {
        try self.init(#require(site.file).path, tables: tables, keeping: site.file)
    }

    static let tables = """
        CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, text TEXT UNIQUE, sent INTEGER);
        """

    /// The `sqlite3 *`.
    var handle: OpaquePointer { connection.rawHandle }

    func execute(_ sql: String) throws { try connection.execute(sql) }

    /// Runs a transaction, as an application does.
    func transaction<Output>(_ body: (OpaquePointer) throws -> Output) throws -> Output {
        try connection.immediate { try body(handle) }
    }

    /// The first column of each row, as text.
    func rows(_ sql: String) throws -> [String] {
        try connection.prepare(sql).all { $0.optionalText(0) ?? "NULL" }
    }

    func row(_ sql: String) throws -> String { try rows(sql).first ?? "nothing" }
}

/// The trigger of the guide "Your own transactions" by which actions go with a message.
let goneWithMessage = """
    CREATE TRIGGER message_deleted AFTER DELETE ON messages BEGIN
        DELETE FROM sluice_actions WHERE tag = 'message-' || OLD.id;
        DELETE FROM sluice_dead WHERE tag = 'message-' || OLD.id;
    END;
    """

/// The error that a body throws, if it throws one of ours.
func thrown<Output>(_ body: () throws -> Output) -> SluiceError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? SluiceError
    }
}

/// Runs statements by SQLite's C function, as an application without a library of its own does.
func run(_ sql: String, on connection: OpaquePointer) throws {
    let code = sqlite3_exec(connection, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw TestError(String(cString: sqlite3_errmsg(connection))) }
}

/// Makes the application's tables on the engine's own connection, for brokers in memory.
@Sendable func makeTables(_ connection: OpaquePointer) throws {
    try run(Application.tables, on: connection)
}
