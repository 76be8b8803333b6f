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
    ///   - options: A schedule, an end, a tag, a gate, a deduplication key.
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
    ///     EnqueueOptions(tag: "message-\(send.message)")
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
    public func diagnose(_ connection: OpaquePointer) throws(SluiceError) -> [ConnectionFinding] {
        try store.diagnose(connection)
    }
}
