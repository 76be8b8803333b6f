#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Data
#else
public import struct Foundation.Data
#endif

/// The context of a sealed payload, without which it cannot be opened.
///
/// Kind and version determine how a handler reads a payload, and never change while it is stored. Queue,
/// place, number and tag may change while an action waits, so they are not part of the context.
public struct SealingContext: Sendable, Hashable {
    /// The kind of the action.
    public let kind: String
    /// The version of the kind that the payload is written in.
    public let version: Int

    /// Makes a context, for tests of a sealing.
    public init(kind: String, version: Int) {
        self.kind = kind
        self.version = version
    }

    /// The context as bytes to authenticate: different ones for different contexts.
    public var bytes: Data { Data("sluice payload 1\n\(version)\n\(kind)".utf8) }
}
