internal import SluiceSQLite

/// Holds a read transaction open on a connection of its own, to pin the WAL.
///
/// If all of the WAL was copied, it holds the lock of readers of the database file alone: then no checkpoint
/// copies a page or reports one as copied. Otherwise it holds a mark in the WAL: then no commit can restart
/// the WAL (`walTryBeginRead` in SQLite's `wal.c`). So a checkpoint and such a commit cannot both happen.
/// Not thread-safe: only the writer's leader uses it.
final class WALPin {
    private let open: () throws -> Connection
    private var connection: Connection?
    private(set) var isHeld = false

    init(_ open: @escaping () throws -> Connection) { self.open = open }

    func hold() throws {
        guard !isHeld else { return }
        let connection = try self.connection ?? open()
        self.connection = connection
        do {
            try connection.beginDeferred()
            // The first read takes the lock; this one needs no schema.
            _ = try connection.cached("PRAGMA user_version").first { $0.int64(0) }
        } catch {
            connection.rollback()
            throw error
        }
        isHeld = true
    }

    func release() {
        connection?.rollback()
        isHeld = false
    }

    /// Pins the current end of the WAL, without a gap in between.
    func renew() throws {
        guard isHeld else { return try hold() }
        let next = WALPin(open)
        try next.hold()
        swap(&connection, &next.connection)
        next.close()
    }

    func close() {
        release()
        connection?.close()
        connection = nil
    }
}
