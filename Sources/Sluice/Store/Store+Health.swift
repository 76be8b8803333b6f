internal import SluiceSQLite
internal import Synchronization

#if canImport(Darwin)
internal import Darwin
#elseif canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

extension Store {
    func health() async throws(SluiceError) -> BrokerHealth {
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

    /// The reason why nothing can be written, while there is one.
    func lockInTheWay(walPath path: String?) -> Because? {
        // Mostly the writer has met no lock, and nothing is asked of the system.
        guard writer.trouble.lockedSince != nil else { return nil }
        let lock = writeLock(walPath: path)
        return lock.inTheWaySince.map { .locked(since: $0.date, by: lock.table.writers) }
    }

    /// Who holds locks on the file, and since when the write lock has been in the way of writes.
    ///
    /// The writer meets the lock from time to time. In between the system's table says whether it is still
    /// held; where there is none, it counts as held until the writer has had it.
    ///
    /// - Parameter path: The path of the log; `nil` in memory, where nobody is in the way.
    func writeLock(walPath path: String?) -> (inTheWaySince: Timestamp?, table: LockTable) {
        guard let path else { return (nil, LockTable()) }
        let trouble = writer.trouble
        let isLocked = trouble.lockedSince != nil
        var table = LockTable.read(walPath: path)
        // While the writer has met a lock and not had it since, what this process holds is another
        // connection's.
        let own = Int(getpid())
        if !(isLocked && trouble.lockedSince != nil) { table.writers.removeAll { $0 == own } }
        table.readers.removeAll { $0 == own }
        let isHeld = trouble.isWaiting || !LockTable.isKnown || !table.writers.isEmpty
        return (isHeld ? trouble.lockedSince : nil, table)
    }
}
