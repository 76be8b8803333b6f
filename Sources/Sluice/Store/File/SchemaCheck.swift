internal import SluiceSQLite

/// Checks that this version knows the schema, again after each change of any table of the file.
///
/// A newer version of the library may migrate the file while this one has it open.
struct SchemaCheck {
    private var version: Int64?
    /// When the first step of the schema was applied: distinguishes tables from later ones of the same name,
    /// except those of an older copy restored into the open file.
    private var madeAt: Int64?

    /// Checks the schema; call it inside a transaction.
    ///
    /// - Returns: Whether the schema's version has changed since the last call.
    @discardableResult
    mutating func ensure(_ connection: Connection) throws -> Bool {
        let version = try connection.cached("PRAGMA schema_version").first { $0.int64(0) }
        guard version != self.version, !mutant("newer schema") else { return false }
        let isFirst = self.version == nil
        do {
            // The opening has created all tables, so none may be missing now.
            try Migrator().check(connection, makesMissing: false)
        } catch let error as SluiceError where error.code == .schemaMissing {
            throw SluiceError(
                .fileReplaced,
                "the queues' tables were removed from \(connection.path), as when a database is erased: "
                    + "close the broker and open it again, which creates them"
            )
        }
        let madeAt =
            try connection.prepare("SELECT applied_at_us FROM sluice_migrations ORDER BY number LIMIT 1")
            .first { $0.int64(0) }
        guard self.madeAt == nil || self.madeAt == madeAt else {
            // Sequences start again there: an action that this process runs may be another one now.
            throw SluiceError(
                .fileReplaced,
                "the queues' tables of \(connection.path) were created again, as when a database is erased: "
                    + "close the broker and open it again"
            )
        }
        (self.version, self.madeAt) = (version, madeAt)
        return !isFirst
    }
}
