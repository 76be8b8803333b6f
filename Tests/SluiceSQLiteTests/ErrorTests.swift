import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@Suite("Errors of SQLite", .watched)
struct ErrorTests {
    static let secret = "attack at dawn"
    /// Statements that fail on the secret, each in another part of SQLite.
    static let failing = [
        "INSERT INTO strict (number) VALUES (?1)",
        "INSERT INTO strict (short) VALUES (?1)",
        "INSERT INTO strict (only) VALUES (?1), (?1)",
        "SELECT json_extract(?1, '$.a')",
        "SELECT abs(-9223372036854775808), ?1",
        "SELECT 'a' LIKE 'b' ESCAPE ?1",
        "INSERT INTO guarded (text) VALUES (?1)",
    ]

    @Test("G13: an error carries the statement and never a bound value", arguments: failing)
    func withoutValues(_ sql: String) throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try connection.execute(
            """
            CREATE TABLE strict (
                number INTEGER, short TEXT CHECK (length(short) < 3), only TEXT UNIQUE
            ) STRICT;
            CREATE TABLE guarded (text TEXT);
            CREATE TRIGGER guard BEFORE INSERT ON guarded BEGIN SELECT RAISE(ABORT, 'not that'); END;
            """
        )
        let error = try #require(sqliteError { try connection.prepare(sql).bind(1, Self.secret).run() })
        #expect(error.sql == sql)
        #expect(!error.description.contains(Self.secret))
        #expect(error.description.contains(sql))
        #expect(!"\(error)".contains("dawn") && !String(reflecting: error).contains("dawn"))
    }

    @Test("The error of a missing directory names the system's error")
    func opening() throws {
        let file = try TemporaryFile()
        let error = sqliteError { try Connection(path: file.path + "/nothing/here", mode: .create) }
        #expect(error?.code.primary == .cannotOpen)
        #expect(error?.systemErrno == 2)
        #expect(error?.sql == nil)
    }

    @Test("A missing file is an error unless it is to be created")
    func missing() throws {
        let file = try TemporaryFile()
        #expect(sqliteError { try Connection(path: file.path, mode: .write) }?.code.primary == .cannotOpen)
        #expect(sqliteError { try Connection(path: file.path, mode: .read) }?.code.primary == .cannotOpen)
        let connection = try Connection(path: file.path, mode: .create)
        #expect(!connection.isReadOnly)
        #expect(try Connection(path: file.path, mode: .read).isReadOnly)
    }

    @Test("A hardened connection refuses double-quoted strings and writes to the schema's table")
    func hardened() throws {
        let connection = try memory()
        try connection.execute("SELECT \"no such column\"")
        connection.harden()
        #expect(sqliteError { try connection.execute("SELECT \"no such column\"") }?.code == .error)
        try connection.execute("PRAGMA writable_schema = ON")
        #expect(sqliteError { try connection.execute("DELETE FROM sqlite_schema") }?.code == .error)
    }
}
