internal import SluiceSQLite

/// Distinguishes a file of queues from others, and from an older copy of itself.
struct FileMark {
    /// The times at which the steps of its schema were applied.
    private let migrations: String?
    /// The last sequence given to an action.
    private let lastAction: Int64

    init(_ connection: Connection) throws {
        migrations =
            try connection.prepare("SELECT group_concat(applied_at_us, ' ') FROM sluice_migrations")
            .first { $0.optionalText(0) } ?? nil
        lastAction =
            try connection.prepare("SELECT value FROM sluice_counters WHERE name = 'action'")
            .first { $0.int64(0) } ?? 0
    }

    /// Returns whether a connection has the same file open, which others may have used since.
    func fits(_ connection: Connection) throws(SluiceError) -> Bool {
        do {
            let found = try FileMark(connection)
            return found.migrations == migrations && found.lastAction >= lastAction
        } catch {
            throw SluiceError(wrapping: error, doing: "opening the file again")
        }
    }
}
