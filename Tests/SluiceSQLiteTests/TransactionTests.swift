import SluiceSQLite
import TestSupport
import Testing

@Suite("Transactions", .watched)
struct TransactionTests {
    private struct Refusal: Error {}

    @Test("After BUSY at the beginning the body never runs")
    func busy() throws {
        let file = try SharedFile()
        let (first, second) = (try file.connect(), try file.connect())
        try second.beginImmediate()
        var bodies = 0
        let error = sqliteError { try first.immediate { bodies += 1 } }
        #expect(error?.code.primary == .busy)
        #expect(bodies == 0)
        second.rollback()
        try first.immediate { bodies += 1 }
        #expect(bodies == 1)
    }

    @Test("An error of the body leaves nothing behind")
    func otherErrors() throws {
        let connection = try memory()
        var bodies = 0
        #expect(throws: Refusal.self) {
            try connection.immediate {
                bodies += 1
                try connection.insert(.integer(1))
                throw Refusal()
            }
        }
        #expect(bodies == 1)
        #expect(!connection.isInTransaction)
        #expect(try connection.values().isEmpty)
    }

    @Test("After a rollback by SQLite itself the connection goes on")
    func automaticRollback() throws {
        let connection = try memory()
        try connection.execute("CREATE UNIQUE INDEX u ON t (value)")
        try connection.insert(.integer(1))
        var wasOpen = true
        let error = sqliteError {
            try connection.immediate {
                try connection.insert(.integer(2))
                do {
                    try connection.prepare("INSERT OR ROLLBACK INTO t (value) VALUES (1)").run()
                } catch {
                    wasOpen = connection.isInTransaction
                    throw error
                }
            }
        }
        #expect(error?.code == .constraintUnique)
        #expect(!wasOpen)
        connection.rollback()
        try connection.immediate { try connection.insert(.integer(3)) }
        #expect(try connection.values() == [.integer(1), .integer(3)])
    }

    @Test("A commit that fails is rolled back")
    func failedCommit() throws {
        let connection = try memory()
        try connection.set(Pragma("foreign_keys", true))
        try connection.execute(
            "CREATE TABLE child (parent INTEGER REFERENCES t (id) DEFERRABLE INITIALLY DEFERRED) STRICT"
        )
        let error = sqliteError {
            try connection.immediate { try connection.execute("INSERT INTO child (parent) VALUES (1)") }
        }
        #expect(error?.code.primary == .constraint)
        #expect(!connection.isInTransaction)
        #expect(try connection.prepare("SELECT count(*) FROM child").first { $0.int(0) } == 0)
    }

    @Test("A snapshot does not see what is committed meanwhile")
    func snapshot() throws {
        let file = try SharedFile()
        let (reader, writer) = (try file.connect(), try file.connect())
        try writer.insert(.integer(1))
        try reader.snapshot {
            #expect(try reader.values() == [.integer(1)])
            try writer.insert(.integer(2))
            #expect(try reader.values() == [.integer(1)])
        }
        #expect(try reader.values() == [.integer(1), .integer(2)])
    }

    @Test("A nested transaction is an error and ends the outer one")
    func nested() throws {
        let connection = try memory()
        let error = sqliteError {
            try connection.immediate {
                try connection.insert(.integer(1))
                try connection.immediate { try connection.insert(.integer(2)) }
            }
        }
        #expect(error?.code.primary == .error)
        #expect(!connection.isInTransaction)
        #expect(try connection.values().isEmpty)
    }
}
