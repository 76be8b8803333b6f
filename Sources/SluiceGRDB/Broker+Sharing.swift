#if GRDB
public import GRDB
public import Sluice

extension Broker {
    /// Opens the queues in the database of a `DatabaseQueue` or `DatabasePool`, beside the application's
    /// tables.
    ///
    /// ```swift
    /// var configuration = Configuration()
    /// configuration.prepareForSluice()
    /// let pool = try DatabasePool(path: path, configuration: configuration)
    /// let broker = try await Broker(sharing: pool)
    /// ```
    ///
    /// The broker opens the file with connections of its own, and creates missing tables;
    /// `DatabaseMigrator.registerSluiceMigrations()` is another way to create them. GRDB's hooks, observers
    /// and authorizer are not changed. A database with a rollback journal is permanently changed to WAL.
    ///
    /// The broker applies the settings of `prepareForSluice(lockTimeout:)` to the writer, so that enqueues on
    /// it survive a loss of power. In the role `readOnly` it applies none.
    ///
    /// - Parameters:
    ///   - writer: A `DatabaseQueue` or `DatabasePool` on a file, not inside one of its own accesses. The
    ///     broker does not keep it.
    ///   - options: How the file is opened and its queues are run.
    ///   - keepsSettings: Whether the writer's settings stay unchanged. Then enqueues on a pool survive a
    ///     loss of power only after `broker.file?.flush()`, as GRDB gives pools `synchronous = NORMAL`. And
    ///     GRDB's writes fail at once while the broker commits, unless the configuration has a busy mode.
    /// - Throws: `SluiceError` with `unsupportedDatabase` for a database in memory or a temporary one,
    ///   `readOnly` for one that was opened for reading only (read its queues with `Broker(file:options:)`
    ///   and the role `readOnly`), `connectionNotPrepared` when the writer refuses a setting, and errors of
    ///   opening a file. The writer and the file are then unchanged.
    public convenience init(
        sharing writer: some DatabaseWriter,
        options: BrokerOptions = BrokerOptions(),
        keepsSettings: Bool = false
    ) async throws(SluiceError) {
        let path = try await writer.pathOfFile(for: options.file.role)
        try await self.init(file: path, options: options)
        // After the opening: if that throws, the writer and the file are unchanged.
        guard !keepsSettings, options.file.role != .readOnly else { return }
        do {
            try await writer.prepare(for: self, options)
        } catch {
            await close()
            throw error
        }
    }
}

extension DatabaseWriter {
    /// Applies the settings that enqueuing needs to the writing connection.
    ///
    /// - `journal_mode = WAL`, which the file keeps;
    /// - `synchronous = FULL`, and `fullfsync` on Apple's systems: all commits are synced, also without
    ///   actions. It replaces the `NORMAL` that GRDB gives pools;
    /// - `wal_autocheckpoint = 0`, if SQLite can lose a commit when two connections copy the WAL (before
    ///   3.51.3). The broker that shares the database copies it instead, and GRDB again when the broker is
    ///   closed. This call alone does not name a broker: the WAL is then copied only by a running broker, and
    ///   a broker that shares the database later cannot restore GRDB's setting;
    /// - a busy timeout, if the configuration has GRDB's `immediateError`: the broker writes too.
    ///
    /// `Broker(sharing:)` makes this call. Call it for a pool that is opened again while its broker stays
    /// open.
    ///
    /// - Parameter lockTimeout: How long a write waits for writes of the broker or of another process, if the
    ///   configuration does not set it.
    /// - Throws: `SluiceError` with `connectionNotPrepared` or `databaseLocked`.
    public func prepareForSluice(lockTimeout: Duration = .seconds(10)) async throws(SluiceError) {
        try await prepare(lockTimeout: lockTimeout) { db in
            if FileFacts.hasResetBug { try db.set("wal_autocheckpoint", "0") }
        }
    }

    fileprivate func prepare(for broker: Broker, _ options: BrokerOptions) async throws(SluiceError) {
        try await prepare(lockTimeout: options.file.lockTimeout) { db in
            if options.file.hasResetBug { try WALObserver.leaveWAL(of: db, to: broker) }
        }
    }

    private func prepare(
        lockTimeout: Duration,
        _ setLog: @escaping @Sendable (Database) throws -> Void
    ) async throws(SluiceError) {
        let failsWhenBusy = if case .immediateError = configuration.busyMode { true } else { false }
        try await access("preparing GRDB's writer") { db in
            if failsWhenBusy {
                try db.execute(sql: "PRAGMA busy_timeout = \(lockTimeout.wholeMilliseconds)")
            }
            // Only if it is not set yet, since it needs a lock on the whole file.
            if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
                try db.set("journal_mode", "wal")
            }
            try db.set("synchronous", "2", as: "FULL")
            try db.set("fullfsync", "1", as: "ON")
            try setLog(db)
        }
    }

    /// Returns the path of the database's file, as SQLite knows it.
    fileprivate func pathOfFile(for role: BrokerRole) async throws(SluiceError) -> String {
        guard !configuration.readonly else {
            let advice =
                role == .readOnly
                ? "use Broker(file:options:) with the role readOnly" : "open it for writing"
            throw SluiceError(.readOnly, "GRDB has opened the database for reading only; \(advice)")
        }
        let path = try await access("asking for GRDB's file") { db in
            try String.fetchOne(db, sql: "SELECT file FROM pragma_database_list WHERE name = 'main'")
        }
        guard let path, !path.isEmpty else {
            throw SluiceError(
                .unsupportedDatabase,
                "GRDB's database is in memory or temporary, and no broker could share it: give it a file"
            )
        }
        return path
    }

    /// Uses the writing connection outside any transaction, even if the caller's task is cancelled.
    private func access<Output: Sendable>(
        _ task: String,
        _ body: @escaping @Sendable (Database) throws -> Output
    ) async throws(SluiceError) -> Output {
        let result = await Task { try await writeWithoutTransaction(body) }.result
        do {
            return try result.get()
        } catch {
            throw SluiceError(grdb: error, doing: task)
        }
    }
}

extension Database {
    /// Sets a pragma and reads it back, since SQLite does not report a refused setting.
    func set(_ pragma: String, _ value: String, as word: String? = nil) throws {
        try execute(sql: "PRAGMA \(pragma) = \(word ?? value)")
        let actual = try String.fetchOne(self, sql: "PRAGMA \(pragma)")
        guard actual == value else {
            throw SluiceError(
                .connectionNotPrepared,
                "SQLite keeps \(pragma) of GRDB's writer at '\(actual ?? "")', not '\(value)'"
            )
        }
    }
}

extension SluiceError {
    /// Converts an error of GRDB.
    init(grdb error: any Error, doing task: String) {
        switch error {
        case let error as SluiceError:
            self = error
        case let error as DatabaseError:
            let isLocked = [.SQLITE_BUSY, .SQLITE_LOCKED].contains(error.resultCode)
            let reason = isLocked ? "another connection holds its lock" : error.message ?? "SQLite refused"
            self.init(
                isLocked ? .databaseLocked : .connectionNotPrepared,
                "\(task): \(reason)",
                sqliteCode: error.extendedResultCode.rawValue
            )
        default:
            self.init(.connectionNotPrepared, "\(task): \(type(of: error))")
        }
    }
}

extension Duration {
    /// Milliseconds for SQLite, at most 24 days.
    fileprivate var wholeMilliseconds: Int64 {
        max(min(wholeMicroseconds / 1_000, Int64(Int32.max)), 0)
    }
}
#endif
