internal import SluiceSQLite

/// Detects that an older copy was restored into the open file, by commits that the copy lacks.
///
/// To SQLite, that is a transaction of another connection. It raises the schema's version
/// (<https://www.sqlite.org/c3ref/backup_finish.html>), so a check is needed only if that has changed.
struct FileLife {
    /// The last sequence given to an action by any connection.
    private var lastAction: Int64 = 0
    /// The end of this process's lease, which only this process writes.
    private var lease: Int64?
    /// The end of the lease, if the open transaction has written it.
    private var openLease: Int64?

    mutating func wrote(lease: Timestamp) { openLease = lease.microseconds }

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

    /// Throws if the file holds an older state than this process, with its epoch and claims, has seen.
    func ensure(_ connection: Connection, epoch: Int64?, claims: Set<Int64>) throws {
        guard try isOlder(connection, epoch, claims), !mutant("older copy") else { return }
        let text =
            "an older copy was restored over \(connection.path) while it was open, so that numbers would "
            + "be used twice: close the broker and open it again"
        throw SluiceError(.fileReplaced, text)
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
        // Another process may have declared this one dead.
        guard let found else { return try counter("epoch") < epoch }
        let standing = try connection.prepare("SELECT claim FROM sluice_claim_rows WHERE claim >> 32 = ?1")
            .bind(1, epoch).all { $0.int64(0) }
        return found != lease || Set(standing) != claims
    }
}
