/// The application's own transactions, on its own connections to the broker's file: see
/// <doc:YourOwnTransactions>.
extension Broker {
    /// Enqueues an action in a transaction of the application's: both are committed, or neither.
    ///
    /// ```swift
    /// sqlite3_exec(connection, "BEGIN IMMEDIATE", nil, nil, nil)
    /// …                                               // the message's own row
    /// try broker.enqueue(SendMessage(…), in: connection)
    /// sqlite3_exec(connection, "COMMIT", nil, nil, nil)
    /// ```
    ///
    /// A running broker, in this process or another, starts the action when the transaction has been
    /// committed, and is not told anything if it is rolled back. What is enqueued has the durability of the
    /// connection: below `synchronous = FULL` it survives a loss of power when ``flush()`` has returned.
    ///
    /// It checks what the other forms check, by the same rules, and passes the ``BrokerOptions/middleware``
    /// by. A refusal leaves the transaction as it was. The call neither commits nor rolls back nor sets
    /// anything on the connection, and leaves it no statement; `changes()` is that of the engine's last
    /// statement. So its own statements are prepared anew in each call: for several actions, the form that
    /// takes a sequence costs far less than as many calls.
    ///
    /// - Parameters:
    ///   - action: The action; its type says queue and sort key.
    ///   - options: A schedule, an end, a tag, a gate, a deduplication key, a row.
    ///   - connection: A `sqlite3 *` of the SQLite library that this process uses, with a transaction open,
    ///     whose main database is the broker's file. It is used during the call, on the calling thread.
    /// - Returns: The action's number. ``EnqueueReceipt/settled()`` is to be asked behind the commit; before
    ///   it, there is no such action.
    /// - Throws: ``SluiceError`` with ``SluiceError/Code/noTransaction``,
    ///   ``SluiceError/Code/otherDatabase``, ``SluiceError/Code/statementUnderWay`` in the middle of the rows
    ///   of a statement that writes, ``SluiceError/Code/databaseLocked`` when another connection
    ///   writes, or has written since the transaction began to read: begin it with `BEGIN IMMEDIATE`;
    ///   ``SluiceError/Code/readOnly``, ``SluiceError/Code/closed``, and what other enqueues throw, but for
    ///   `CancellationError`. After ``SluiceError/Code/diskFull``, ``SluiceError/Code/inputOutput``,
    ///   ``SluiceError/Code/outOfMemory`` and ``SluiceError/Code/interrupted`` SQLite may have rolled back
    ///   the whole transaction: `sqlite3_get_autocommit()` tells.
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer
    ) throws(SluiceError) -> EnqueueReceipt {
        let ids = try store.enqueue([drafter.draft(action, options)], in: connection)
        return EnqueueReceipt(id: ids[0], broker: self)
    }

    /// Enqueues actions of one type in a transaction of the application's, all or none, in their order.
    ///
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: As for one action.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ options: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer
    ) throws(SluiceError) -> [ActionID] {
        var drafts: [ActionDraft] = []
        for action in actions { drafts.append(try drafter.draft(action, options)) }
        return try store.enqueue(drafts, in: connection)
    }

    /// Enqueues actions of one type, each with options of its own, in a transaction of the application's, all
    /// or none, in their order.
    ///
    /// ```swift
    /// try broker.enqueue(sends, in: connection) { send in
    ///     EnqueueOptions(row: RowReference("messages", send.message))
    /// }
    /// ```
    ///
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: As for one action, and what `options` throws, as an error of its own.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        in connection: OpaquePointer,
        options: (A) throws -> EnqueueOptions
    ) throws -> [ActionID] {
        try store.enqueue(actions.map { try drafter.draft($0, options($0)) }, in: connection)
    }

    /// Enqueues actions whose kinds and payloads are known at run time only in a transaction of the
    /// application's, all or none, in their order.
    ///
    /// - Returns: The actions' numbers, in the same order.
    /// - Throws: As for an action of a type, and ``SluiceError/Code/payloadNotJSON``.
    @discardableResult
    public func enqueue(
        raw actions: some Sequence<RawAction>,
        _ options: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer
    ) throws(SluiceError) -> [ActionID] {
        var drafts: [ActionDraft] = []
        for action in actions { drafts.append(try drafter.draft(action, options)) }
        return try store.enqueue(drafts, in: connection)
    }

    /// Says what speaks against a connection of the application's for this broker's file; nothing, when it is
    /// empty.
    ///
    /// It writes nothing and changes no setting. Ask it once, when the connection is opened, and log what it
    /// says.
    ///
    /// - Throws: ``SluiceError`` when SQLite cannot tell, as where the connection's own statements hold a
    ///   lock.
    public func findings(about connection: OpaquePointer) throws(SluiceError) -> [ConnectionFinding] {
        try store.findings(about: connection)
    }

    /// Has the rows of one of the application's tables take along, when they go, the actions that were
    /// enqueued with a ``RowReference`` to them, whoever deletes them.
    ///
    /// An action that waits goes with its row, and one that runs as if it had been deleted: its handler is
    /// cancelled, and what it returns changes nothing. A dead letter goes too, as it could be put back. If
    /// the key of a row changes, its actions follow; if it becomes `NULL`, they stay and belong to no row.
    ///
    /// It makes two triggers on the table, whose names begin with `sluice_`, and need be called once in the
    /// life of a file; calling it at each start, behind the application's migrations, does no harm. It makes
    /// the triggers again where a migration has dropped them, and has go what belongs to rows that are not
    /// in the table now. The opening of the file does the same where the table was rebuilt under its name
    /// and with its key column. Where the table or the column is not there, or has not one of the rows that
    /// actions belong to, an opening touches nothing: the actions stay, and new ones are refused with
    /// ``SluiceError/Code/noCascade`` until the call is made or ``endCascade(from:removingActions:)`` says
    /// what becomes of them. See <doc:YourOwnTransactions> for migrations.
    ///
    /// A row that `INSERT OR REPLACE` pushes out fires no trigger, unless `recursive_triggers` is on: write
    /// `ON CONFLICT DO UPDATE`.
    ///
    /// - Parameters:
    ///   - table: An ordinary table in the broker's file.
    ///   - column: The primary key, or a column with a `UNIQUE` index of its own over all rows, by the
    ///     column's own collation; `nil` is the table's `INTEGER PRIMARY KEY`. If the column
    ///     has another name by now, its rows keep their actions.
    /// - Throws: ``SluiceError`` with ``SluiceError/Code/invalidOptions`` when there is no such table or
    ///   column, two rows may have the same value in it, or the table's rows are known by another column
    ///   already.
    public func cascade(from table: String, key column: String? = nil) async throws(SluiceError) {
        try await store.cascade(from: table, key: column)
    }

    /// Has the rows of a table take along nothing any more.
    ///
    /// It drops the triggers that ``cascade(from:key:)`` has made, as before a migration that drops the key
    /// column, or when the table has gone for good. A table that has none is left as it is.
    ///
    /// - Parameters:
    ///   - table: The table's name, or the one that it had.
    ///   - removingActions: Whether the actions and dead letters that belong to its rows go, all of them, as
    ///     if the rows were deleted. Else they stay and belong to no row.
    /// - Throws: ``SluiceError`` when it cannot be written.
    public func endCascade(from table: String, removingActions: Bool = false) async throws(SluiceError) {
        try await store.endCascade(from: table, removingActions: removingActions)
    }
}
