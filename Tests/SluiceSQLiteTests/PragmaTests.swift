import SluiceSQLite
import TestSupport
import Testing

@Suite("Pragmas", .watched)
struct PragmaTests {
    @Test("A pragma that was set is read back")
    func set() throws {
        let connection = try memory()
        try connection.set(Pragma("cache_size", -1_234))
        try connection.set(Pragma("foreign_keys", true))
        try connection.set(Pragma("temp_store", "MEMORY", answers: "2"))
        #expect(try connection.pragma("cache_size") == "-1234")
        #expect(try connection.pragma("foreign_keys") == "1")
        #expect(try connection.pragma("temp_store") == "2")
    }

    @Test("A pragma that keeps another value is an error that names the value")
    func refused() throws {
        let connection = try memory()
        let pragma = Pragma("journal_mode", "WAL")
        let error = #expect(throws: PragmaRefused.self) { try connection.set(pragma) }
        #expect(error?.pragma == pragma)
        #expect(error?.actual == "memory")
    }

    @Test("A pragma that the library does not know is an error")
    func unknown() throws {
        let connection = try memory()
        let error = #expect(throws: PragmaRefused.self) { try connection.set(Pragma("no_such_pragma", 1)) }
        #expect(error?.actual == "")
    }

    @Test("An answer in another case is the same answer")
    func cases() throws {
        let file = try SharedFile()
        let connection = try file.connect()
        try connection.set(Pragma("journal_mode", "Wal"))
        #expect(try connection.pragma("journal_mode") == "wal")
    }

    @Test("A pragma that needs a lock and does not get it is a BUSY error, no refusal")
    func locked() throws {
        let file = try SharedFile()
        let (first, second) = (try file.connect(), try file.connect())
        try first.beginImmediate()
        let error = sqliteError { try second.set(Pragma("journal_mode", "DELETE")) }
        #expect(error?.code.primary == .busy)
    }
}
