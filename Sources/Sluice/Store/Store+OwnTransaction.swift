internal import SluiceSQLite
internal import Synchronization

/// Work inside a transaction of the application, on its own connection.
///
/// The owner of that connection commits or rolls back; the running broker reads the commit like any other.
extension Store {
    func enqueue(_ drafts: [ActionDraft], in handle: OpaquePointer) throws(SluiceError) -> [ActionID] {
        guard !drafts.isEmpty else { return [] }
        // The application's connection may be set to leave the WAL to the engine.
        defer { checkWAL() }
        return try join(handle, doing: "enqueueing in the application's transaction") {
            try $0.enqueues.enqueue(drafts)
        }
    }

    /// Settles a run with success; its slot stays taken until its handler has returned (G3).
    func succeed(_ action: ClaimedAction, in handle: OpaquePointer) throws(SluiceError) {
        try join(handle, doing: "settling action \(action.receipt.action)") {
            transaction -> Result<Void, SluiceError> in
            guard try transaction.settlements.succeedJoined(action.receipt) else {
                throw SluiceError(
                    .staleReceipt,
                    "the attempt of action \(action.receipt.action) can no longer settle anything: the "
                        + "action was settled, removed or taken over; roll back"
                )
            }
            return .success(())
        }
        let receipt = action.receipt
        ownSettlements.add(
            .init(claim: receipt.claim, queue: action.queue, kind: action.kind, number: action.number),
            of: receipt.action
        )
    }

    /// Joins a connection's open transaction by a savepoint, so that a failure changes nothing in it.
    private func join<Output>(
        _ handle: OpaquePointer,
        doing task: String,
        _ body: (WriteTransaction) throws -> Result<Output, SluiceError>
    ) throws(SluiceError) -> Output {
        let connection = Connection(borrowing: handle)
        defer { connection.close() }
        try ensureUsable(connection)
        // The application may be about to read the id of its own row.
        let lastRowID = connection.lastInsertedRowID
        defer { connection.lastInsertedRowID = lastRowID }
        do {
            return try connection.savepoint("sluice_own") {
                // `schema_version` does not show that a newer version has migrated the file: the
                // application's own transaction may use its numbers, and roll them back.
                try Migrator().check(connection)
                let core = try joinedCore(connection)
                let output = try body(WriteTransaction(core)).get()
                try core.writeDown()
                if core.isWriteBehindDue { try core.writeBehind() }
                // The application's commit syncs nothing if it writes nothing.
                if core.hasFoundStored { try connection.syncWAL() }
                return output
            }
        } catch let error as SQLiteError where error.code.primary == .busy {
            if connection.hasWriteUnderWay {
                throw SluiceError(
                    .statementUnderWay,
                    "\(task): a statement that writes is under way on this connection, such as one with "
                        + "RETURNING; read all of its rows, or reset it, before this call",
                    sqliteCode: error.code.rawValue
                )
            }
            throw SluiceError(
                .databaseLocked,
                "\(task): another connection has the write lock, or has committed since this transaction "
                    + "first read; use BEGIN IMMEDIATE and a busy timeout, and try it all again",
                sqliteCode: error.code.rawValue
            )
        } catch let error as SQLiteError where error.code.primary == .readOnly && connection.isQueryOnly {
            throw Self.readsOnly
        } catch {
            let failure = SluiceError(wrapping: error, doing: task)
            if failure.code == .newerSchema { check.fail(failure) }
            throw failure
        }
    }

    private func joinedCore(_ connection: Connection) throws(SQLiteError) -> TransactionCore {
        var limits = WriteBehindLimits()
        limits.newest *= 2  // Without a broker's upkeep, as in `Migrations/0003_triggers.sql`.
        let core = TransactionCore(
            connection: connection,
            nonce: nonce,
            identity: identity,
            leases: LeaseTimes(),
            clock: clock,
            writeBehind: limits,
            isJoined: true
        )
        (core.now, core.uptime) = (clock.now, clock.uptime)
        // This process's own store also reads it as a foreign change.
        core.others = try connection.cached("SELECT epoch FROM sluice_runner_rows").all { $0.int64(0) }
        return core
    }

    private func ensureUsable(_ connection: Connection) throws(SluiceError) {
        try check.ensure()
        try writer.ensureWritable()
        guard !writer.load.isClosed else { throw SluiceError(.closed, "the broker was closed") }
        guard Int(bitPattern: connection.rawHandle) != writerAddress.load(ordering: .acquiring) else {
            throw SluiceError(
                .otherDatabase,
                "this is the engine's own connection: enqueue with the settling transaction that gave it"
            )
        }
        guard isOnFile(connection) else {
            throw SluiceError(
                .otherDatabase,
                "the connection's main database is not the file of this broker: open that file, not ATTACH it"
            )
        }
        guard !connection.isReadOnly else { throw Self.readsOnly }
        guard connection.isInTransaction else {
            throw SluiceError(
                .noTransaction,
                "no transaction is open on the connection: BEGIN IMMEDIATE first (with GRDB: `write`), so "
                    + "that its rows and the action are stored together or not at all"
            )
        }
    }

    private static let readsOnly = SluiceError(
        .readOnly,
        "the connection was opened for reading only: use one that writes; with GRDB `write`, not `read`"
    )

    /// Returns whether a connection's main database is this file, by device and inode.
    private func isOnFile(_ connection: Connection) -> Bool {
        guard let own = check.identity, !connection.path.isEmpty, !connection.isFileGone else { return false }
        return DatabaseFile.identity(of: connection.path) == own
    }
}

extension Connection {
    fileprivate var isQueryOnly: Bool { (try? pragma("query_only")) == "1" }
}

// MARK: - The application's connection

extension Store {
    /// Checks a connection of the application; writes nothing and changes no setting.
    func diagnose(_ handle: OpaquePointer) throws(SluiceError) -> [ConnectionFinding] {
        let connection = Connection(borrowing: handle)
        defer { connection.close() }
        guard isOnFile(connection) else { return [.otherDatabase] }
        do {
            var findings: [ConnectionFinding] = []
            // The journal mode is that of the connection's last read, which may be older than the broker.
            _ = try connection.pragma("schema_version")
            if try connection.isReadOnly || connection.pragma("query_only") == "1" {
                findings.append(.readOnly)
            }
            let journal = try connection.pragma("journal_mode")
            if journal != "wal" { findings.append(.notWAL(journal)) }
            #if canImport(Darwin)
            let fullfsync: String? = try connection.pragma("fullfsync")
            #else
            let fullfsync: String? = nil
            #endif
            let synchronous = try connection.pragma("synchronous")
            if let finding = ConnectionFinding.ofSyncs(synchronous: synchronous, fullfsync: fullfsync) {
                findings.append(finding)
            }
            if !connection.firesTriggers { findings.append(.triggersOff) }
            let pages = try connection.pragma("wal_autocheckpoint")
            if pages != "0", FileFacts.hasResetBug { findings.append(.automaticCheckpoints) }
            return findings
        } catch {
            throw SluiceError(wrapping: error, doing: "checking the application's connection")
        }
    }
}
