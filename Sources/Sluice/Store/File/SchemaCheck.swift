internal import SluiceSQLite
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// Whether the schema is one that this version knows, asked anew when it has changed.
///
/// A newer version of the library may migrate the file while this one has it open. `PRAGMA schema_version`
/// changes with every change of the schema (<https://www.sqlite.org/pragma.html#pragma_schema_version>), also
/// with those of the application's own tables.
struct SchemaCheck {
    private var version: Int64?
    /// When the first step of the schema was applied, in microseconds: it tells one life of the tables from
    /// the next, but for an older copy that is read back into the open file.
    private var madeAt: Int64?

    /// Called inside a transaction.
    ///
    /// - Returns: Whether the schema's version has changed since the last call.
    /// - Throws: ``SluiceError/Code/newerSchema``, and ``SluiceError/Code/fileReplaced`` where tables have
    ///   gone that were there, or were made anew.
    @discardableResult
    mutating func ensure(_ connection: Connection) throws -> Bool {
        let version = try connection.cached("PRAGMA schema_version").first { $0.int64(0) }
        guard version != self.version, !mutant("newer schema") else { return false }
        let isFirst = self.version == nil
        do {
            // Whoever has opened the file has made what was missing.
            try Migrator().check(connection, makesMissing: false)
        } catch let error as SluiceError where error.code == .schemaMissing {
            throw SluiceError(
                .fileReplaced,
                "the queues' tables have gone from \(connection.path), as when a database is erased: "
                    + "close the broker and open it again, which makes them anew"
            )
        }
        let madeAt = try connection.prepare(
            "SELECT applied_at_us FROM sluice_migrations ORDER BY number LIMIT 1"
        )
        .first { $0.int64(0) }
        guard self.madeAt == nil || self.madeAt == madeAt else {
            // Numbers are given a second time there: what this process runs may be another action by now.
            throw SluiceError(
                .fileReplaced,
                "the queues' tables of \(connection.path) were made anew, as when a database is erased: "
                    + "close the broker and open it again"
            )
        }
        (self.version, self.madeAt) = (version, madeAt)
        return !isFirst
    }
}
