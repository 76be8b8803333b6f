import Foundation
import SluiceSQLite
import SluiceTestKit
import Synchronization
import TestSupport
import Testing

@testable import Sluice

@Suite("Migrations", .watched)
struct MigratorTests {
    private func records(_ connection: Connection) throws -> [String] {
        try connection.prepare("SELECT number || ' ' || name || ' ' || applied_at_us FROM sluice_migrations")
            .all { $0.text(0) }
    }

    private func names(_ connection: Connection) throws -> [String] {
        try connection.prepare("SELECT name FROM sqlite_schema ORDER BY name").all { $0.text(0) }
    }

    @Test("Each migration is applied once and recorded with number, name and time")
    func once() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 5))
        let expected = Migration.all.map { "\($0.number) \($0.name) 5" }
        #expect(try records(connection) == expected)
        #expect(expected.first == "1 0001_tables 5")
        let changes = connection.totalChanges
        try Migrator().migrate(connection, now: Timestamp(microseconds: 6))
        #expect(try records(connection) == expected)
        #expect(connection.totalChanges == changes)
    }

    @Test("It says what the file was before: new, of others, or with queues, also if another was faster")
    func origin() throws {
        let now = Timestamp(microseconds: 5)
        let connection = try Connection(path: ":memory:", mode: .create)
        #expect(try Migrator().migrate(connection, now: now) == .empty)
        #expect(try Migrator().migrate(connection, now: now) == .queues)
        let others = try Connection(path: ":memory:", mode: .create)
        try others.execute("CREATE TABLE own (a)")
        #expect(try Migrator().migrate(others, now: now) == .others)
        let older = try Connection(path: ":memory:", mode: .create)
        _ = try Migrator(migrations: [Migration.all[0]]).migrate(older, now: now)
        #expect(try Migrator().migrate(older, now: now) == .queues)
    }

    @Test("No CHECK has an IN of more than two values, of which SQLite builds a table at each insert")
    func checks() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 5))
        let tables = try connection.prepare("SELECT sql FROM sqlite_schema WHERE type = 'table'")
            .all { $0.text(0) }
        let lists = tables.flatMap { $0.matches(of: /\bIN \(([^)]*)\)/) }
        #expect(!lists.isEmpty)
        for list in lists { #expect(list.1.split(separator: ",").count <= 2, "\(list.0)") }
    }

    @Test("The two pages that each commit of a run writes are far apart in the hash of the WAL")
    func pagesInHash() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 5))
        func number(_ sql: String) throws -> Int {
            try #require(try connection.prepare(sql).first { $0.int(0) })
        }
        let claims = try number("SELECT rootpage FROM sqlite_schema WHERE name = 'sluice_claim_rows'")
        // The first leaf of the actions is the page after the schema.
        let leaf = try number("SELECT page_count + 1 FROM pragma_page_count")
        // A part of the hash has 4,096 frames in 8,192 slots, and of the frames each page has half at most.
        let distance = (leaf - claims) * 383 % 8_192
        #expect((2_048...6_144).contains(distance), "\(claims), \(leaf): \(distance)")
    }

    @Test("Migrations are numbered from 1, without gaps, as their names are")
    func numbers() {
        #expect(Migration.all.map(\.number) == Array(1...Migration.all.count))
        for migration in Migration.all {
            #expect(Int(migration.name.prefix(4)) == migration.number)
            #expect(migration.sql.utf8.count > 100)
        }
    }

    @Test("A kill between two migrations is taken up", arguments: 0..<Migration.all.count)
    func takenUp(_ count: Int) throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        try Migrator(migrations: Array(Migration.all.prefix(count))).migrate(
            connection,
            now: Timestamp(microseconds: 1)
        )
        try Migrator().check(connection)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 2))
        #expect(
            try records(connection)
                == Migration.all.map { "\($0.number) \($0.name) \($0.number <= count ? 1 : 2)" }
        )
        let whole = try Connection(path: ":memory:", mode: .create)
        try Migrator().migrate(whole, now: Timestamp(microseconds: 1))
        #expect(try names(connection) == names(whole))
    }

    @Test("A migration that fails leaves nothing behind, and those before it stay")
    func failing() throws {
        let connection = try Connection(path: ":memory:", mode: .create)
        let broken = Migration(
            number: 2,
            name: "0002_broken",
            sql:
                """
                CREATE TABLE half (a);
                INSERT INTO sluice_counters VALUES ('x', 1);
                SELECT no_such_function();
                """
        )
        let migrator = Migrator(migrations: [Migration.all[0], broken])
        #expect(throws: SQLiteError.self) {
            try migrator.migrate(connection, now: Timestamp(microseconds: 1))
        }
        #expect(!connection.isInTransaction)
        #expect(try records(connection) == ["1 0001_tables 1"])
        #expect(try !names(connection).contains("half"))
        #expect(try connection.prepare("SELECT count(*) FROM sluice_counters").first { $0.int(0) } == 4)
        try Migrator().migrate(connection, now: Timestamp(microseconds: 2))
        #expect(try records(connection).count == Migration.all.count)
    }

    @Test("Connections that migrate at once apply each migration once")
    func atOnce() throws {
        for _ in 0..<5 {
            let file = try TemporaryFile()
            let errors = Mutex<[String]>([])
            var patient = BrokerOptions()
            patient.file.lockTimeout = .seconds(30)
            let opening = DatabaseFile(.file(file.path), patient)
            try DatabaseFile.createPrivateFile(file.path)
            DispatchQueue.concurrentPerform(iterations: 6) { number in
                do {
                    _ = try opening.open(now: Timestamp(microseconds: Int64(number)))
                } catch {
                    errors.withLock { $0.append("\(error)") }
                }
            }
            #expect(errors.withLock { $0 } == [])
            let connection = try Connection(path: file.path, mode: .write)
            #expect(try records(connection).count == Migration.all.count)
            #expect(try connection.pragma("integrity_check") == "ok")
            #expect(try connection.pragma("auto_vacuum") == "2")
        }
    }

    @Test("Connections that set a file up while others migrate it wait for each other")
    func steps() throws {
        let file = try TemporaryFile()
        let first = try Connection(path: file.path, mode: .create)
        try first.set(Pragma("journal_mode", "WAL"))
        first.setBusyTimeout(.zero)
        let second = try Connection(path: file.path, mode: .write)
        second.setBusyTimeout(.zero)
        try Migrator(migrations: [Migration.all[0]]).migrate(first, now: Timestamp(microseconds: 1))
        try first.beginImmediate()
        let error = #expect(throws: SQLiteError.self) {
            try Migrator().migrate(second, now: Timestamp(microseconds: 2))
        }
        #expect(error?.code.primary == .busy)
        first.rollback()
        try Migrator().migrate(second, now: Timestamp(microseconds: 3))
        try Migrator().migrate(first, now: Timestamp(microseconds: 4))
        #expect(try records(first).map { $0.last } == ["1", "3", "3"])
    }
}
