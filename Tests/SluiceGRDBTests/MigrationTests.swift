#if GRDB
import GRDB
import Sluice
import SluiceGRDB
import SluiceTestKit
import TestSupport
import Testing

@Suite("The schema, by GRDB's migrator and by the broker", .watched)
struct MigrationTests {
    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("before") { try $0.execute(sql: "CREATE TABLE before (a)") }
        migrator.registerSluiceMigrations()
        migrator.registerMigration("after") { db in
            // A migration of the application's may speak of the queues.
            try db.execute(sql: "CREATE VIEW stuck AS SELECT * FROM sluice_queues WHERE state = 'parked'")
        }
        return migrator
    }

    @Test("Whoever comes first, schema and record are the same", arguments: Kind.allCases)
    func same(_ kind: Kind) async throws {
        let brokerAlone = try Application(kind)
        let alone = try await brokerAlone.broker()
        let expected = try await Self.schema(of: brokerAlone)
        let steps = try await brokerAlone.rows("SELECT number || name FROM sluice_migrations")
        #expect(expected.count > 20 && steps.count == 3)

        let grdbFirst = try Application(kind)
        try await grdbFirst.dropTable()
        try Self.migrator.migrate(grdbFirst.database)
        try await #expect(Self.schema(of: grdbFirst) == expected)
        let second = try await grdbFirst.broker()

        let brokerFirst = try Application(kind)
        try await brokerFirst.dropTable()
        let third = try await brokerFirst.broker()
        try Self.migrator.migrate(brokerFirst.database)

        for (application, broker) in [(grdbFirst, second), (brokerFirst, third)] {
            try await #expect(Self.schema(of: application) == expected)
            try await #expect(application.rows("SELECT number || name FROM sluice_migrations") == steps)
            let migrator = Self.migrator
            try await #expect(application.database.read { try migrator.hasCompletedMigrations($0) })
            try await #expect(!application.database.read { try migrator.hasSchemaChanges($0) })
            try await broker.enqueue(Note("a"))
            try await #expect(application.row("SELECT count(*) FROM sluice_actions") == "1")
        }
        for broker in [alone, second, third] { await broker.close() }
    }

    @Test("A migrator that was stopped half way is gone on with, by either")
    func halfWay() async throws {
        let application = try Application(.pool)
        let target = try #require(Self.migrator.migrations.dropFirst(2).first)
        #expect(target.hasPrefix("sluice-0002"))
        try Self.migrator.migrate(application.database, upTo: target)
        try await #expect(application.row("SELECT count(*) FROM sluice_migrations") == "2")
        let broker = try await application.broker()
        try await #expect(application.row("SELECT count(*) FROM sluice_migrations") == "3")
        try Self.migrator.migrate(application.database)
        try await #expect(application.row("SELECT count(*) FROM grdb_migrations") == "5")
        await broker.close()
    }

    /// What the queues have in the file, as SQL.
    private static func schema(of application: Application) async throws -> [String] {
        try await application.rows(
            "SELECT name || coalesce(sql, '') FROM sqlite_schema WHERE name GLOB 'sluice_*' ORDER BY name"
        )
    }
}
#endif
