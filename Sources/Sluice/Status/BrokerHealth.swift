#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Other connections that hinder the broker at its file.
public struct BrokerHealth: Sendable, Hashable {
    /// Since when another connection's write lock has blocked writes; `nil` while it does not.
    ///
    /// Writes that have failed after ``FileOptions/lockTimeout`` count too, as long as the lock is held.
    public let lockedSince: Date?
    /// The processes that hold the write lock, as far as the system reports them; it may be this one.
    ///
    /// Linux reports those in the same pid namespace.
    public let lockHolders: [Int]
    /// The bytes of the WAL.
    public let walByteCount: Int
    /// Pages of the WAL that the last checkpoint could not copy, because a reader still needs the old ones.
    ///
    /// If this stays above a few pages, a reader is not finishing, and the WAL cannot be reset.
    public let pinnedPageCount: Int
    /// The processes that read right now, without this one; empty if the system does not report them.
    public let readers: [Int]
}
