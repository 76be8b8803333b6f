#if Web
#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// A process that runs the queues.
public struct RunnerFact: Sendable, Hashable {
    /// What it is called, such as `process 4711`.
    public let name: String
    /// What it does, such as `12 running`, or that it has died.
    public let state: String
    /// Whether its queues are still its own.
    public let isAlive: Bool
    /// When its lease ends, if it has one that does.
    public let leaseEnd: Date?

    /// - Parameters:
    ///   - name: What it is called.
    ///   - state: What it does.
    ///   - isAlive: Whether its queues are still its own.
    ///   - leaseEnd: When its lease ends.
    public init(name: String, state: String, isAlive: Bool, leaseEnd: Date? = nil) {
        (self.name, self.state, self.isAlive, self.leaseEnd) = (name, state, isAlive, leaseEnd)
    }
}
#endif
