/// Transactions. BUSY can come from BEGIN alone: in WAL mode an immediate transaction that has begun holds
/// the write lock (<https://www.sqlite.org/isolation.html>, <https://www.sqlite.org/lang_transaction.html>).
extension Connection {
    /// Begins a transaction that writes.
    ///
    /// - Throws: `.busy` when another connection held the write lock for longer than the busy timeout.
    package func beginImmediate() throws(SQLiteError) {
        try endLeftover()
        try cached(mutant("immediate transaction") ? "BEGIN" : "BEGIN IMMEDIATE").run()
    }

    /// Begins a transaction that reads one snapshot from its first read on.
    package func beginDeferred() throws(SQLiteError) {
        try endLeftover()
        try cached("BEGIN").run()
    }

    /// Begins a transaction that keeps all others out, as long as there is no log.
    package func beginExclusive() throws(SQLiteError) {
        try endLeftover()
        try execute("BEGIN EXCLUSIVE")
    }

    /// Commits.
    ///
    /// After an error the transaction may still be open: `rollback()` ends it in any case.
    package func commit() throws(SQLiteError) {
        try cached("COMMIT").run()
    }

    /// Ends the open transaction, if one is open, without its changes.
    ///
    /// SQLite itself rolls back after some errors (a full disk, an I/O error), so that none being open is a
    /// normal case. For want of memory the transaction stays open; it can then do nothing but be ended, with
    /// which the next one begins.
    package func rollback() {
        hasLeftover = true
        do {
            try endLeftover()
        } catch {
            assert(error.code.primary == .outOfMemory, "ROLLBACK left a transaction open: \(error)")
        }
    }

    /// Ends a transaction that could not be rolled back.
    package func endLeftover() throws(SQLiteError) {
        guard hasLeftover else { return }
        defer { hasLeftover = isInTransaction }
        guard isInTransaction else { return }
        do {
            try cached("ROLLBACK").run()
        } catch {
            // SQLite: "if a transaction is rolled back by an error, ROLLBACK fails harmlessly".
            if isInTransaction { throw error }
        }
    }

    /// Runs `body` in an immediate transaction, as a whole again when BUSY ends it.
    ///
    /// - Parameter attempts: How often it is tried, each time for as long as the busy timeout.
    package func immediate<Output>(attempts: Int = 1, _ body: () throws -> Output) throws -> Output {
        precondition(attempts > 0, "a transaction is tried at least once")
        var attempt = 1
        while true {
            do {
                return try transaction(begin: beginImmediate, body)
            } catch let error as SQLiteError where error.code.primary == .busy && attempt < attempts {
                attempt += 1
            }
        }
    }

    /// Runs `body` on one snapshot of the database.
    package func snapshot<Output>(_ body: () throws -> Output) throws -> Output {
        try transaction(begin: beginDeferred, body)
    }

    /// Runs `body` inside a savepoint of the open transaction: what it throws undoes what it wrote, and no
    /// more.
    ///
    /// After some errors, such as a full disk, SQLite has rolled back all of the transaction by itself.
    package func savepoint<Output>(_ name: String, _ body: () throws -> Output) throws -> Output {
        try execute("SAVEPOINT \(name)")
        do {
            let output = try body()
            try execute("RELEASE \(name)")
            return output
        } catch {
            // Fails where SQLite has ended the savepoint itself: there is nothing left to undo.
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
