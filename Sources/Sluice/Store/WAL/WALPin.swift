internal import SluiceSQLite

/// A read transaction on a connection of its own, whose use is that it is open.
///
/// It is one of two things to a log (`walTryBeginRead` in SQLite's `wal.c`). Where all of the log has been
/// copied, it holds the lock of those who read the database file alone: then no checkpoint of anybody
/// copies a page or says that one was copied. Else it holds a mark in the log: then no commit of anybody
/// can begin the log anew. Either way a checkpoint and a commit that begins the log anew cannot both take
/// place.
///
/// Not thread-safe: the writer's leader alone uses it.
final class WALPin {
    private let open: () throws -> Connection
    private var connection: Connection?
    private(set) var isHeld = false

    /// - Parameter open: Makes the connection, when it is first needed.
    init(_ open: @escaping () throws -> Connection) {
        self.open = open
    }

    func hold() throws {
        guard !isHeld else { return }
        let connection = try self.connection ?? open()
        self.connection = connection
        do {
            try connection.beginDeferred()
            // The first read takes the lock; this one asks for no schema.
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

    /// Holds the end of the log, as it is now, and does not let go in between.
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
