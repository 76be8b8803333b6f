#if GRDB
public import GRDB
public import Sluice

/// The application's own transactions on GRDB's connection, with the same rules as on a `sqlite3 *`.
extension Broker {
    /// Enqueues an action in GRDB's transaction: both are committed, or neither.
    ///
    /// ```swift
    /// try await pool.write { db in
    ///     try message.insert(db)
    ///     try broker.enqueue(SendMessage(message), in: db)
    /// }
    /// ```
    ///
    /// GRDB notifies the broker of the commit, so that a running one starts the action at once; a broker in
    /// another process finds it by itself. A rollback wakes no broker. Observations of the queues' views on
    /// this database see the action like the application's own changes.
    ///
    /// - Parameters:
    ///   - action: The action; its type says queue and sort key.
    ///   - options: A schedule, an expiry, a tag, a gate, a deduplication key.
    ///   - database: A connection inside a transaction, to the broker's file.
    /// - Returns: The action's number. Ask for its result only after the commit.
    /// - Throws: `SluiceError` with `noTransaction`, `otherDatabase`, `statementUnderWay` inside the loop
    ///   over a cursor of a statement that writes, `databaseLocked`, `readOnly`, `closed`, and the errors of
    ///   other enqueues. The transaction is then unchanged, and GRDB's `write` rolls it back if the error
    ///   leaves its closure. After `interrupted` (the result of a cancelled GRDB task), `diskFull`,
    ///   `inputOutput` and `outOfMemory` SQLite may have rolled it back itself.
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        in database: Database
    ) throws(SluiceError) -> EnqueueReceipt {
        _ = try fileEngine(for: "an enqueue in a database of GRDB")
        let receipt = try enqueue(action, options, in: database.handle())
        CommitNotice.give(to: self, of: database)
        return receipt
    }

    /// Enqueues actions of one type in GRDB's transaction, all or none, in their order.
    ///
    /// ```swift
    /// try broker.enqueue(sends, in: db) { EnqueueOptions(tag: "message-\($0.message)") }
    /// ```
    ///
    /// Each call prepares its statements again: one call for many actions costs far less than many calls.
    ///
    /// - Parameters:
    ///   - actions: The actions; they may belong to several queues.
    ///   - shared: The options of each action.
    ///   - database: As for one action.
    ///   - options: Returns the options of one action, in place of the shared ones.
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: As for one action, and any error of the closure unchanged.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        in database: Database,
        options: ((A) throws -> EnqueueOptions)? = nil
    ) throws -> [ActionID] {
        _ = try fileEngine(for: "an enqueue in a database of GRDB")
        let ids = try enqueue(actions, shared, in: database.handle(), options: options)
        CommitNotice.give(to: self, of: database)
        return ids
    }
}

extension Database {
    /// The `sqlite3 *`.
    func handle() throws(SluiceError) -> OpaquePointer {
        guard let sqliteConnection else {
            throw SluiceError(.otherDatabase, "GRDB has closed this connection")
        }
        return sqliteConnection
    }
}

extension BrokerFile {
    /// Returns the problems of a GRDB connection with this broker's file.
    ///
    /// ```swift
    /// let findings = try await pool.writeWithoutTransaction { try broker.file?.diagnose($0) }
    /// ```
    ///
    /// Pass the writer; a pool's reader cannot write, which is a finding of its own.
    ///
    /// - Throws: `SluiceError` when SQLite cannot answer.
    public func diagnose(_ database: Database) throws(SluiceError) -> [ConnectionFinding] {
        try diagnose(database.handle())
    }
}
#endif
