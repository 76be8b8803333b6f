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
    /// The broker opens the file a second time, by connections of its own, and makes the tables that are
    /// missing; `DatabaseMigrator.registerSluiceMigrations()` is the other way to make them. GRDB's hooks,
    /// observers and authorizer are not touched. A database with a rollback journal is changed to the
    /// write-ahead log, for good.
    ///
    /// What `prepareForSluice(lockTimeout:)` sets is set on the writer, so that what is
    /// enqueued on it survives a loss of power; in the role `readOnly` nothing is.
    ///
    /// - Parameters:
    ///   - writer: A `DatabaseQueue` or `DatabasePool` on a file, outside its own accesses. The broker does
    ///     not keep it.
    ///   - options: How the file is opened and its queues are run.
    ///   - keepsSettings: Whether the writer is left as it is. What is enqueued on a pool survives a loss of
    ///     power only after `broker.flush()` then, as GRDB gives pools `synchronous = NORMAL`; and GRDB's
    ///     writes fail at once while the broker commits, unless the configuration has a busy mode.
    /// - Throws: `SluiceError` with `unsupportedDatabase` for a database in memory or a temporary one,
    ///   `readOnly` for one that was opened for reading only (look at its queues by `Broker(file:options:)`
    ///   with the role `readOnly`), `connectionNotPrepared` when the writer refuses a setting, and what
    ///   opening a file throws. The writer and the file are as they were then.
    public convenience init(
        sharing writer: some DatabaseWriter,
        options: BrokerOptions = BrokerOptions(),
        keepsSettings: Bool = false
    ) async throws(SluiceError) {
        let path = try await writer.pathOfFile(for: options.role)
        try await self.init(file: path, options: options)
        // Behind it: where it throws, the writer and the file are as they were.
        guard !keepsSettings, options.role != .readOnly else { return }
        do {
            try await writer.prepare(for: self, options)
        } catch {
            await close()
            throw error
        }
    }
}

extension DatabaseWriter {
    /// Sets on the writing connection what enqueuing on it asks for; `Broker(sharing:)` does it by itself.
    ///
    /// - `journal_mode = WAL`, which the file keeps;
    /// - `synchronous = FULL`, and `fullfsync` on Apple's systems: commits are synced, those without actions
    ///   too. It takes the place of the `NORMAL` that GRDB gives pools;
    /// - `wal_autocheckpoint = 0`, where SQLite can lose a commit when two connections copy the log (before
    ///   3.51.3): the broker that shares the database does it, and GRDB again when that is closed. This call
    ///   alone leaves it to a broker that runs, and to none behind it: a broker that shares the database
    ///   later finds nothing that it could give back to GRDB;
    /// - a busy timeout, where the configuration has GRDB's `immediateError`: the broker writes too.
    ///
    /// Call it for a pool that is opened again while its broker stays open.
    ///
    /// - Parameter lockTimeout: How long a write waits for the broker's, or another process's, if the
    ///   configuration does not say.
    /// - Throws: `SluiceError` with `connectionNotPrepared` or `databaseLocked`.
    public func prepareForSluice(lockTimeout: Duration = .seconds(10)) async throws(SluiceError) {
        try await prepare(lockTimeout: lockTimeout) { db in
            if FileFacts.hasResetBug { try db.set("wal_autocheckpoint", "0") }
        }
    }

    fileprivate func prepare(for broker: Broker, _ options: BrokerOptions) async throws(SluiceError) {
        try await prepare(lockTimeout: options.lockTimeout) { db in
            if options.hasResetBug { try LogObserver.leaveLog(of: db, to: broker) }
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
            // Not where it holds already: it asks for a lock on all of the file.
            if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
                try db.set("journal_mode", "wal")
            }
            try db.set("synchronous", "2", as: "FULL")
            try db.set("fullfsync", "1", as: "ON")
            try setLog(db)
        }
    }

    /// The path of the database's file, as SQLite has it.
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

    /// Uses the writing connection outside any transaction, whether the caller's task is cancelled or not.
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
    /// Sets a pragma and reads it back: a setting that is refused changes nothing and says so nowhere else.
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
    /// An error of GRDB as one of ours.
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
    /// For SQLite, which counts in milliseconds and up to 24 days.
    fileprivate var wholeMilliseconds: Int64 {
        max(min(wholeMicroseconds / 1_000, Int64(Int32.max)), 0)
    }
}
#endif
