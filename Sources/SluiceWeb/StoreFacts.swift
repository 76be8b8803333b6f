#if Web
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

/// Facts with a count of dead letters, which the tool's stores have.
package protocol LetterFacts: StoreFacts {
    /// Returns the number of dead letters.
    func deadLetterCount() async throws -> Int
}
#endif
