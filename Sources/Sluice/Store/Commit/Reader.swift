internal import SluiceSQLite
internal import Synchronization

/// Reads snapshots on a connection and a thread of its own; a long read keeps the WAL from restarting.
final class Reader: Sendable {
    private let path: String
    let open: @Sendable () throws -> FileLook
    private let check: FileCheck
    private let queue: any WorkQueue
    /// Confined to `queue`.
    private nonisolated(unsafe) var look: FileLook?
    /// Confined to `queue`.
    private nonisolated(unsafe) var schema = SchemaCheck()
    /// Confined to `queue`: the connection's `data_version` at the last look for commits.
    private nonisolated(unsafe) var version: String?
    /// Confined to `queue`: `data_version` before the first read, until the first look for commits.
    private nonisolated(unsafe) var firstVersion: String?
    /// Confined to `queue`.
    private nonisolated(unsafe) var hasBegun = false
    /// Confined to `queue`.
    private nonisolated(unsafe) var isClosed = false
    private let isSuspended = Mutex(false)

    init(
        _ path: String,
        _ check: FileCheck,
        _ engine: EngineContext,
        open: @escaping @Sendable () throws -> FileLook,
        opened look: FileLook? = nil
    ) {
        (self.path, self.check, self.open, self.look) = (path, check, open, look)
        queue = engine.queue("sluice.reader", isUrgent: false)
    }

    func read<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws(SluiceError) -> Output {
        try await perform { connection in
            try connection.snapshot {
                try self.ensureSchema(connection)
                return try body(connection)
            }
        }
    }

    /// Returns whether any connection has committed since the last call or suspension.
    ///
    /// At the first call, `nil` means that none has since the first read: only those may have missed one who
    /// have read otherwise.
    func hasNewCommits() async throws(SluiceError) -> Bool? {
        try await perform { connection in
            let version = try connection.pragma("data_version")
            defer { (self.version, self.firstVersion) = (version, nil) }
            if version == self.firstVersion { return nil }
            return version != self.version
        }
    }

    func close() async {
        if check.isForked { return }
        resume()
        await queue.run {
            self.closeConnection()
            self.isClosed = true
        }
    }

    /// Closes the connection after current reads; later ones wait.
    func suspend() async {
        // Nothing runs on a suspended queue.
        if isSuspended.withLock({ $0 }) { return }
        await queue.run {
            self.closeConnection()
            if !self.exchangeSuspended(true) { self.queue.suspend() }
        }
    }

    func resume() { if exchangeSuspended(false) { queue.resume() } }

    private func exchangeSuspended(_ value: Bool) -> Bool {
        isSuspended.withLock { isSuspended in
            defer { isSuspended = value }
            return isSuspended
        }
    }

    private func perform<Output: Sendable>(
        _ body: @escaping @Sendable (Connection) throws -> Output
    ) async throws(SluiceError) -> Output {
        // Before the queue is used: a child of `fork` has none of its threads.
        try check.ensure()
        return try await queue.run {
            Result { try self.attempt(body) }
                .mapError { SluiceError(wrapping: $0, doing: "reading \(self.path)") }
        }.get()
    }

    private func attempt<Output>(_ body: (Connection) throws -> Output) throws -> Output {
        for _ in 0..<FileLook.attempts {
            let look = try opened()
            if !hasBegun { (firstVersion, hasBegun) = (try look.connection.pragma("data_version"), true) }
            let result = Result { try body(look.connection) }
            // The error may come from a half-written file.
            if look.isCurrent { return try result.get() }
            closeConnection()
        }
        throw FileLook.changesTooFast
    }

    private func opened() throws -> FileLook {
        if isClosed { throw SluiceError(.closed, "the broker was closed") }
        try check.look()
        if let look, look.isCurrent { return look }
        closeConnection()
        let opened = try open()
        look = opened
        return opened
    }

    private func closeConnection() {
        look?.close()
        (look, version, firstVersion) = (nil, nil, nil)
    }

    /// Throws if the schema is not known, since reads are then meaningless.
    private func ensureSchema(_ connection: Connection) throws {
        do { try schema.ensure(connection) } catch let error as SluiceError where error.isOfFile {
            check.fail(error)
            throw error
        }
    }
}
