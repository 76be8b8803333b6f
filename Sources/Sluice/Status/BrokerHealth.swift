#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Who is in the broker's way at its file.
public struct BrokerHealth: Sendable, Hashable {
    /// Since when another connection's write lock has been in the way of writes; `nil` while none is.
    ///
    /// A shell inside `BEGIN IMMEDIATE`, or inside `BEGIN` after a write, is what mostly holds it. Writes
    /// that have waited for ``BrokerOptions/lockTimeout`` and failed count too, as long as the lock is held.
    public let lockedSince: Date?
    /// The processes that hold the write lock; empty where the system does not tell.
    ///
    /// Linux tells of processes in the same pid namespace. This one is among them while a connection of the
    /// application's keeps the engine waiting.
    public let lockHolders: [Int]
    /// The bytes of the log beside the file; 0 in memory.
    public let logByteCount: Int
    /// Pages of the log that the last checkpoint could not copy into the file, because a reader still needed
    /// what they replace.
    ///
    /// More than a few, and for long, means that somebody reads without end, and the log cannot begin anew. A
    /// running broker tries again each second, and the log is back at its bound a second or two after the
    /// reader has gone.
    public let pinnedPageCount: Int
    /// The processes that read right now, without this one; empty where the system does not tell.
    public let readers: [Int]
}

extension Broker {
    /// Who is in the broker's way: holders of the write lock, and readers that keep the log from beginning
    /// anew.
    ///
    /// It waits for no lock, also while a shell holds one.
    public func health() async throws(SluiceError) -> BrokerHealth { try await store.health() }
}
