#if GRDB
public import GRDB
internal import Sluice

extension DatabaseMigrator {
    /// Registers the steps of the queues' schema, so that this migrator makes their tables with the
    /// application's own.
    ///
    /// ```swift
    /// var migrator = DatabaseMigrator()
    /// migrator.registerSluiceMigrations()
    /// migrator.registerMigration("messages") { db in … }
    /// try migrator.migrate(pool)
    /// ```
    ///
    /// Without it the broker makes them when it opens the file. It makes no difference which comes first:
    /// each step stands in `sluice_migrations` and is taken once. The identifiers are the names of the steps
    /// behind `sluice-`.
    ///
    /// Needed where a migration of the application's speaks of the queues, and with
    /// `eraseDatabaseOnSchemaChange`, which takes tables of others for a change and erases the database, at
    /// each start.
    ///
    /// - Precondition: It was not called before for this migrator.
    public mutating func registerSluiceMigrations() {
        for migration in Migration.all {
            // Ours have no foreign keys: there is nothing to be checked behind them.
            registerMigration("sluice-\(migration.name)", foreignKeyChecks: .immediate) { db in
                try Migrator().apply(migration, joining: db.handle())
                db.clearSchemaCache()
            }
        }
    }
}
#endif
