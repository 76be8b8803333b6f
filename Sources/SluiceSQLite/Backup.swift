internal import CSluiceSQLite

/// Copies of whole databases, by SQLite's backup interface.
///
/// Source: <https://www.sqlite.org/c3ref/backup_finish.html>
extension Connection {
    /// Copies this database into another one, whose content it replaces, some pages at a time.
    ///
    /// Call it inside ``snapshot(_:)``, after a read: then all pages are of one moment, and writes of other
    /// connections do not restart the copy.
    ///
    /// - Parameters:
    ///   - destination: A connection with no transaction open.
    ///   - between: Called between two steps with the number of remaining pages; if it throws, the copy ends.
    package func copy(
        to destination: Connection,
        pagesAtATime pages: Int,
        between: (_ remaining: Int) throws -> Void = { _ in }
    ) throws {
        guard let backup = sqlite3_backup_init(destination.handle, "main", handle, "main") else {
            throw SQLiteError(sqlite3_extended_errcode(destination.handle), on: destination.handle)
        }
        // Its code is the last step's, which is checked below.
        defer { sqlite3_backup_finish(backup) }
        while true {
            let code = sqlite3_backup_step(backup, Int32(clamping: pages))
            if code == SQLITE_DONE { return }
            guard code == SQLITE_OK else { throw SQLiteError(code, on: destination.handle) }
            try between(Int(sqlite3_backup_remaining(backup)))
        }
    }
}
