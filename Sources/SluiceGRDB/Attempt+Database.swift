#if GRDB
public import GRDB
public import Sluice

extension Attempt {
    /// Settles the attempt with success in a GRDB transaction, together with the handler's own writes.
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
    /// The action is removed before `updates` runs, so that actions enqueued by `updates` find room and free
    /// keys. Its writes and the removal are one commit, exactly once (G5). If it throws, nothing is written,
    /// and the attempt is retried by the route's policy with that error. If the attempt does not count any
    /// more, because the action was removed or another process has taken over its queue, `updates` does not
    /// run (G6).
    ///
    /// The transaction is carried out even if the handler's task is cancelled, since the handler's work is
    /// already done. `updates` does not run on a thread of the broker and may take its time; other writes of
    /// GRDB wait for it.
    ///
    /// - Parameters:
    ///   - writer: A `DatabaseQueue` or `DatabasePool` on the broker's file.
    ///   - updates: The writes; none by default.
    /// - Returns: The outcome for the handler to return.
    /// - Throws: `SluiceError` with `staleReceipt`, `otherDatabase`, `databaseLocked` and others, errors of
    ///   `updates`, and GRDB's `DatabaseError` if the commit fails.
    public func success(
        in writer: some DatabaseWriter,
        _ updates: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) async throws -> Outcome {
        try await Task {
            try await writer.write { db in
                // First, so that a trigger on a row that `updates` deletes cannot remove the action before.
                try succeed(in: db)
                try updates(db)
            }
        }.value
        return .success
    }

    /// Settles the attempt with success inside a GRDB transaction; the commit removes the action.
    ///
    /// Use it if the handler already has a transaction, and return `Outcome.success` after its commit.
    /// Otherwise `success(in:_:)` is simpler.
    ///
    /// - Parameter database: A connection inside a transaction, to the broker's file.
    /// - Throws: `SluiceError` with `staleReceipt` when the attempt does not count any more: let the error
    ///   leave GRDB's `write`, which rolls back. Also `otherDatabase`, `noTransaction`, `databaseLocked`,
    ///   `readOnly`, `closed`, `unsupported` for a broker on a server.
    public func succeed(in database: Database) throws(SluiceError) {
        try ensureFile()
        try succeed(in: database.handle())
        database.notifyQueueChanges()
    }
}
#endif
