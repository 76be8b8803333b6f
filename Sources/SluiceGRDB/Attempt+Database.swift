#if GRDB
public import GRDB
public import Sluice

extension Attempt {
    /// Settles the attempt with success in a transaction of GRDB's, with what the handler has achieved, and
    /// says so as the handler's outcome.
    ///
    /// ```swift
    /// try broker.route("conversation/*", SendMessage.self) { send, attempt in
    ///     let number = try await server.send(send.text, transaction: attempt.idempotencyKey)
    ///     return try await attempt.success(in: pool) { db in
    ///         try Message.filter(id: send.message).updateAll(db) { $0.number.set(to: number) }
    ///     }
    /// }
    /// ```
    ///
    /// The action has gone when `updates` runs, so that what it enqueues finds room and keys; what it writes
    /// and the end of the action are one commit, exactly once (G5). If it throws, nothing is written, and the
    /// attempt is retried by the route's policy with that error. If the attempt no longer counts, because the
    /// action was removed or another process has taken its queue over, `updates` does not run (G6).
    ///
    /// It is done even if the handler's task is cancelled meanwhile: what was sent has been sent. `updates`
    /// runs on none of the broker's threads, so that it may take its time; other writes of GRDB's wait for
    /// it.
    ///
    /// - Parameters:
    ///   - writer: A `DatabaseQueue` or `DatabasePool` on the broker's file.
    ///   - updates: What is to be written; nothing, if it is left out.
    /// - Returns: The outcome for the handler to return.
    /// - Throws: `SluiceError` with `staleReceipt`, `otherDatabase`, `databaseLocked` and others, what
    ///   `updates` throws, and GRDB's `DatabaseError` where the commit fails.
    public func success(
        in writer: some DatabaseWriter,
        _ updates: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws -> Outcome {
        try await Task {
            try await writer.write { db in
                // First, so that a row that `updates` deletes does not take the action with it.
                try succeed(in: db)
                try updates(db)
            }
        }.value
        return .success
    }

    /// Settles the attempt with success inside a transaction of GRDB's: the action goes if the transaction is
    /// committed.
    ///
    /// For handlers that have a transaction already; return `Outcome.success` behind its commit.
    /// `success(in:_:)` reads better where there is none.
    ///
    /// - Parameter database: A connection inside a transaction, to the broker's file.
    /// - Throws: `SluiceError` with `staleReceipt` when the attempt no longer counts: let it leave GRDB's
    ///   `write`, which rolls back. And `otherDatabase`, `noTransaction`, `databaseLocked`, `readOnly`,
    ///   `closed`.
    public func succeed(in database: Database) throws(SluiceError) {
        try succeed(in: database.handle())
        database.notifyQueueChanges()
    }
}
#endif
