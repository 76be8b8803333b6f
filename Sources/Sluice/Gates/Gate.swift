#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A gate that has been opened or closed; one that is not listed is closed.
public struct Gate: Sendable, Hashable {
    /// Its name.
    public let name: GateName
    /// Whether what waits for it may start.
    public let isOpen: Bool
    /// When it was opened or closed.
    public let since: Date
    /// Whether it stays so when the file is opened again.
    ///
    /// A gate that is not kept is closed then.
    public let isKept: Bool
}
