import SluiceSQLite
import SluiceTestKit

/// A database in memory with one table.
func memory() throws -> Connection {
    let connection = try Connection(path: ":memory:", mode: .create)
    try connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value ANY) STRICT")
    return connection
}

/// Connections to one file in WAL mode, which waits for no lock.
struct SharedFile {
    let file: TemporaryFile

    init() throws {
        file = try TemporaryFile()
        try connect().execute("CREATE TABLE t (id INTEGER PRIMARY KEY, value ANY) STRICT")
    }

    func connect() throws -> Connection {
        let connection = try Connection(path: file.path, mode: .create)
        connection.setBusyTimeout(.zero)
        try connection.set(Pragma("journal_mode", "WAL"))
        try connection.set(Pragma("wal_autocheckpoint", 0))
        return connection
    }
}

extension Connection {
    func values() throws -> [Value] {
        try prepare("SELECT value FROM t ORDER BY id").all { $0.value(0) }
    }

    func insert(_ value: Value) throws {
        try cached("INSERT INTO t (value) VALUES (?1)").bind(1, value).run()
    }
}

/// The error of SQLite that a body throws, if it throws one.
func sqliteError<Output>(_ body: () throws -> Output) -> SQLiteError? {
    do {
        _ = try body()
        return nil
    } catch {
        return error as? SQLiteError
    }
}
