#if GRDB
public import GRDB
internal import Sluice

extension DatabaseMigrator {
    /// Registers the steps of the queues' schema, so that this migrator creates their tables too.
    ///
    /// ```swift
    /// var migrator = DatabaseMigrator()
    /// migrator.registerSluiceMigrations()
    /// migrator.registerMigration("messages") { db in … }
    /// try migrator.migrate(pool)
    /// ```
    ///
    /// Otherwise the broker creates them when it opens the file. The order makes no difference: each step is
    /// recorded in `sluice_migrations` and runs once. The identifiers are `sluice-` followed by the names of
    /// the steps.
    ///
    /// It is needed if a migration of the application refers to the queues. It is also needed with
    /// `eraseDatabaseOnSchemaChange`, which would erase the database at each start because of the tables.
    ///
    /// - Precondition: It was not called before for this migrator.
    public mutating func registerSluiceMigrations() {
        for migration in Migration.all {
            // The schema has no foreign keys, so there is nothing to check afterwards.
            registerMigration("sluice-\(migration.name)", foreignKeyChecks: .immediate) { db in
                try Migrator().apply(migration, joining: db.handle())
                db.clearSchemaCache()
            }
        }
    }
}
#endif
