#if PostgreSQL
internal import CSluicePostgres
public import Sluice

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// Transactions of the application on libpq connections of its own.
extension PostgresBroker {
    /// Enqueues an action in a transaction of the application: both are committed, or neither.
    ///
    /// ```swift
    /// PQclear(PQexec(connection, "BEGIN"))
    /// …                                               // the message's own row
    /// try broker.enqueue(SendMessage(…), in: connection)
    /// PQclear(PQexec(connection, "COMMIT"))
    /// ```
    ///
    /// Until the transaction ends, other enqueues into the same queue wait for it, 10 seconds at most: keep
    /// it short (G2). The `BrokerOptions/middleware` is not called. A refusal, such as `queueFull`, leaves
    /// the transaction usable; after an error of the server it can only be rolled back. Await
    /// `EnqueueReceipt/settled()` only after the commit.
    ///
    /// - Parameters:
    ///   - action: The action to enqueue.
    ///   - options: How it waits, and by what it is found.
    ///   - connection: A `PGconn *` to the broker's database, with a transaction open. It is used during the
    ///     call, on the calling thread, which waits for the server.
    /// - Throws: `SluiceError` `noTransaction`, `databaseLocked` when a transaction holds the queue for too
    ///   long, `connectionLost`, and the errors of other enqueues, except `CancellationError`.
    @discardableResult
    public func enqueue<A: Action>(
        _ action: A,
        _ options: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer
    ) throws(SluiceError) -> EnqueueReceipt {
        let ids = try store([book.drafter.draft(action, options)], in: connection)
        return EnqueueReceipt(id: ids[0], broker: self)
    }

    /// Enqueues actions in a transaction of the application, all or none, in order; cheaper than one by one.
    ///
    /// The closure returns an action's options, in place of the shared ones; its errors are rethrown.
    @discardableResult
    public func enqueue<A: Action>(
        _ actions: some Sequence<A>,
        _ shared: EnqueueOptions = EnqueueOptions(),
        in connection: OpaquePointer,
        options: ((A) throws -> EnqueueOptions)? = nil
    ) throws -> [ActionID] {
        try store(actions.map { try book.drafter.draft($0, options?($0) ?? shared) }, in: connection)
    }

    private func store(
        _ drafts: [ActionDraft],
        in connection: OpaquePointer
    ) throws(SluiceError) -> [ActionID] {
        try ensureSupported(drafts)
        guard PQtransactionStatus(connection) == PQTRANS_INTRANS else {
            throw SluiceError(.noTransaction, "the connection has no open transaction: begin one first")
        }
        if drafts.isEmpty { return [] }
        let rows: PostgresRows
        do throws(PostgresFailure) {
            let sql = PostgresAddress(url: "", schema: server.schema).qualified(EnqueueArrays.sql)
            // Whether it is committed is known to the application.
            let parameters = EnqueueArrays([drafts]).parameters(nil)
            rows = try PostgresLink.execute(on: connection, sql, parameters)
        } catch {
            throw error.error(doing: "enqueuing in a transaction of the application")
        }
        for (row, draft) in zip(rows, drafts) {
            if let refusal = row["refusal"] { throw PostgresEnqueuer.refusal(refusal, draft) }
        }
        return rows.compactMap { $0.integer("id").map { ActionID(rawValue: $0) } }
    }
}
#endif
