#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Who is in the broker's way at its file.
public struct BrokerHealth: Sendable, Hashable {
    /// Since when writes have waited for another connection to give up the write lock; `nil` while none
    /// waits.
    ///
    /// A shell inside `BEGIN IMMEDIATE`, or inside `BEGIN` after a write, is what mostly holds it.
    public let lockedSince: Date?
    /// The processes that hold the write lock, without this one; empty where the system does not tell.
    ///
    /// Linux tells of processes in the same pid namespace. A connection of this process's own, which the
    /// engine does not know of, is not told.
    public let lockHolders: [Int]
    /// The bytes of the log beside the file; 0 in memory.
    public let logByteCount: Int
    /// Pages of the log that the last checkpoint could not copy into the file, because a reader still needed
    /// what they replace.
    ///
    /// More than a few, and for long, means that somebody reads without end, and the log cannot begin anew.
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
