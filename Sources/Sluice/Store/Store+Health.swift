internal import SluiceSQLite

extension Store {
    package func health() async throws(SluiceError) -> BrokerHealth {
        let path: String? = try await location == .memory ? nil : read { $0.walPath }
        let lock = writeLock(walPath: path)
        return BrokerHealth(
            lockedSince: lock.inTheWaySince?.date,
            lockHolders: lock.table.writers,
            walByteCount: path.flatMap { FileFact($0)?.byteCount } ?? 0,
            pinnedPageCount: writer.trouble.pinnedPages,
            readers: lock.table.readers
        )
    }

    func lockInTheWay(walPath path: String?) -> (since: Timestamp, processes: [Int])? {
        // Usually the writer has met no lock, and the system is not asked.
        guard writer.trouble.lockedSince != nil else { return nil }
        let (since, table) = writeLock(walPath: path)
        return since.map { ($0, table.writers) }
    }

    /// Returns the processes with locks on the file, and since when the write lock has blocked writes.
    ///
    /// The writer tries the lock from time to time. In between, the system's table shows whether it is still
    /// held. Without such a table, it counts as held until the writer has had it. In memory no lock blocks.
    func writeLock(walPath path: String?) -> (inTheWaySince: Timestamp?, table: LockTable) {
        guard let path else { return (nil, LockTable()) }
        let trouble = writer.trouble
        let isLocked = trouble.lockedSince != nil
        var table = LockTable.read(walPath: path)
        // While the writer waits for a lock, a lock of this process belongs to another connection.
        let own = Int(ProcessIdentity.current.pid)
        if !(isLocked && trouble.lockedSince != nil) { table.writers.removeAll { $0 == own } }
        table.readers.removeAll { $0 == own }
        let isHeld = trouble.isWaiting || !LockTable.isKnown || !table.writers.isEmpty
        return (isHeld ? trouble.lockedSince : nil, table)
    }
}
