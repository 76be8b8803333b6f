#if CommandLineTool
internal import Sluice

/// A broker of either store, with what the tool needs besides.
protocol ToolBroker: ActionBroker {
    /// What a title calls its queues.
    var place: String { get }

    // MARK: Reading

    /// Returns the names of queues from a text on, also of empty ones.
    func queueNames(from first: String, limit: Int) async throws -> [QueueName]
    /// Returns the number of dead letters.
    func deadLetterCount() async throws -> Int
    /// Returns the deduplication key of an action, also after its end, and its groups.
    func keyAndGroups(of action: ActionID) async throws -> (key: String?, groups: ActionGroups)
    /// Returns waiting and running actions after one, in the order in which they were enqueued.
    func exportPage(
        _ pattern: QueuePattern,
        after last: ActionID,
        limit: Int,
        byteLimit: Int
    ) async throws -> [TransferredAction]
    /// Returns the actions that were moved to the front or the end of a queue in the order of arrival.
    func movedActions(_ pattern: QueuePattern) async throws -> (first: [ActionID], last: [ActionID])
    /// Reads, and remarks on processes that keep others from writing.
    func lookBesideLocks<Output>(_ look: () async throws -> Output) async throws -> Output
    /// Returns the processes that hold the write lock, as far as they are known.
    func lockHolders() async -> [Int]

    // MARK: Watching

    /// A number that differs after commits of others.
    func changeMarker() async throws -> Int64
    /// Returns the actions enqueued after the last of an earlier call; `nil` asks only for the last number.
    func newActions(since earlier: ActionID?) async throws -> Store.Arrivals
    /// Returns the living processes that run the queues.
    func runnerNames() async throws -> [String]

    // MARK: Acting

    /// Enqueues exported actions, all or none, in their order; `nil` if a key is or was stored here.
    func take(_ actions: [TransferredAction]) async throws -> [ActionID?]
    /// Puts the dead letters of a pattern back, and returns which stay and why.
    func requeueLetters(
        _ pattern: QueuePattern,
        cause: DeadLetterCause?
    ) async throws(SluiceError) -> RequeuedLetters

    // MARK: Running

    /// What it has done since it was opened.
    var statistics: Statistics { get }
    /// Reports owners of actions that wait for the end of a killed run's commands, or of a lease elsewhere.
    func remarkOnOwners() async
    /// Begins to stop the broker; returns what waits until no handler runs.
    func beginStop(grace: Duration?) -> @Sendable () async -> Void
    /// Waits until a running broker has nothing left to run or to wait for in the queues of its routes.
    ///
    /// - Parameters:
    ///   - patterns: Those of the routes.
    ///   - limit: Returns already if the remaining work is due only after this time.
    ///   - report: Called, until it returns `true`, while only a time or another process can end the wait.
    func waitUntilIdle(
        _ patterns: [QueuePattern],
        within limit: Duration?,
        telling report: (IdleWait) -> Bool
    ) async
    /// Returns the work that is left in the queues of some patterns.
    func workLeft(of patterns: [QueuePattern]) async throws -> WorkLeft
}

extension ToolBroker {
    /// Returns whether a queue that has actions matches.
    func hasQueues(matching pattern: QueuePattern) async throws -> Bool {
        try await !statuses(matching: pattern, in: nil, limit: 1).isEmpty
    }

    /// Says that no queue that has actions matches any of the patterns, which may be a slip.
    ///
    /// - Parameter effect: What follows from it.
    func remarkIfNone(matches patterns: [QueuePattern], _ effect: String = "") async throws {
        for pattern in patterns where try await hasQueues(matching: pattern) { return }
        if patterns.contains(.all) { return Terminal.remark("no queue has actions") }
        let names = patterns.map { "'\(Visible.text($0.rawValue))'" }.joined(separator: " or ")
        Terminal.remark("no queue that has actions matches \(names)\(effect)")
    }
}
#endif
