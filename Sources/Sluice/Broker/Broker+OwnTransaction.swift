/// Transactions of the application on connections of its own to the file: see <doc:YourOwnTransactions>.
extension Broker {
    /// Enqueues an action in a transaction of the application: both are committed, or neither.
    ///
    /// ```swift
    /// sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil)
    /// …                                               // the message's own row
    /// try broker.enqueue(SendMessage(…), in: connection)
    /// sqlite3_exec(connection, "COMMIT", nil, nil, nil)
    /// ```
    ///
    /// The action has the durability of the connection: below `synchronous = FULL` it survives a loss of
    /// power only after ``BrokerFile/flush()`` has returned. The ``BrokerOptions/middleware`` is not called.
    /// A refusal leaves the transaction unchanged. The call does not commit, roll back or change settings,
    /// and leaves no statement on the connection. Await ``EnqueueReceipt/settled()`` only after the commit.
    ///
    /// - Parameters:
    ///   - action: What is to be done.
    ///   - options: How it waits, and by what it is found.
    ///   - connection: A `sqlite3 *` of the SQLite library that this process uses, with a transaction open,
    ///     whose main database is the broker's file. On a server it is a `PGconn *` to the broker's database
    ///     with a transaction open, and the calling thread waits for the server. It is used during the call.
    /// - Throws: ``SluiceError`` `noTransaction`, `otherDatabase`, `statementUnderWay` in the middle of the
    ///   rows of a statement that writes, `databaseLocked` when another connection writes, or has written
    ///   since the transaction began to read, `readOnly`, `closed`, and the errors of other enqueues, except
    ///   `CancellationError`. After `diskFull`, `inputOutput`, `outOfMemory` and `interrupted` SQLite may
    ///   have rolled back the whole transaction: check `sqlite3_get_autocommit()`.
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer
    ) throws(SluiceError) -> EnqueueReceipt {
        let drafts = [try drafter.draft(action, options)]
        try require(drafts)
        let ids = try engine.enqueue(drafts, in: connection)
        return EnqueueReceipt(id: ids[0], broker: self)
    }

    /// Enqueues actions in a transaction of the application, all or none, in order; cheaper than one by one.
    ///
    /// ```swift
    /// try broker.enqueue(sends, in: connection) { EnqueueOptions(tag: "message-\($0.message)") }
    /// ```
    ///
    /// The closure returns an action's options, in place of the shared ones; its errors are rethrown.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer,
        options: ((A) throws -> EnqueueOptions)? = nil
    ) throws -> [ActionID] {
        let drafts = try actions.map { try drafter.draft($0, options?($0) ?? shared) }
        try require(drafts)
        return try engine.enqueue(drafts, in: connection)
    }
}
