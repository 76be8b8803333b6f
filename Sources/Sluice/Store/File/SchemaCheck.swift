internal import SluiceSQLite

/// Checks the schema again after each change: a newer version may migrate the file while this one is open.
///
/// `PRAGMA schema_version` changes with the application's own tables too.
struct SchemaCheck {
    private var version: Int64?
    /// When the first step of the schema was applied: other tables of the same name have another time, but
    /// not those of an older copy restored into the open file, which ``FileLife`` recognizes.
    private var madeAt: Int64?

    /// Checks the schema, inside a transaction; returns whether its version has changed since the last call.
    @discardableResult
    mutating func ensure(_ connection: Connection) throws -> Bool {
        let version = try connection.cached("PRAGMA schema_version").first { $0.int64(0) }
        guard version != self.version, !mutant("newer schema") else { return false }
        let isFirst = self.version == nil
        do {
            // The opening has created all tables, so none may be missing now.
            try Migrator().check(connection, makesMissing: false)
        } catch let error as SluiceError where error.code == .schemaMissing {
            throw replaced("were removed from \(connection.path)", ", which creates them")
        }
        let madeAt =
            try connection.prepare("SELECT applied_at_us FROM sluice_migrations ORDER BY number LIMIT 1")
            .first { $0.int64(0) }
        guard self.madeAt == nil || self.madeAt == madeAt else {
            // Sequences start again there: an action that this process runs may be another one now.
            throw replaced("of \(connection.path) were created again", "")
        }
        (self.version, self.madeAt) = (version, madeAt)
        return !isFirst
    }

    private func replaced(_ event: String, _ effect: String) -> SluiceError {
        let advice = "as when a database is erased: close the broker and open it again\(effect)"
        return SluiceError(.fileReplaced, "the queues' tables \(event), \(advice)")
    }
}
