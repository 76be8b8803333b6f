internal import SluiceSQLite

/// Checks whether others have committed changes that the writer has not read.
///
/// Its own connection never waits for a long read, and takes no lock that delays others.
final class Lookout: Sendable {
    let queue: any WorkQueue
    private let file: DatabaseFile
    private let path: String
    private let runners: RunnerState
    /// Confined to `queue`.
    private nonisolated(unsafe) var connection: Connection?
    /// Confined to `queue`.
    private nonisolated(unsafe) var isClosed = false
    /// Confined to `queue`.
    private nonisolated(unsafe) var isSuspended = false

    init(_ file: DatabaseFile, _ path: String, _ runners: RunnerState, _ engine: EngineContext) {
        (self.file, self.path, self.runners) = (file, path, runners)
        queue = engine.queue("sluice.lookout", isUrgent: true)
    }

    /// Returns whether others have recorded unread changes for this store, or have declared it dead.
    func hasForeignChanges() throws -> Bool {
        let connection = try opened()
        guard let epoch = runners.epoch else { return false }
        return try connection.cached(
            """
            SELECT 1 WHERE EXISTS (SELECT 1 FROM sluice_changes WHERE epoch = ?1)
                        OR NOT EXISTS (SELECT 1 FROM sluice_runner_rows WHERE epoch = ?1)
            """
        ).bind(1, epoch).hasRow()
    }

    /// Returns the path of the WAL, with symbolic links resolved; it exists while connections are open.
    func walPath() throws -> String {
        _ = try hasForeignChanges()
        guard let path = try opened().walPath else { throw SluiceError(.storage, "the file has no WAL") }
        return path
    }

    func close() async { await perform { $0.isClosed = true } }
    /// Closes the connection; checks throw until it is resumed.
    func suspend() async { await perform { $0.isSuspended = true } }
    func resume() async { await perform { $0.isSuspended = false } }

    private func perform(_ change: @escaping @Sendable (Lookout) -> Void) async {
        await queue.run {
            self.connection?.close()
            self.connection = nil
            change(self)
        }
    }

    private func opened() throws -> Connection {
        queue.checkIsCurrent()
        if isClosed { throw SluiceError(.closed, "the broker was closed") }
        if isSuspended { throw SluiceError(.suspended, "the broker is suspended") }
        if let connection { return connection }
        let opened = try file.openReader(path)
        opened.setBusyTimeout(.zero)
        connection = opened
        return opened
    }
}
