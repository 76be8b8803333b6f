import SluiceSQLite
import SluiceTestKit
import TestSupport
import Testing

@testable import EngineSupport
@testable import Sluice

@Suite("Files of older schemas", .watched)
struct OlderSchemaTests {
    private func tables(_ connection: Connection) throws -> [String] {
        try connection.prepare(
            """
            SELECT name FROM sqlite_schema
            WHERE type = 'table' AND substr(name, 1, 7) = 'sluice_' AND name <> 'sluice_migrations'
            ORDER BY name
            """
        )
        .all { $0.text(0) }
    }

    /// The columns of a table that its rows give a value to.
    private func columns(_ table: String, _ connection: Connection) throws -> [String] {
        try connection.prepare("SELECT name FROM pragma_table_info('\(table)') ORDER BY cid").all {
            $0.text(0)
        }
    }

    private func rows(_ table: String, _ columns: [String], _ connection: Connection) throws -> [String] {
        let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ',' || ")
        return try connection.prepare("SELECT \(values) FROM \(table) ORDER BY 1").all { $0.text(0) }
    }

    @Test("G10: no migration drops a row or a value of it", arguments: 1...Migration.all.count)
    func keepsRows(_ count: Int) throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator(migrations: Array(Migration.all.prefix(count))).migrate(
            connection,
            now: Timestamp(microseconds: 1)
        )
        try connection.execute(OlderSchema.content)
        let before = try tables(connection).map { table in
            let columns = try columns(table, connection)
            return (table, columns, try rows(table, columns, connection))
        }
        for (table, _, rows) in before { #expect(!rows.isEmpty, "this test has no row for \(table)") }
        #expect(before.count >= 13)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 2))
        for (table, columns, rows) in before {
            #expect(try self.rows(table, columns, connection) == rows, "\(table)")
        }
        #expect(try connection.pragma("integrity_check") == "ok")
    }

    @Test("G10: what an older schema holds runs, with what is known of it")
    func runs() async throws {
        let site = try Site()
        let file = try #require(site.file)
        let connection = try Connection(path: file.path, mode: .create)
        try connection.set(Pragma("journal_mode", "WAL"))
        try Migrator(migrations: [Migration.all[0]]).migrate(connection, now: Timestamp(microseconds: 1))
        try connection.execute(OlderSchema.content)
        connection.close()
        let broker = try await site.broker()
        let log = EventLog<String>()
        try broker.routeAnyKind("*") { payload, attempt in
            log.append("\(attempt.queue) \(payload) v\(attempt.version) #\(attempt.number)")
            return .success
        }
        try await broker.openGate("g")
        try await running(broker) {
            await broker.waitUntilIdle()
            try await broker.retryNow("b")
            await broker.waitUntilIdle()
        }
        // The second one's time is over by the clock of now: it is no success, and not lost.
        #expect(log.elements == ["a {} v1 #1"])
        try await #expect(broker.deadLetters().map(\.id.rawValue).sorted() == [2, 3])
        await broker.close()
    }
}
