internal import SluiceSQLite

/// Distinguishes a file of queues from others, and from an older copy of itself.
struct FileMark {
    private let migrations: String?
    private let lastAction: Int64

    init(_ connection: Connection) throws {
        migrations =
            try connection.prepare("SELECT group_concat(applied_at_us, ' ') FROM sluice_migrations")
            .first { $0.optionalText(0) } ?? nil
        lastAction =
            try connection.prepare("SELECT value FROM sluice_counters WHERE name = 'action'")
            .first { $0.int64(0) } ?? 0
    }

    func fits(_ connection: Connection) throws(SluiceError) -> Bool {
        do {
            let found = try FileMark(connection)
            return found.migrations == migrations && found.lastAction >= lastAction
        } catch {
            throw SluiceError(wrapping: error, doing: "opening the file again")
        }
    }
}
