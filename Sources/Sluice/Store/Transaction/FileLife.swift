internal import SluiceSQLite

/// What this process knows to have been committed to the file, which an older copy of the file does not hold.
///
/// A copy that is read back into the open file, as by the shell's `.restore`, is a transaction of another
/// connection to SQLite. SQLite raises the schema's version with it
/// (<https://www.sqlite.org/c3ref/backup_finish.html>), so that it is enough to look when that has changed.
struct FileLife {
    /// The last number that an action has got, by whomever.
    private var lastAction: Int64 = 0
    /// The end of this process's lease, which nobody else writes.
    private var lease: Int64?
    /// The same, if the open transaction has written it.
    private var openLease: Int64?

    /// The open transaction has written the lease.
    mutating func wrote(lease: Timestamp) { openLease = lease.microseconds }

    /// Notes what others have committed.
    mutating func look(_ connection: Connection) throws(SQLiteError) {
        let found = try connection.cached("SELECT value FROM sluice_counters WHERE name = 'action'")
            .first { $0.int64(0) }
        lastAction = max(lastAction, found ?? 0)
    }

    mutating func committed(lastAction: Int64?) {
        if let lastAction { self.lastAction = max(self.lastAction, lastAction) }
        if let openLease { lease = openLease }
        openLease = nil
    }

    mutating func rolledBack() { openLease = nil }

    /// Throws when the file holds an older state.
    ///
    /// - Parameters:
    ///   - epoch: The one under which this process runs the queues.
    ///   - claims: Those of what it runs.
    func ensure(_ connection: Connection, epoch: Int64?, claims: Set<Int64>) throws {
        guard try isOlder(connection, epoch, claims), !mutant("older copy") else { return }
        throw SluiceError(
            .fileReplaced,
            "an older copy was read back into \(connection.path) while it was open, so that numbers would be "
                + "given twice: close the broker and open it again"
        )
    }

    private func isOlder(_ connection: Connection, _ epoch: Int64?, _ claims: Set<Int64>) throws -> Bool {
        func counter(_ name: String) throws -> Int64 {
            try connection.prepare("SELECT value FROM sluice_counters WHERE name = ?1").bind(1, name)
                .first { $0.int64(0) } ?? 0
        }
        if try counter("action") < lastAction { return true }
        guard let epoch else { return false }
        let found = try connection.prepare("SELECT lease_until_us FROM sluice_runner_rows WHERE epoch = ?1")
            .bind(1, epoch).first { $0.int64(0) }
        // Others may have taken this process for dead.
        guard let found else { return try counter("epoch") < epoch }
        let standing = try connection.prepare("SELECT claim FROM sluice_claim_rows WHERE claim >> 32 = ?1")
            .bind(1, epoch).all { $0.int64(0) }
        return found != lease || Set(standing) != claims
    }
}

extension TransactionCore {
    /// The schema's version has changed: a copy may have been read back, perhaps one that looks the same.
    ///
    /// What is known of what waits is over.
    func beginAnewWithFile() throws {
        try life.ensure(connection, epoch: epoch, claims: order.claims)
        order.reread()
    }
}
