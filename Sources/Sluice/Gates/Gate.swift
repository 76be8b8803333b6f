#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A gate that has been opened or closed; one that is not listed is closed.
public struct Gate: Sendable, Hashable {
    /// The gate's name.
    public let name: GateName
    /// Whether the actions that wait for it may start.
    public let isOpen: Bool
    /// When it was opened or closed.
    public let since: Date
    /// Whether it keeps its state when the file is opened again; otherwise it is then closed.
    public let isPersistent: Bool
    /// When it opens by itself, if it is closed until a time; a running broker opens it then.
    public let opensAt: Date?

    package init(
        name: GateName,
        isOpen: Bool,
        since: Date,
        isPersistent: Bool,
        opensAt: Date?
    ) {
        self.name = name
        self.isOpen = isOpen
        self.since = since
        self.isPersistent = isPersistent
        self.opensAt = opensAt
    }
}
