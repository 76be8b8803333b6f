#if Web
#if canImport(FoundationEssentials)
public import struct FoundationEssentials.Date
#else
public import struct Foundation.Date
#endif

/// Facts about a store that not every broker has: the tool's `sluice serve` hands them in.
///
/// Without them the page counts the events of its broker, which are those of its own process, and has neither
/// runners nor findings.
public protocol StoreFacts: Sendable {
    /// Returns the number of actions that were ever enqueued, and of actions that wait or run.
    func counts() async throws -> (enqueued: Int64, waiting: Int)
    /// Returns the processes that run the queues.
    func runners() async throws -> [RunnerFact]
    /// Returns facts such as the size of the file and of the WAL, as pairs of a name and a value.
    func sizes() async throws -> [(name: String, value: String)]
    /// Returns problems and notes, the worst first, each with advice.
    func findings() async throws -> [HealthFinding]
}

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

/// A problem or a note for the operator, with what to do about it.
public struct HealthFinding: Sendable, Hashable {
    /// Whether it needs a person.
    public let isProblem: Bool
    /// The problem, in a sentence.
    public let text: String
    /// What to do.
    public let advice: String

    /// - Parameters:
    ///   - isProblem: Whether it needs a person.
    ///   - text: The problem, in a sentence.
    ///   - advice: What to do.
    public init(isProblem: Bool, text: String, advice: String) {
        (self.isProblem, self.text, self.advice) = (isProblem, text, advice)
    }
}
#endif
