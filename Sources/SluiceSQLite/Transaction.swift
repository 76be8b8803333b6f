/// Transactions.
///
/// BUSY can occur at BEGIN alone: in WAL mode an immediate transaction that has begun holds the write lock
/// (<https://www.sqlite.org/isolation.html>, <https://www.sqlite.org/lang_transaction.html>).
extension Connection {
    /// Begins a transaction that writes.
    ///
    /// - Throws: `.busy` when another connection held the write lock for longer than the busy timeout.
    package func beginImmediate() throws(SQLiteError) {
        try endLeftover()
        try cached(mutant("immediate transaction") ? "BEGIN" : "BEGIN IMMEDIATE").run()
    }

    /// Begins a transaction that reads one snapshot, from its first read on.
    package func beginDeferred() throws(SQLiteError) {
        try endLeftover()
        try cached("BEGIN").run()
    }

    /// Begins a transaction that excludes all other connections, as long as there is no WAL.
    package func beginExclusive() throws(SQLiteError) {
        try endLeftover()
        try execute("BEGIN EXCLUSIVE")
    }

    /// Commits.
    ///
    /// After an error the transaction may still be open: `rollback()` ends it in any case.
    package func commit() throws(SQLiteError) { try cached("COMMIT").run() }

    /// Rolls back the open transaction, if there is one.
    ///
    /// SQLite itself rolls back after some errors (a full disk, an I/O error), so there may be none. Without
    /// memory the transaction stays open; it can then only be ended, before the next one begins.
    package func rollback() {
        hasLeftover = true
        do { try endLeftover() } catch {
            assert(error.code.primary == .outOfMemory, "ROLLBACK left a transaction open: \(error)")
        }
    }

    /// Ends a transaction that could not be rolled back.
    package func endLeftover() throws(SQLiteError) {
        guard hasLeftover else { return }
        defer { hasLeftover = isInTransaction }
        guard isInTransaction else { return }
        do { try cached("ROLLBACK").run() } catch {
            // SQLite: "if a transaction is rolled back by an error, ROLLBACK fails harmlessly".
            if isInTransaction { throw error }
        }
    }

    /// Runs `body` in an immediate transaction.
    package func immediate<Output>(_ body: () throws -> Output) throws -> Output {
        try transaction(begin: beginImmediate, body)
    }

    /// Runs `body` on one snapshot of the database.
    package func snapshot<Output>(_ body: () throws -> Output) throws -> Output {
        try transaction(begin: beginDeferred, body)
    }

    /// Runs `body` inside a savepoint of the open transaction; an error undoes only its writes.
    ///
    /// After some errors, such as a full disk, SQLite has rolled back the whole transaction by itself.
    package func savepoint<Output>(_ name: String, _ body: () throws -> Output) throws -> Output {
        try execute("SAVEPOINT \(name)")
        do {
            let output = try body()
            try execute("RELEASE \(name)")
            return output
        } catch {
            // Fails if SQLite has ended the savepoint itself: then nothing is left to undo.
            if isInTransaction { try? execute("ROLLBACK TO \(name); RELEASE \(name)") }
            throw error
        }
    }

    private func transaction<Output>(
        begin: () throws(SQLiteError) -> Void,
        _ body: () throws -> Output
    ) throws -> Output {
        try begin()
        do {
            let output = try body()
            try commit()
            return output
        } catch {
            rollback()
            throw error
        }
    }
}
