package import SluiceSQLite

/// Updates a file's schema to that of this version of the library.
///
/// Each step and its record in `sluice_migrations` are one transaction; a kill leaves whole steps.
package struct Migrator {
    /// What a file was before the tables of the queues were created in it.
    package enum Origin: Sendable {
        case queues
        case empty
        /// It has tables of others.
        case others
    }

    package let migrations: [Migration]
    package init(migrations: [Migration] = Migration.all) { self.migrations = migrations }

    /// Refuses a newer file, and one that lacks steps unless `makesMissing`; writes nothing.
    package func check(_ connection: Connection, makesMissing: Bool = true) throws {
        let applied = try applied(connection)
        guard makesMissing || applied.count >= migrations.count else {
            throw SluiceError(
                .schemaMissing,
                applied.isEmpty
                    ? "\(connection.path) has no queues; a broker that runs or enqueues creates their tables"
                    : "\(connection.path) is of an older version of Sluice; an enqueue or a run updates it"
            )
        }
        guard let newest = applied.last, newest.number > migrations.count else { return }
        throw SluiceError(
            .newerSchema,
            """
            \(connection.path) was written by a newer version of Sluice: it is at schema \(newest.number) \
            ('\(newest.name)') and this version knows \(migrations.count); update the library
            """
        )
    }

    /// - Returns: What the file was before its first step.
    @discardableResult
    package func migrate(_ connection: Connection, now: Timestamp) throws -> Origin {
        guard try applied(connection).count < migrations.count else { return .queues }
        var origin = Origin.queues
        for migration in migrations {
            try connection.immediate {
                // In the transaction: another process may open the same new file at the same time.
                if migration.number == migrations.first?.number { origin = try self.origin(of: connection) }
                try apply(migration, connection, now: now)
            }
        }
        return origin
    }

    private func origin(of connection: Connection) throws -> Origin {
        guard try applied(connection).isEmpty else { return .queues }
        let others = try connection.prepare("SELECT 1 FROM sqlite_schema WHERE name <> 'sluice_migrations'")
        return try others.hasRow() ? .others : .empty
    }

    /// Applies a step, unless it is applied, in a transaction that another migrator has begun (trait `GRDB`).
    package func apply(_ migration: Migration, joining handle: OpaquePointer) throws {
        let connection = Connection(borrowing: handle)
        defer { connection.close() }
        do {
            try apply(migration, connection, now: SystemClock().now)
        } catch {
            throw SluiceError(wrapping: error, doing: "creating the tables of \(migration.name)")
        }
    }

    private func apply(_ migration: Migration, _ connection: Connection, now: Timestamp) throws {
        try connection.execute(Self.recordTable)
        // Another process may have applied it since the check.
        guard try !applied(connection).contains(where: { $0.number == migration.number }) else { return }
        try connection.execute(migration.sql)
        try connection.prepare("INSERT INTO sluice_migrations (number, name, applied_at_us) VALUES (?, ?, ?)")
            .bind(1, migration.number).bind(2, migration.name).bind(3, now.microseconds).run()
    }

    private func applied(_ connection: Connection) throws -> [(number: Int, name: String)] {
        let table = try connection.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sluice_migrations'")
        guard try table.hasRow() else { return [] }
        return try connection.prepare("SELECT number, name FROM sluice_migrations ORDER BY number")
            .all { ($0.int(0), $0.text(1)) }
    }

    /// The record of the steps; `user_version` belongs to the application, whose file it may be.
    private static let recordTable = """
        CREATE TABLE IF NOT EXISTS sluice_migrations (
            number INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            applied_at_us INTEGER NOT NULL
        ) STRICT
        """
}
